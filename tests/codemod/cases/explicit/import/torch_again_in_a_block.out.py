import tdev as torch

if torch.cuda.is_available():
    import tdev as torch

    torch.cuda.synchronize()
