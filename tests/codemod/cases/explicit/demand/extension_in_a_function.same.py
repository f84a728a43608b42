import torch


def step(group):
    if group["fused"]:
        if torch.cuda.is_available():
            _fused(group)
        else:
            raise ValueError("does not support the CPU")


def _fused(group):
    for parameter in group["params"]:
        import fused_adan

        fused_adan.step(parameter)
