import tdev
import torch

w = tdev.cuda.FloatTensor(2, 3).zero_()
isinstance(w, tdev.cuda.FloatTensor)
tdev.set_default_tensor_type("torch.cuda.FloatTensor")
tdev.set_default_tensor_type(tdev.cuda.HalfTensor)
v = torch.FloatTensor(2)
