import torch


class Solver:
    def __init__(self, n, device=None):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.rows = torch.zeros(n, device=device, dtype=torch.float64)
        if device == "cuda":
            torch.cuda.synchronize()
            self.major, _ = torch.cuda.get_device_capability(device)
        if device != "cuda":
            return
        torch.cuda.empty_cache()
