import torch

assert torch.cuda.is_available(), "CUDA is required for these optimizers"
assert torch.accelerator.device_count() > 1, f"not enough GPUs: {torch.accelerator.device_count()}"
