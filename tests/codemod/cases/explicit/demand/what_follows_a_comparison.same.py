import torch
from engine.transfer import NCCLTransfer


def start(device, info):
    if device.type != "cuda":
        raise NotImplementedError(f"the transfer needs a CUDA device, got {device}")
    if device.index is not None:
        torch.cuda.set_device(device)
    return NCCLTransfer.init(info)
