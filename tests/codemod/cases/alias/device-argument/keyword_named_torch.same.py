import numpy as np

def call(torch=None, cuda=None):
    return build(torch=torch, cuda=cuda)

x = np.ones(1)
device = {"torch": "cuda"}
