import tdev as torch

DEV = "cuda" if torch.cuda.is_available() else "cpu"
if torch.is_accelerator(DEV):
    x = torch.ones(1)
