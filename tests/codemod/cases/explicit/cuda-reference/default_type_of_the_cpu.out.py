import tdev
import torch

torch.set_default_tensor_type("torch.DoubleTensor")
torch.set_default_tensor_type(torch.FloatTensor)


def choose(kind):
    tdev.set_default_tensor_type(kind)
    tdev.set_default_tensor_type("torch.cuda.FloatTensor")
