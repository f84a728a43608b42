def get_cuda_version():
    import torch

    return torch.version.cuda
