import torch


def accelerator(config):
    kind = config["type"]
    if (kind == "gpu") and (not torch.cuda.is_available()):
        raise ValueError("GPUs selected, but GPUs are not available on this device")
    return kind
