import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tkwargs = {"device": device, "dtype": torch.double}
points = torch.rand(4, 2, **tkwargs)
