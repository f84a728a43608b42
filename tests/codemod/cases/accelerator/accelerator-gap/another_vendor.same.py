import torch
import torch_musa


def peak(device):
    torch.cuda.reset_peak_memory_stats(device)
    torch.musa.empty_cache()
    return torch.cuda.get_device_name(device)
