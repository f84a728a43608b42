import torch


class Analyzer:
    def run(self, rank):
        device = self.device if self.device.type == "cpu" else torch.device("cuda", rank)
        if device.type == "cuda" and not torch.cuda.is_available():
            device = torch.device("cpu")
        return device
