"""Measures a program that runs: what each operator gives on one backend beside another, which settings make its steps faster, what it spends its time on.

Imports the rooms below it. ``tdev_core.run`` starts a recording, or answers for steps, in the processes of a program; the commands
``diff`` and ``tune`` read what comes of it; :mod:`.monitoring` watches the process that it is in.
"""
