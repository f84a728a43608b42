import torch

in_bad_fork = getattr(torch.cuda, "_is_in_bad_fork", None)
