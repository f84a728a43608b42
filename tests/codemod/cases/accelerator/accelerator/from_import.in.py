from torch.cuda import is_available, synchronize

if is_available():
    synchronize()
