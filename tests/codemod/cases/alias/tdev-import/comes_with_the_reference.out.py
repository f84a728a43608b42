import tdev as torch

torch.cuda.set_device(0)
x = torch.ones(2).cuda()
