import torch

if (n := torch.cuda.device_count()) > 1:
    match n:
        case 2:
            torch.cuda.set_device(1)
y = torch.ones(1)
