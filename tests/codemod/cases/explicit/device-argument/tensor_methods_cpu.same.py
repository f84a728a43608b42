import torch

x = torch.ones(3).to("cpu").to(torch.float16).cpu()
y = x.new_zeros(3, device="cpu")
z = x.to(device=y.device, dtype=torch.float32)
