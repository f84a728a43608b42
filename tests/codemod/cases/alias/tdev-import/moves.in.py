import torch
import torch.nn as nn

model = nn.Linear(2, 2).cuda()
x = torch.randn(2, 2).to("cuda")
y = x.type("torch.cuda.FloatTensor")
