"""Answer torch.distributed and data parallelism for programs written for NCCL.

Imports cuda (whose devices replicas lie on), accelerators and the ground.
Imported by shims, for the constructors of DDP, FSDP and DeviceMesh, and by the emitted modules.
"""
