import tdev as torch

backend = torch.cuda
backend.synchronize()
for module in (torch.cuda, torch.backends.cudnn):
    print(module.is_available())
name = getattr(torch.cuda, "get_device_name")(0)
