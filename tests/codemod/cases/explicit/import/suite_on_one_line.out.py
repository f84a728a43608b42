def f():
    if True: import tdev; import torch; tdev.cuda.synchronize(); return torch.ones(1)
