torch = None

def load():
    global torch
    import tdev as torch

def sync():
    torch.cuda.synchronize()
