"""``torch.distributed`` on device tensors, through MLX where it has connected the processes, else through gloo.

Imports ``storage`` and the runtime. Imported by the registration (:mod:`~tdev_core.accelerators.mlx.setup`), and ``connected`` by
``tdev_core.distributed.groups``, which asks it for the launcher's ranks and has it join each default process group.
"""
