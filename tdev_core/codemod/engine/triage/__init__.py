"""Turns files away by their text, before any of them is parsed by libcst.

Imports :mod:`..vocabulary` and ``re``; only the driver imports it.
"""
