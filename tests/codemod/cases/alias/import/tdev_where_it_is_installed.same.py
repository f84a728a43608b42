try:
    import tdev as torch
except ImportError:
    import torch

weights = torch.zeros(3, device="cuda")
if torch.cuda.is_available():
    torch.cuda.synchronize()
