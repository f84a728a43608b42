import torch

COMMAND = "python train.py --cuda {} --gpus {}"


def start():
    return COMMAND.format(int(torch.cuda.is_available()), torch.cuda.device_count())
