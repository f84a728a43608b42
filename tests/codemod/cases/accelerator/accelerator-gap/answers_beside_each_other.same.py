import logging

import torch


def place(log):
    log.info(f"Cuda Available? {torch.cuda.is_available()}")
    return torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")


class Trainer:
    def __init__(self, config):
        self.gpu_available = torch.cuda.is_available() and config["use_gpu"]
        self.enable_scaler = torch.cuda.is_available() and config["enable_scaler"]

    def train(self):
        return torch.cuda.amp.GradScaler(enabled=self.enable_scaler)


def options(kwargs):
    if kwargs.get("accelerator") is None:
        if torch.cuda.is_available():
            kwargs["accelerator"] = "gpu"
    if kwargs.get("devices") is None:
        if torch.cuda.is_available():
            kwargs["devices"] = -1


def about(version):
    pt_cuda_available = torch.cuda.is_available()
    return {"torch": f"{version} (cuda available: {pt_cuda_available})"}
