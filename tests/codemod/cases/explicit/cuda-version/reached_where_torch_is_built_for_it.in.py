import torch

details = {}
if hasattr(torch, "version") and torch.version.cuda is not None:
    details["toolkit"] = ".".join(torch.version.cuda.split(".")[:2])
    details["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
x = torch.zeros(3, device="cuda")
