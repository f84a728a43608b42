"""Answer torch.cuda, torch.accelerator and their kin off CUDA: one file a subject of torch's.

Imports accelerators and the ground; never shims, compiler or mirror.
Imported by the emitted modules, and by distributed, shims, compiler and mirror.
"""
