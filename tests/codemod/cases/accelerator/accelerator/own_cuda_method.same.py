import torch


class Batch:
    def cuda(self):
        self.x = torch.ones(1)
        return self

    def go(self):
        return self.cuda()
