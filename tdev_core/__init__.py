"""The hand-written library that the generated mirror calls.

Importing this package imports neither torch nor anything else: the codemod must run where torch is
not installed, and must not pay for it where it is.
"""
