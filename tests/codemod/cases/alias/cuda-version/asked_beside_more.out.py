import tdev as torch

if not torch.version.cuda:
    print("a torch without CUDA")
torch.cuda.synchronize()
