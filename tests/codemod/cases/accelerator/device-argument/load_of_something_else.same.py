import numpy as np
import torch

weights = np.load("cuda.npy")
model.load("cuda.pt")
torch.nn.Module.load_state_dict(model, weights)
