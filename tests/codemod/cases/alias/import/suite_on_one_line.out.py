def f():
    if True: import tdev as torch; torch.cuda.synchronize(); return torch.ones(1)
