import torch


def usable(name, fall_back):
    try:
        device = torch.device(name)
        if device.type == "meta":
            raise RuntimeError("no memory")
        with torch.no_grad():
            torch.zeros(1, device=device)
    except RuntimeError:
        device = torch.device("cpu" if fall_back else "meta")
    return device
