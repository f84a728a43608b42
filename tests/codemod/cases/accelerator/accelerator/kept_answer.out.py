import torch


def place(model):
    use_gpu = torch.accelerator.is_available()
    if use_gpu:
        torch.accelerator.synchronize()
    accelerator = torch.accelerator.current_accelerator()
    return model.to(accelerator.type if use_gpu else "cpu")
