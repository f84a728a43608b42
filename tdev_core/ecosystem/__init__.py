"""Knowledge of other people's packages: the table of those for CUDA, and which installed libraries choose a device.

Imports ``errors`` and no torch, since the codemod asks too. ``packages``, ``codemod``, ``run``, ``commands`` and the pages of
the documentation read here, and none has a list of its own.
"""
