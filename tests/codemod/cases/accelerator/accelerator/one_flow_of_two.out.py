import torch

device = torch.device(
    torch.accelerator.current_accelerator().type
    if torch.accelerator.is_available()
    else "cpu"
)
use_amp = device.type == "cuda"
steps = 600
if torch.accelerator.is_available():
    steps = 50


def describe():
    # Needs CUDA.
    return torch.cuda.get_device_name()


def load(model):
    device = torch.accelerator.current_accelerator()
    model = model.to(device)  # CUDA is asynchronous
    return model
