"""The codemod: CUDA-only PyTorch source in, device-neutral source out.

``engine/`` decides *what* changes in one piece of source; the rooms beside it decide which files are
looked at (``files/``), how Python inside other files is read (``embedded/``), how a run goes
(``jobs/``) and what is said about it (``output/``). Imports nothing of ``tdev_core`` but its errors,
and no torch, so that it runs where torch is not installed; ``cli`` and ``tdev_core.run`` enter it.
"""
