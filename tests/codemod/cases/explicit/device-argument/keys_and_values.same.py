import torch

METRICS = {"cuda": 0.0, "cpu": 1.0}
METRICS["cuda"] += 1
table = dict(cuda=1, device_name="cuda-like")
for kind in ("cuda", "cpu"):
    print(METRICS[kind], torch.ones(1))
