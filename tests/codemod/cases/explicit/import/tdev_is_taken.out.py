import tdev as _tdev
import torch

tdev = "test device"
_tdev.cuda.synchronize()
print(tdev, torch.ones(1))
