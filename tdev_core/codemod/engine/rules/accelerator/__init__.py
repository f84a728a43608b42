"""Rewrites to upstream's generic APIs, ``--target accelerator``, and reports what has none.

Imports what ``analysis`` and the rules beside it know; only the registry imports it.
"""
