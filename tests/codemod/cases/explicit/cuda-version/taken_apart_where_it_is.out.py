import tdev
import torch

name = "cpu" if torch.version.cuda is None else f"cu{torch.version.cuda.replace('.', '')}"
major = int(tdev.version.cuda.split(".")[0])
