import torch


def devices():
    if torch.cuda.is_available():
        x = torch.zeros(1, device="cuda")
        d = torch.device("cuda")
        with torch.autocast("cuda"):
            return x.to("cuda"), d, torch.device("cuda:0")
    return torch.zeros(1)


def move(model, batch):
    index = torch.cuda.current_device()
    model.cuda(torch.cuda.current_device())
    return batch.cuda(index, non_blocking=True)
