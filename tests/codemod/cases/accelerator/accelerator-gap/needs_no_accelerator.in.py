import gc
import torch


def release(model):
    del model
    gc.collect()
    torch.cuda.empty_cache()


def report():
    return torch.cuda.memory_allocated(), torch.cuda.max_memory_reserved(0)


def guarded(model, device):
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    return peak


def early(use_cuda):
    if not use_cuda:
        return 0
    return torch.cuda.memory_allocated()


def beside():
    torch.cuda.synchronize()
    return torch.cuda.memory_cached()


def moved(model):
    model.cuda()
    torch.cuda.reset_max_memory_allocated()
    print(torch.cuda.memory_reserved())


def out_of_memory(step):
    try:
        step()
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
    with torch.cuda.device(1):
        print(torch.cuda.memory_stats())
