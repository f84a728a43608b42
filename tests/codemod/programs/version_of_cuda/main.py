"""Takes CUDA's version apart, and asks whether there is one: the answer is the same in every file."""

import torch
from toolkit import TOOLKIT, major, minor

assert torch.cuda.is_available(), "this program needs CUDA"

x = torch.ones(3, device="cuda")
print(major(), minor(), TOOLKIT, int(x.sum()))
print(int(torch.version.cuda.split(".")[0]) >= 12, ".".join(torch.version.cuda.split(".")))
print(bool(torch.version.cuda))
