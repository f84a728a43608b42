import random

import torch
from program.states import State


def current_state():
    return State(
        python=random.getstate(),
        on_cpu=torch.get_rng_state(),
        on_cuda=torch.cuda.get_rng_state("cuda") if torch.cuda.is_available() else None,
    )


def restore(state):
    random.setstate(state.python)
    torch.set_rng_state(state.on_cpu)
    if torch.cuda.is_available():
        torch.cuda.set_rng_state(state.on_cuda, "cuda")
    else:
        assert state.on_cuda is None


def seed_all(seed):
    torch.cuda.manual_seed(seed)
