import torch

torch.set_default_tensor_type("torch.DoubleTensor")
torch.set_default_tensor_type(torch.FloatTensor)


def choose(kind):
    torch.set_default_tensor_type(kind)
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
