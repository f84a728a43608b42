"""Says what a run found: on the console, as a diff, as a report for people or programs.

Imports the records of :mod:`..model`, nothing that reads or rewrites; the command line imports it.
"""
