"""Tell what a parallel plan needs of one rank's memory and of the network, from a run in which no number is computed.

``shapes`` has the device's tensors be shapes without numbers, ``footprint`` and ``traffic`` count, ``world`` stands for the other
ranks, ``planner`` does it all to a program. The backend is ``sim``, whose devices the program takes for CUDA's.
"""
