import pickle

import torch

USE_CUDA = torch.cuda.is_available()


def save(base):
    states = {base + "_random.torch": torch.get_rng_state()}
    if USE_CUDA:
        state = torch.cuda.get_rng_state_all()
        states.update({base + "_random.cuda": state})
    for name, state in states.items():
        with open(name, "wb") as file:
            pickle.dump(state, file)


def load(base):
    if USE_CUDA:
        with open(base + "_random.cuda", "rb") as file:
            state = pickle.load(file)
        torch.cuda.set_rng_state_all(state)


def free():
    torch.cuda.empty_cache()
