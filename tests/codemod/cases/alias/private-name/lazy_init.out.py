import tdev as torch

torch.cuda.init()
torch.cuda._lazy_init()
torch._C._cuda_getDevice()
