import torch


def select_device(device="", verbose=True):
    """Return the device."""
    if isinstance(device, torch.device) or str(device).startswith("tpu"):
        return device
    if device.startswith("npu"):
        return torch.device("npu", 0)
    return torch.device(device)


def named_device(device):
    return device or "cuda"


class Predictor:
    def __init__(self):
        self.device = None

    def setup(self, args):
        device = select_device(args.device)
        self.device = device

    def points(self, points):
        return torch.as_tensor(points, device=self.device)


def other(args):
    return torch.zeros(3, device=named_device(args))


def mode(config, settings):
    # 'balanced' wants a GPU; cpu/mps default to 'fast'
    if not config.get("mode"):
        config["mode"] = "balanced" if settings.TORCH_DEVICE == "cuda" else "fast"
    return config
