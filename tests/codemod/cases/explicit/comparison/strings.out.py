import tdev
import torch

device = "cuda" if tdev.cuda.is_available() else "cpu"
if tdev.is_accelerator(device):
    x = torch.ones(1)
amp = tdev.is_accelerator(args.device)
pin = not tdev.is_accelerator(cfg["device"])
half = tdev.is_accelerator(str(device))
gpu = tdev.is_accelerator(getattr(args, "device"))
