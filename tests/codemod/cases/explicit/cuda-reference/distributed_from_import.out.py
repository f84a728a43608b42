from tdev.distributed import all_reduce, init_process_group

init_process_group("nccl")
all_reduce(x)
