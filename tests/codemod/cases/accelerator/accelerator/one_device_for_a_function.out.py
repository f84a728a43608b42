import torch


def train(model, data):
    device = torch.accelerator.current_accelerator()
    model = model.to(device)
    for x in data:
        x = x.to(device)
    # the last one
    loss = model(x.to(device))
    return loss


def keeps(model):
    kept = torch.accelerator.current_accelerator()
    model.to(kept)
    return torch.zeros(3).to(kept).to(kept), kept


def given(accelerator, x):
    device = x.mean()
    current_device = torch.accelerator.current_accelerator()
    return (
        device + x.to(current_device) + torch.zeros(3, device=current_device)
    )


class Holder:
    first = torch.zeros(2).to(torch.accelerator.current_accelerator())

    def fill(self, amount):
        device = amount
        accelerator = torch.accelerator.current_accelerator()
        self.second = self.first.to(accelerator)
        self.third = torch.zeros(2, device=accelerator)


def local():
    import torch as th

    device = torch.accelerator.current_accelerator()
    return th.zeros(2).to(device) + th.zeros(2).to(device)
