import torch


def states():
    found = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        found["cuda"] = torch.cuda.get_rng_state()
    return found


def restore(state):
    if torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


def free():
    torch.cuda.empty_cache()
