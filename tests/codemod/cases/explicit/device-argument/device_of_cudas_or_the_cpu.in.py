import torch


def default():
    return "mps" if torch.backends.mps.is_available() else "cpu"


def generator(device: torch.device, seed):
    place = device if device.type == "cuda" and seed else torch.device("cpu")
    made = torch.Generator(device=place)
    return made.manual_seed(seed)


def of_any(device: torch.device, seed):
    place = device if seed else torch.device("cpu")
    return torch.Generator(device=place).manual_seed(seed)
