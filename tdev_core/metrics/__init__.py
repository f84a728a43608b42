"""Count while a program runs: calls and fallbacks, the peaks of memory, spans of time for whoever watches.

Imports the ground below it (settings, errors) and no torch. The accelerators, the shims, the mirror's report and
``measure`` count and read here.
"""
