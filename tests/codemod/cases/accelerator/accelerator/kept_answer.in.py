import torch


def place(model):
    use_gpu = torch.cuda.is_available()
    if use_gpu:
        torch.cuda.synchronize()
    return model.to("cuda" if use_gpu else "cpu")
