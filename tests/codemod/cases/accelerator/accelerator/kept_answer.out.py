import torch


def place(model):
    use_gpu = torch.accelerator.is_available()
    if use_gpu:
        torch.accelerator.synchronize()
    return model.to(
        torch.accelerator.current_accelerator().type if use_gpu else "cpu"
    )
