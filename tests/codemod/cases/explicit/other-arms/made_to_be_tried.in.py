import torch


def usable(name, logger):
    if name == "cpu":
        return torch.device(name)
    try:
        device = torch.device(name)
        torch.zeros(3, device=device)
        logger.info(f"torch.device('{name}') works")
        return torch.device(name)
    except RuntimeError:
        logger.info(f"torch.device('{name}') does not work")
        return torch.device("cpu")


def placed(name, model):
    try:
        device = torch.device(name)
        model.to(device)
    except RuntimeError:
        device = torch.device("cpu")
    return device


def moved(name):
    try:
        device = torch.device(name)
        _ = torch.zeros(3).to(device)
    except RuntimeError:
        device = torch.device("cpu")
    return torch.ones(3, device=device)
