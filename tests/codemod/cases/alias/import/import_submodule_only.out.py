import tdev as torch

torch.cuda.empty_cache()
