import torch


def states():
    return {"torch_rng": torch.get_rng_state(), "torch_rng_cuda": torch.cuda.get_rng_state_all()}


def restore(states):
    torch.cuda.set_rng_state_all(states["torch_rng_cuda"])


def free():
    torch.cuda.empty_cache()
