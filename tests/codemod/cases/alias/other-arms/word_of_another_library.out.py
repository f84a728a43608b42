import tdev
import torch
from lightning import Trainer

options = {}
if torch.cuda.is_available():
    options["accelerator"] = "gpu"
trainer = Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu", **options)


class Forecast:
    def fit(self, options, batch):
        if options.get("devices") is None:
            if torch.cuda.is_available():
                options["devices"] = -1
        options["accelerator"] = "cpu" if not torch.cuda.is_available() else "gpu"
        device = "cuda" if tdev.cuda.is_available() else "cpu"
        return tdev.zeros(3, device=device)
