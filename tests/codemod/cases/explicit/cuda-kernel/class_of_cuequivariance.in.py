import torch

from lab.wrappers import CuEquivarianceConfig, PlainConfig


def config(device: torch.device):
    if str(device) == "cpu":
        return None
    torch.cuda.synchronize()
    plain = PlainConfig(fused=device.type == "cuda")
    return plain, CuEquivarianceConfig(enabled=True, conv_fusion=(device.type == "cuda"))
