import torch


def send(batch: torch.Tensor, device: torch.device):
    if batch.device.type == "cpu" and device.type == "cuda":
        batch = batch.pin_memory()
    # This only pays off (and is only safe without a wait) when the
    # destination is CUDA, to which copies are made in order.
    at_once = device.type == "cuda"
    return batch.to(device, non_blocking=at_once)
