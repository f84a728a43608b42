"""Storage of elements: tensors of device ``mlx``, the arrays that their storages carry, and the host's copies.

Imports :mod:`~tdev_core.accelerators.mlx.runtime`, the element types and ``privateuse``. Imported by ``dispatch``, ``ops``,
``compiler``, ``collectives`` and ``native``; reading the modules imports neither torch nor MLX, but for ``untyped``.
"""
