import tdev as torch

with torch.device("cuda"):
    net = torch.nn.Linear(1, 1)
torch.set_default_device("cuda")
with torch.device("meta"):
    net = torch.nn.Linear(1, 1)
m = torch.get_device_module("cuda")
torch.set_default_device("cpu")
