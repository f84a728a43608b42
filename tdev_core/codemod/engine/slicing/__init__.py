"""Computes a slice of a file: the statements that the rules can see, so that libcst parses few.

Works on Python's own :mod:`ast`, without libcst; imports the engine's types and vocabulary, and only
``analysis.tree`` imports it.
"""
