import torch


def train(model, data):
    model = model.cuda()
    for x in data:
        x = x.cuda()
    # the last one
    loss = model(x.to("cuda"))
    return loss


def keeps(model):
    kept = torch.device("cuda")
    model.cuda()
    return torch.zeros(3).cuda().to("cuda"), kept


def given(accelerator, x):
    device = x.mean()
    return device + x.cuda() + torch.zeros(3, device="cuda")


class Holder:
    first = torch.zeros(2).cuda()

    def fill(self, amount):
        device = amount
        self.second = self.first.cuda()
        self.third = torch.zeros(2, device="cuda")


def local():
    import torch as th

    return th.zeros(2).cuda() + th.zeros(2).cuda()
