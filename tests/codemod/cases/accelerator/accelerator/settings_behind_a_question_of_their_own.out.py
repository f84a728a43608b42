import torch
import torch.backends.cudnn as cudnn


def prepare(deterministic):
    if torch.cuda.is_available():
        cudnn.deterministic = deterministic


def main(model):
    if torch.accelerator.is_available():
        torch.backends.cudnn.benchmark = True
        model.to(torch.accelerator.current_accelerator())
