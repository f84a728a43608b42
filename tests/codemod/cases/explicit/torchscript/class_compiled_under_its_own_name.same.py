import torch


class Output:
    def __init__(self, index: torch.Tensor, count: int):
        self.index = index
        self.count = count


Output = torch.jit.script(Output)
