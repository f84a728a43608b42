import torch


def states():
    return {"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state()}


def restore(state):
    torch.cuda.set_rng_state(state["cuda"])


def free():
    torch.cuda.empty_cache()
