"""From rows of the operator table to kernels under torch's dispatcher, and the fallback to the CPU for everything else.

Imports ``storage`` and what lies below it. Imported by the registration (:mod:`~tdev_core.accelerators.mlx.setup`) and by
:mod:`~tdev_core.accelerators.mlx.attention`; kernels in ``ops`` do not know how they are called.
"""
