"""Make ``catalog.json`` from the installed torch and the routes, and ``generated/`` from that; not shipped.

An arrow goes down: commands (``__main__``, ``unchanged``, ``upgrade``, ``codemod``) → render, plan → facts → running →
``catalog``, ``errors``, ``paths``. Imports neither ``tdev`` nor ``tdev_core``; tools and tests import it.
"""
