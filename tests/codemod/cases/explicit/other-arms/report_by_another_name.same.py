import torch


def versions():
    cuda_compiled_version = torch.version.cuda
    return {"available": torch.cuda.is_available(), "cuda": cuda_compiled_version}
