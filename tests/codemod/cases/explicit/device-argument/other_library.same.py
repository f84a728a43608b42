import jax
import numpy as np
import torch

a = np.zeros(3)
b = jax.device_put(a, device="cuda")
c = mylib.zeros(3, device="cpu")
d = torch.from_numpy(a)
