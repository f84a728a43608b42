import os

import torch
from trainer import Trainer, version_of_cuda

os.environ.setdefault("LOCAL_RANK", "0")
torch.manual_seed(0)
trainer = Trainer(torch.nn.Linear(4, 1), int(os.environ["LOCAL_RANK"]))
for _ in range(3):
    loss = trainer.step(torch.ones(8, 4), torch.zeros(8, 1))
print(type(loss).__name__, loss >= 0, version_of_cuda() >= 0)
