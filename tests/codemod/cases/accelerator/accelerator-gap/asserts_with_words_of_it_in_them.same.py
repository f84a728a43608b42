import torch

assert torch.cuda.is_available(), "CUDA is required for these optimizers"
assert torch.cuda.device_count() > 1, f"not enough GPUs: {torch.cuda.device_count()}"
