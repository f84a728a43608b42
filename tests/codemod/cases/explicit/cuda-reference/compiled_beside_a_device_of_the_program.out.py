import tdev
import torch
from config import DEVICE
from nets import Net

model = Net().to(DEVICE)
if tdev.cuda.is_available():
    model = torch.compile(model)
