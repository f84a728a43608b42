import torch

device = "cuda"
x = torch.randn(2, 2, device=device)
print(f"running on {device}", str(device))
log = {"device": device, "path": "/data/cuda_runs/" + device}
build(device)
