def sync():
    import torch

    torch.accelerator.synchronize()
    return torch.ones(1)


def other():
    import torch

    return torch.ones(2)
