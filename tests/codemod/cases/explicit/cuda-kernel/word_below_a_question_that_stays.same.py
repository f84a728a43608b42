import torch


def check(model, batch):
    device = "cpu"
    if torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        device = "cuda:0"
    model = model.to(device)
    return model(torch.ones(3).to(device)), batch.to(device)
