import torch


def tolerance():
    if torch.cuda.is_available():
        using_tf32 = torch.backends.fp32_precision == "tf32"
        return 2e-3 if using_tf32 else 5e-5
    return 5e-5


print(torch.cuda.is_available())
