"""Devices that tdev keeps itself: ``cpu``, ``sim`` and ``mlx``, on ``privateuse``; and what ``mps`` lacks.

Imports the ground; the three devices know nothing of each other. ``tdev_core.accelerator`` is their interface.
Imported by every room above, mostly by way of that interface, which loads the active one only.
"""
