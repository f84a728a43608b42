import numpy as np
import torch

a = np.asarray([1.0], device="cpu")
b = torch.from_numpy(a).to(torch.float32)
c = np.zeros(3)
