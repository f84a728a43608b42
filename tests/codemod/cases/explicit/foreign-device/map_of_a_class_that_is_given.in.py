import torch


class Wrapper:
    def __init__(self, name, model_class: type, device: str | None = None):
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model_class.from_pretrained(name, device_map=self.device)


class Plain:
    def __init__(self, name, model_class: type, device: str | None = None):
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model_class.from_pretrained(name, device=self.device)
