import tdev as torch

n = torch.cuda \
    .device_count()
x = torch.ones(n)
