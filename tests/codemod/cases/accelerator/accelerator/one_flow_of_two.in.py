import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
use_amp = device.type == "cuda"
steps = 600
if torch.cuda.is_available():
    steps = 50


def describe():
    # Needs CUDA.
    return torch.cuda.get_device_name()


def load(model):
    model = model.cuda()  # CUDA is asynchronous
    return model
