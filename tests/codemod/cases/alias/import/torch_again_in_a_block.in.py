import tdev as torch

if torch.cuda.is_available():
    import torch

    torch.cuda.synchronize()
