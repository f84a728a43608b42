"""Finds the files of a run, asks git about them, and replaces them on disk.

Imports settings and records, nothing of the engine; ``jobs`` and the command line import it.
"""
