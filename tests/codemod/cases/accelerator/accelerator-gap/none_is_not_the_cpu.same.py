import torch

model = torch.nn.Linear(2, 2, device="meta")
model.to_empty(device="cuda")
torch.cuda.empty_cache()
with torch.device("cuda"):
    x = torch.zeros(3)
device = torch.device("cuda")
print(device.type)
x.pin_memory(device="cuda")
