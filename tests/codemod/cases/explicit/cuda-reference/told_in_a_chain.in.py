import torch

from .log import logger


def resume(state):
    if state is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state)
    elif state is None and torch.cuda.is_available():
        logger.warning("The random state for the CUDA devices won't be set.")
