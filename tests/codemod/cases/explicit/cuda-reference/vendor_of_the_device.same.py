import torch


def gpu_type():
    if torch.cuda.is_available():
        name = torch.cuda.get_device_name(0).lower()
        if "nvidia" in name:
            return "NVIDIA"
        if "amd" in name or "gfx" in name:
            return "ROCm"
    return "unknown"
