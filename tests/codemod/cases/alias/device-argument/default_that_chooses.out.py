import tdev as torch


def build(n, device=torch.device("cuda" if torch.cuda.is_available() else "cpu")):
    x = torch.ones(n).to(device)
    return (x + torch.ones(n, device=device)).sum()


class Trainer:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def zeros(self, n):
        return torch.zeros(n, device=self.device).to(Trainer.device)


print(build(3).item(), Trainer().zeros(2).sum().item())
