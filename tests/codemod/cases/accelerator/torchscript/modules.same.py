import torch
from torch import nn


class Scale(nn.Module):
    def forward(self, x):
        return x * torch.full([1], 2.0, device="cuda")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.scale = Scale()

    def forward(self, x):
        if x.device.type == "cuda":
            self.log(x)
        return self.scale(self.layer(x))

    @torch.jit.ignore
    def log(self, x: torch.Tensor) -> None:
        print(torch.cuda.is_available(), x.device.type == "cuda")

    @torch.jit.export
    def noise(self):
        return torch.rand(2, device="cuda")


class Plain(nn.Module):
    def forward(self, x):
        return x + 1


net = Net()
net = net.to("cuda")
scripted = torch.jit.script(net.eval())
plain = torch.jit.script(Plain())
out = scripted(plain(torch.ones(2).cuda())).shape
