import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    x = torch.ones(1)
amp = args.device == "cuda"
pin = cfg["device"] != "cuda"
half = str(device) == "cuda"
gpu = getattr(args, "device") == "cuda"
kind = getattr(device, "type", None) == "cuda"
