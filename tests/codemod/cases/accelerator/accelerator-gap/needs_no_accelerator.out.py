import gc
import torch


def release(model):
    del model
    gc.collect()
    torch.cuda.empty_cache()


def report():
    return torch.cuda.memory_allocated(), torch.cuda.max_memory_reserved(0)


def guarded(model, device):
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()
    peak = (
        torch.accelerator.max_memory_allocated()
        if torch.accelerator.is_available()
        and device.type == torch.accelerator.current_accelerator().type
        else 0
    )
    return peak


def early(use_cuda):
    if not use_cuda:
        return 0
    return torch.accelerator.memory_allocated()


def beside():
    torch.accelerator.synchronize()
    return torch.accelerator.memory_reserved()


def moved(model):
    model.to(torch.accelerator.current_accelerator())
    torch.accelerator.reset_peak_memory_stats()
    print(torch.accelerator.memory_reserved())


def out_of_memory(step):
    try:
        step()
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
    with torch.cuda.device(1):
        print(torch.cuda.memory_stats())
