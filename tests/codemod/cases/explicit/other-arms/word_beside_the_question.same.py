import torch


def knows():
    return torch.backends.mps.is_available()


class Tuner:
    def __init__(self, device):
        self.device = device

    def fit(self, model, data):
        half = self.device.startswith("cuda") and torch.cuda.is_available()
        scaler = torch.amp.GradScaler() if half else None
        for x in data:
            loss = model(x.to(self.device))
            (scaler.scale(loss) if half else loss).backward()
