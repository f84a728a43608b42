import torch.distributed as dist

settings = {"backend": "nccl", "timeout": 10}
backends = ["nccl", "gloo"]
dist.init_process_group("cpu:gloo,cuda:nccl")
mine = dist.get_backend() == dist.Backend.NCCL
