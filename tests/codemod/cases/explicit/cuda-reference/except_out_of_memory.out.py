import tdev
import torch

try:
    y = x @ x
except tdev.cuda.OutOfMemoryError:
    tdev.cuda.empty_cache()
except (RuntimeError, tdev.cuda.OutOfMemoryError) as error:
    print(error, torch.ones(1))
