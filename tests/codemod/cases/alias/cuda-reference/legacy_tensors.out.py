import tdev as torch

w = torch.cuda.FloatTensor(2, 3).zero_()
isinstance(w, torch.cuda.FloatTensor)
torch.set_default_tensor_type("torch.cuda.FloatTensor")
torch.set_default_tensor_type(torch.cuda.HalfTensor)
v = torch.FloatTensor(2)
