import torch.distributed as dist

rank = dist.get_rank()
dist.all_reduce(x)
args.backend == "nccl"
