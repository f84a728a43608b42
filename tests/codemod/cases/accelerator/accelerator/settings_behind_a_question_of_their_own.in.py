import torch
import torch.backends.cudnn as cudnn


def prepare(deterministic):
    if torch.cuda.is_available():
        cudnn.deterministic = deterministic


def main(model):
    if torch.cuda.is_available():
        torch.backends.cudnn.benchmark = True
        model.cuda()
