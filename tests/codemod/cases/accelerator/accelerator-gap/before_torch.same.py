from models.frontend import build

model = build("config").eval()
model.cuda()

import torch

torch.manual_seed(1)
