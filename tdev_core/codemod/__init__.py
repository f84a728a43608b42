"""The codemod: CUDA-only PyTorch source in, device-neutral source out.

``engine/`` decides *what* changes in one piece of source; the modules beside this one decide which
files are looked at, how they are read and written, and what is said about them. Nothing in here
imports torch, so that it runs where torch is not installed and starts quickly where it is.
"""
