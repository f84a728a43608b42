"""Answer torch's attention functions where the kernels that a program names are CUDA's.

Imports the ground only.
Imported by the emitted modules of ``torch.nn.attention``, ``torch.backends.cuda`` and their kin.
"""
