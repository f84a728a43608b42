import tdev as torch

DEV = "cuda" if torch.cuda.is_available() else "cpu"
if DEV == "cuda":
    x = torch.ones(1)
