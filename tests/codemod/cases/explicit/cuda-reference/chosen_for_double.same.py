import torch

tkwargs = {
    "dtype": torch.double,
    "device": torch.device("cuda:0" if torch.cuda.is_available() else "cpu"),
}
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
dtype = torch.float64
x = torch.rand(3, **tkwargs)
