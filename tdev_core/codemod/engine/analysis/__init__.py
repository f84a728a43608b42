"""Answers what a file's names and expressions stand for: libcst's tree, scopes, torch names, kinds.

Knows nothing of rules, edits or findings; imports ``slicing``, the types and the vocabulary. ``File``
and the rules import it.
"""
