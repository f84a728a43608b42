import tdev as th
import tdev as torch

th.cuda.synchronize()
torch.cuda.synchronize()
y = th.ones(1) + torch.ones(1)
