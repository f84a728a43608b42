import tdev
import torch

ok = tdev.is_accelerator(tdev.device("cuda", tdev.cuda.current_device()).type)
x = torch.ones(1)
