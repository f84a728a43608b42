"""Write ``generated/`` from the catalog: views, Jinja templates, ruff, and the writer of the output folder.

Imports running and the root's errors, no facts and no torch; the commands and tools import it.
"""
