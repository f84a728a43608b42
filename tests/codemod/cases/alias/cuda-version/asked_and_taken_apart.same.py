import torch


def get_torch_cuda_version():
    if torch.version.cuda is not None:
        return "".join(torch.version.cuda.split("."))
    return "cpu"
