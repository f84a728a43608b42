import torch

scaler = torch.cuda.amp.GradScaler()
with torch.autocast("cuda", dtype=torch.float16):
    pass
with torch.cuda.amp.autocast():
    pass
