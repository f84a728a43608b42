import torch


def pin(worker):
    if worker.device.type in ("cuda", "xpu"):
        if worker.device.type == "cuda":
            torch.cuda.set_device(worker.device)
        else:
            torch.xpu.set_device(worker.device)
