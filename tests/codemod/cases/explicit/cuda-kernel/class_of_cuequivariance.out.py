import tdev
import torch

from lab.wrappers import CuEquivarianceConfig, PlainConfig


def config(device: torch.device):
    if str(device) == "cpu":
        return None
    tdev.cuda.synchronize()
    plain = PlainConfig(fused=tdev.is_accelerator(device.type))
    return plain, CuEquivarianceConfig(enabled=True, conv_fusion=(device.type == "cuda"))
