"""Stand tdev's modules in for torch's: adopt emitted modules, alias torch's own, tell what was routed how.

Imports every room below: compiler, shims, distributed, attention, cuda, accelerators and the ground.
Imported by the emitted modules (``launch`` first of all), ``commands`` and ``run``; by no room below.
"""
