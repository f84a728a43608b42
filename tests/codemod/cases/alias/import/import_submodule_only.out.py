import tdev as torch, tdev.cuda

torch.cuda.empty_cache()
