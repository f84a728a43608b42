torch = None

def load():
    global torch
    import torch

def sync():
    torch.cuda.synchronize()
