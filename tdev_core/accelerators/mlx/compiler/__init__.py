"""``torch.compile(backend="mlx")``: aot_autograd's functional graphs, forward and backward, under ``mx.compile``.

A graph is cut into steps: operators with a kernel over arrays form parts that MLX compiles whole; between them, operators
without one run on the eager device (random draws natively, others through the fallback).

Imports ``storage``, ``ops`` and the operator table. Imported by the registration (:mod:`~tdev_core.accelerators.mlx.setup`) alone,
which announces the backend; torch's own compiler is not imported before a program compiles something.
"""
