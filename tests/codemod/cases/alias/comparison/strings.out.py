import tdev as torch

device = "cuda" if torch.cuda.is_available() else "cpu"
if torch.is_accelerator(device):
    x = torch.ones(1)
amp = torch.is_accelerator(args.device)
pin = not torch.is_accelerator(cfg["device"])
half = torch.is_accelerator(str(device))
gpu = torch.is_accelerator(getattr(args, "device"))
