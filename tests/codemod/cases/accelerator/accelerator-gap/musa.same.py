import torch


def peak(device):
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.get_device_name(device)
