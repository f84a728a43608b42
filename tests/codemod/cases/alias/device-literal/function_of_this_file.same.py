import torch

def show(device):
    print(device)

show(device="cuda")
print("cuda", torch.ones(1))
d = dict(device="cuda")
