from functools import partial

import torch
from torch.amp import autocast

context = partial(autocast, "cuda", enabled=False)
client = OmniInference("./checkpoint", "cuda")
for device in ("cpu", "cuda:0"):
    print(device)
options = {"device": "cuda", "backend": "cuda"}
print("cuda", options.get("cuda"))
x = torch.ones(1).type("torch.cuda.FloatTensor")
y = torch.cuda.FloatTensor(3)
