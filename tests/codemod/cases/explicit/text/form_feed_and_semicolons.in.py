import torch

def f(): torch.cuda.synchronize(); return torch.ones( 1 ,2)
x = ( torch . cuda . synchronize )
