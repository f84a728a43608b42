torch = None

def load():
    global torch
    import tdev
    import torch

def sync():
    tdev.cuda.synchronize()
