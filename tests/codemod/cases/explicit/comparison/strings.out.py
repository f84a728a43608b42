import tdev
import torch

device = "cuda" if tdev.cuda.is_available() else "cpu"
if device == "cuda":
    x = torch.ones(1)
amp = tdev.is_accelerator(args.device, exact=True)
pin = not tdev.is_accelerator(cfg["device"], exact=True)
half = tdev.is_accelerator(str(device), exact=True)
gpu = tdev.is_accelerator(getattr(args, "device"), exact=True)
kind = tdev.is_accelerator(getattr(device, "type", None), exact=True)
