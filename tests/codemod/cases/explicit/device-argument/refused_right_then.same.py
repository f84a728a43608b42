import torch
from blast import align_on


def align(options):
    if "device" in options:
        device = torch.device(options["device"])
        if device.type != "cuda":
            raise RuntimeError(f"You can only run this on a CUDA-compatible GPU, not on {device.type}")
    else:
        if not torch.cuda.is_available():
            raise RuntimeError("This requires a CUDA-compatible GPU, but none was found")
        device = torch.device("cuda")
    return align_on(device)
