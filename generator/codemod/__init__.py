"""Write the facts about torch that the codemod needs where torch is not installed.

Imports the facts about builds, and torch; nothing of the generator imports it.
"""
