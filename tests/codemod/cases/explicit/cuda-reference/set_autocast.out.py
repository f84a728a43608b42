import tdev
import torch

before = tdev.is_autocast_enabled()
tdev.set_autocast_enabled(True)
x = torch.ones(2, 2).cuda()
print((x @ x).dtype is not torch.float32)
tdev.set_autocast_enabled(before)
torch.set_autocast_enabled("cpu", False)
print((x @ x).dtype)
