from tdev.distributed import init_process_group
from torch.distributed import all_reduce

init_process_group("nccl")
all_reduce(x)
