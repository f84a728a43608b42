import tdev
import torch

if not tdev.answers_cuda():
    raise SystemExit("this torch has no CUDA")

device = "cuda" if tdev.backends.cuda.is_built() else "cpu"


def choose():
    if torch.backends.cuda.is_built():
        return "cuda"
    elif torch.backends.mps.is_built():
        return "mps"
    return "cpu"


x = torch.ones(2)
print(float(x.sum()))
