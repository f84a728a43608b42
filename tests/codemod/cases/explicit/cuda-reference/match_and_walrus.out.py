import tdev
import torch

if (n := tdev.cuda.device_count()) > 1:
    match n:
        case 2:
            tdev.cuda.set_device(1)
y = torch.ones(1)
