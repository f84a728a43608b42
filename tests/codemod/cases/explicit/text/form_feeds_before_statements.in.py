import torch

def f():
    return torch.zeros(3, device="cuda")

@torch.cuda.amp.autocast()
def g(a):
    y = torch.cuda.current_device()
    if a:
        torch.cuda.synchronize()
      else:
        s = """
def h():
"""
    
    return y, s

