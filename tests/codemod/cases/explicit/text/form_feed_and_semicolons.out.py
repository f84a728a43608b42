import tdev
import torch

def f(): tdev.cuda.synchronize(); return torch.ones( 1 ,2)
x = ( tdev . cuda . synchronize )
