import tdev
import torch

with tdev.device("cuda"):
    net = torch.nn.Linear(1, 1)
tdev.set_default_device("cuda")
with torch.device("meta"):
    net = torch.nn.Linear(1, 1)
m = tdev.get_device_module("cuda")
torch.set_default_device("cpu")
