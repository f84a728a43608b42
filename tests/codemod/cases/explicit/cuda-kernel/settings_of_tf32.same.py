import torch

if torch.cuda.is_available():
    # faster on Ampere
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
