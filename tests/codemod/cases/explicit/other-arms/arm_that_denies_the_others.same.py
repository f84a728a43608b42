import torch


def select_device(device=""):
    said, cpu, mps = "", device == "cpu", device == "mps"
    if not cpu and not mps and torch.cuda.is_available():
        for i in range(2):
            p = torch.cuda.get_device_properties(i)
            said += f"CUDA:{i} ({p.name})"
        arg = "cuda:0"
    elif mps and torch.backends.mps.is_available():
        arg = "mps"
    else:
        arg = "cpu"
    return torch.device(arg), said
