"""Regenerating on another torch: what changed, what a person must decide, and what to write for it.

``changes`` compares, ``suggestions`` proposes the stanza of a decision, ``report`` writes Markdown, ``mentions`` the
files that name the torches, ``__main__`` is the command. Imports the facts and the plan; nothing imports it.
"""
