import torch


def place(x, device: torch.device, name: str):
    match x.device.type:
        case "cuda":
            torch.cuda.synchronize()
        case "cpu" | "meta":
            pass
        case other:
            raise ValueError(other)
    match device.type:
        case "cpu":
            return 0
        case "cuda":
            return torch.cuda.device_count()
    match device.type:
        case "cuda":
            return 1
        case "xpu":
            return 2
    match device.type:
        case "cuda" if x.numel():
            return 3
        case "cuda" | "meta":
            return 4
    match name:
        case "cuda":
            return 5
    match x.to(device).device.type:
        case "cuda":
            return 6
