import tdev
import torch

major = int(tdev.version.cuda.split(".")[0])
if torch.version.cuda is not None:
    major = int(torch.version.cuda.split(".")[0])
new = major >= 12 and float(tdev.version.cuda) > 12.1
label = "CUDA " + tdev.version.cuda
print(f"torch {torch.__version__}, CUDA {torch.version.cuda}", torch.version.hip)
