import tdev as torch

x = torch.empty(3, device=torch.cuda.current_device())
y = torch.empty(3, device=0)
