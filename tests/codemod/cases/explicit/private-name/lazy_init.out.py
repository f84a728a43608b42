import tdev
import torch

torch.cuda._lazy_init()
torch._C._cuda_getDevice()
tdev.cuda.init()
