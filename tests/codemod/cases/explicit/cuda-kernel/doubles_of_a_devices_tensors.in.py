import torch


def corrupt(heads, n):
    mask = torch.bernoulli(torch.ones(n, device=heads.device) / 2).double()
    return mask.double(), torch.randint(1, n, (n,), device="cuda")


class Sampler:
    def corrupt(self, heads, device):
        self.odds = self.odds.to(device)
        return torch.bernoulli(self.odds[heads]).double()


def fetched(x, host, device):
    y = x.to("cuda").sum()
    return y.cpu().double(), x.to(host).double(), torch.zeros(2, device=device)


def table(x):
    return x.double()
