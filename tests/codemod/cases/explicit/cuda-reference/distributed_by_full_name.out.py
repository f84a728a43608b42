import tdev
import torch

tdev.distributed.init_process_group(backend="nccl")
torch.distributed.all_reduce(x)
group = tdev.distributed.new_group([0, 1], backend="nccl")
