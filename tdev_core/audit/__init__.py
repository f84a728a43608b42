"""Answers which names of torch a code base uses, and how each is answered on each backend.

``collecting`` reads the files with the codemod's resolver and looks each name up in the site's catalog;
``reporting`` and ``badges`` say it. Imports the codemod and the site; ``commands`` imports it.
"""
