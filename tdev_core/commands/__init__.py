"""Commands of ``python -m tdev`` that a person types: ``doctor``, ``matrix``, and the table of all of them.

Imports mirror, run, codemod and accelerators, each when its command is given.
Imported by the emitted ``tdev.__main__`` only.
"""
