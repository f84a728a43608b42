import torch


def report():
    if not torch.accelerator.is_available():
        return 0
    torch.accelerator.reset_peak_memory_stats()
    torch.accelerator.synchronize(torch.accelerator.current_device_index())
    free, total = torch.accelerator.get_memory_info()
    return torch.accelerator.max_memory_allocated(0), free, total
