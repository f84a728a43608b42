import torch

try:
    y = x @ x
except torch.OutOfMemoryError:
    torch.accelerator.empty_cache()
except (RuntimeError, torch.OutOfMemoryError) as error:
    print(error, torch.ones(1))
