import torch


def train(rank):
    if not torch.cuda.is_available():
        raise RuntimeError("no GPU")
    torch.cuda.set_device(rank)
    return {"rng": {"cuda": torch.cuda.get_rng_state()}}


def restore(state):
    torch.cuda.set_rng_state(state["rng"]["cuda"])
