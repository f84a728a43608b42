import torch


def run(x: torch.Tensor, kernel_size):
    if x.device.type != "cuda":
        return None
    graph = torch.cuda.CUDAGraph()
    if x.is_cuda:
        torch.cuda.synchronize()
    return graph, kernel_size
