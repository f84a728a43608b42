from torch.accelerator import is_available, synchronize

if is_available():
    synchronize()
