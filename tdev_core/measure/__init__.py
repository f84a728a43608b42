"""Compares runs of one program: what each operator gave on one backend, beside what it gave on another.

Imports the ground only. ``tdev_core.run`` starts a recording in the processes of a program, and the command ``diff``
(:mod:`tdev_core.commands.diff_cli`) reads two of them.
"""
