"""The kernels over arrays, a module for each family of operators, each beside its row of the operator table.

Imports ``storage``, the runtime and :mod:`~tdev_core.accelerators.mlx.registry`. Imported by :mod:`~tdev_core.accelerators.mlx.table`, which knows
the families, and by ``compiler``; reading the modules imports neither torch nor MLX.
"""
