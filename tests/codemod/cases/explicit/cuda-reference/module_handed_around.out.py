import tdev
import torch

backend = tdev.cuda
backend.synchronize()
for module in (tdev.cuda, torch.backends.cudnn):
    print(module)
name = getattr(tdev.cuda, "get_device_name")(0)
