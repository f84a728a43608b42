import tdev as torch

torch.distributed.init_process_group(backend="nccl")
torch.distributed.all_reduce(x)
group = torch.distributed.new_group([0, 1], backend="nccl")
