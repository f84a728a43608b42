"""Decides, rule by rule, what is edited and what is reported; each works on a :class:`..file.File`.

Rules import ``File``, ``analysis`` and each other, never ``accelerator/`` below; the registry imports
them.
"""
