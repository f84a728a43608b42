import torch

describe("torch.cuda.is_available")
dispatch("torch.cuda", torch.ones(1))
x = {"torch.cuda.synchronize": 1}
