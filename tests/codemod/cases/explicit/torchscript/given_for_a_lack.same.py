import torch

compiled = getattr(torch.jit, "script_if_tracing", getattr(torch.jit, "_script", torch.jit.script))
