import os

import torch


class Trainer:
    def __init__(self, model):
        self.gpu_id = int(os.environ.get("LOCAL_RANK", "0"))
        self.model = model.to(self.gpu_id)

    def step(self, source):
        return self.model(source.to(self.gpu_id))


out = Trainer(torch.nn.Linear(2, 2)).step(torch.ones(1, 2))
print(out.shape)
