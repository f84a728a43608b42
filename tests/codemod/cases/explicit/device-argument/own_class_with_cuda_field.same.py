from dataclasses import dataclass

import torch


@dataclass
class Flags:
    cuda: bool = True
    use_cuda: bool = False

flags = Flags()
if flags.cuda and not flags.use_cuda:
    print(torch.ones(1))
