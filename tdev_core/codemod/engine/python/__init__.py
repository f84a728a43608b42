"""Reads texts with Python's own parser: a file's whole text, and what its tree shows of tensors and devices.

Needs no libcst, so that the survey of many files may ask it; imports the vocabulary. The survey,
``analysis`` and the rules import it.
"""
