"""Run Triton's kernels off CUDA, in Triton's own interpreter.

``triton`` is the real one: :mod:`.choosing` sets its own switch before it defines its first function, and mends what the
interpreter lacks (:mod:`.bfloat16`, :mod:`.libdevice`, :mod:`.launches`) as those modules of it are imported.
"""
