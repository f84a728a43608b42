import torch

cuda = getattr(torch, "cuda")
has = hasattr(torch, "cuda") and hasattr(torch, "compile")
other = getattr(torch, "float16")
dynamic = getattr(torch, args.name)
