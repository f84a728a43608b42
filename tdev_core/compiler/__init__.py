"""Let torch.compile, TorchScript and torch.export see tdev for what it is.

Imports shims, cuda, accelerators and the ground; nothing of torch's compiler before a program uses it.
Imported by mirror, which has it prepared, and by the emitted modules of ``torch.compiler`` and ``torch.jit``.
"""
