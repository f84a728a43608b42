import tdev
import torch

devices = list(map(tdev.device, ["cuda:0", "cuda:1"]))
types = [torch.device]
