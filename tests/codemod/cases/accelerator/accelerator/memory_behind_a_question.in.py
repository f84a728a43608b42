import torch


def report():
    if not torch.cuda.is_available():
        return 0
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize(device=torch.cuda.current_device())
    free, total = torch.cuda.mem_get_info()
    return torch.cuda.max_memory_allocated(device=0), free, total
