import argparse
from dataclasses import dataclass

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
a = parser.parse_args([])


@dataclass
class C:
    device: str = "cuda"


c = C()


class Owner:
    def __init__(self, given):
        self.c = given
        self.where = given.device

    def make(self):
        return torch.zeros(2, device=self.c.device) + torch.ones(2, device=self.where)


def build(exp, state, trainer):
    first = torch.zeros(3, device=exp.device)
    second = torch.zeros(3, device=state.device)
    return first + second + torch.zeros(3, device=trainer.device)


print(torch.zeros(3, device=a.device).sum().item(), torch.ones(3, device=c.device).sum().item())
print(Owner(c).make().sum().item(), build(a, c, c).sum().item())
