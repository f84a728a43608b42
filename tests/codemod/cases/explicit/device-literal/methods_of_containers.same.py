import torch

seen = set()
seen.add("cuda")
kinds = ["cuda"]
kinds.append("cuda")
args.get("cuda", None)
setattr(args, "cuda", True)
x = torch.ones(1)
