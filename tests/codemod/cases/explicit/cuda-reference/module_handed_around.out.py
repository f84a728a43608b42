import tdev
import torch

backend = tdev.cuda
backend.synchronize()
for module in (tdev.cuda, torch.backends.cudnn):
    print(module.is_available())
name = getattr(tdev.cuda, "get_device_name")(0)
