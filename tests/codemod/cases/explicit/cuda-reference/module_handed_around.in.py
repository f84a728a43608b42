import torch

backend = torch.cuda
backend.synchronize()
for module in (torch.cuda, torch.backends.cudnn):
    print(module)
name = getattr(torch.cuda, "get_device_name")(0)
