"""The ``cpu`` backend: the host as the one device of a program that was written for an accelerator."""
