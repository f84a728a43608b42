"""Answer packages whose few functions have an exact meaning in torch, where only their CUDA kernels are missing.

A module that tdev rewrites asks :mod:`.asking` for what it imports of a package in :mod:`.table`. An installed package
is what it gets, on every backend; the stand-in answers where there is none and the active device is not CUDA. Nothing is
put into ``sys.modules`` under the package's own name: libraries that look for the package go on finding that it is absent.

Imports the ground and, below it, ``cuda`` and ``accelerators``; :mod:`tdev_core.run`, the report and the doctor import it.
"""
