import torch


def warm_up(model, example, device: torch.device):
    if device.type == "cuda":
        # CUDA Graph Trees record on the second call.
        model(example)
        torch.cuda.synchronize(device)
