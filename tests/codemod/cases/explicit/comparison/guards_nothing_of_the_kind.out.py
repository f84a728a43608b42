import tdev
import torch


def run(x: torch.Tensor, kernel_size):
    if not tdev.is_accelerator(x.device.type):
        return None
    graph = tdev.cuda.CUDAGraph()
    if tdev.is_accelerator(x):
        tdev.cuda.synchronize()
    return graph, kernel_size
