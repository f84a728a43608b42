import torch


def attach(output_dir, entries=1000000):
    if not torch.cuda.is_available():
        print("no CUDA: nothing is attached")
        return
    torch.cuda.memory._record_memory_history(enabled="all", max_entries=entries)
    torch._C._cuda_attach_out_of_memory_observer(observer(output_dir))


def snapshot(path):
    if not torch.cuda.is_available():
        return
    torch.cuda.memory._dump_snapshot(path)
