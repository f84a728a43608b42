import tdev
import torch

cuda = getattr(tdev, "cuda")
has = hasattr(torch, "cuda") and hasattr(torch, "compile")
other = getattr(torch, "float16")
dynamic = getattr(torch, args.name)
