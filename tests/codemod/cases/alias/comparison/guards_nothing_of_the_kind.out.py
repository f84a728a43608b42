import tdev as torch


def run(x: torch.Tensor, kernel_size):
    if not torch.is_accelerator(x.device.type):
        return None
    graph = torch.cuda.CUDAGraph()
    if torch.is_accelerator(x):
        torch.cuda.synchronize()
    return graph, kernel_size
