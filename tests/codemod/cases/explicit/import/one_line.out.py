import tdev
import torch; tdev.cuda.synchronize(); print(torch.ones(1))
