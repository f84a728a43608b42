import torch

SYNCHRONIZE = {"cuda": torch.cuda.synchronize, "mps": torch.mps.synchronize, "cpu": lambda: None}
SEED = {
    "cuda": lambda seed: torch.cuda.manual_seed(seed),
    "xpu": lambda seed: torch.xpu.manual_seed(seed),
}
MADE = {"cuda": torch.cuda.device_count(), "mps": 1}
EMPTY = {"cuda": torch.cuda.empty_cache, "cpu": lambda: None}
CALLED = [torch.load, torch.cuda.synchronize]


def handled():
    return {torch.load: "loads", torch.cuda.synchronize: "waits", torch.zeros: "makes"}


def handles(func):
    return func in (torch.load, torch.zeros) or func in {torch.distributed.new_group}
