import tdev as torch

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    x = torch.ones(1)
amp = torch.is_accelerator(args.device, exact=True)
pin = not torch.is_accelerator(cfg["device"], exact=True)
half = torch.is_accelerator(str(device), exact=True)
gpu = torch.is_accelerator(getattr(args, "device"), exact=True)
kind = torch.is_accelerator(getattr(device, "type", None), exact=True)
