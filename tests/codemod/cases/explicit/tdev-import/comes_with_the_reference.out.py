import tdev
import torch

tdev.cuda.set_device(0)
x = torch.ones(2).cuda()
