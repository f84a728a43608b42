import torch


def reset(device):
    before = torch.cuda.max_memory_allocated(device)
    now = torch.cuda.memory_allocated(device)
    if before != now and before > 0:
        torch.cuda.reset_peak_memory_stats(device)
        if torch.cuda.max_memory_allocated(device) != now:
            return None
    return before, now
