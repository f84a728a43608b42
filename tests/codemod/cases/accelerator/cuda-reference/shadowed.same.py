import fake_torch as torch

torch.cuda.synchronize()
