"""Translate devices in methods and constructors of torch's classes, which no name of the mirror reaches.

Imports distributed, cuda, accelerators and the ground; ``install`` replaces, the other files say with what.
Imported by compiler and mirror; the emitted list of shims names its factories as ``module:function``.
"""
