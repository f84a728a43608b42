"""Runs the engine over many files: one job a file, in worker processes, results in order.

Imports everything of the codemod but ``output`` and the command line, which alone imports it.
"""
