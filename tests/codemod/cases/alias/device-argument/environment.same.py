import os

import torch

os.environ["CUDA_VISIBLE_DEVICES"] = "0"
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
n = len(os.environ.get("CUDA_VISIBLE_DEVICES", "").split(","))
x = torch.ones(n)
