import tdev
import torch

try:
    y = x @ x
except torch.cuda.OutOfMemoryError:
    tdev.cuda.empty_cache()
except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
    print(error, torch.ones(1))
