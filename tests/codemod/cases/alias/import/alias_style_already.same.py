import tdev as torch

torch.cuda.synchronize()
x = torch.zeros(3, device="cuda")
if torch.is_accelerator(x.device):
    pass
