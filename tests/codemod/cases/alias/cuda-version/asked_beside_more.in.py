import torch

if torch.version.cuda is None:
    print("a torch without CUDA")
torch.cuda.synchronize()
