import torch
from somewhere.base import Base


class Model(Base):
    def __init__(self, options):
        super().__init__(options)
        self.blur = torch.nn.Conv2d(3, 3, 1).cuda()

    def feed(self, x):
        return self.blur(x.to(self.device))
