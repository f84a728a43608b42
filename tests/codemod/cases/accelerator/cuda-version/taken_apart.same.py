import torch

if torch.version.cuda is not None:
    major = int(torch.version.cuda.split(".")[0])
print(torch.__version__, torch.version.hip)
