import tdev

from .log import logger


def resume(state):
    if state is not None and tdev.cuda.is_available():
        tdev.cuda.set_rng_state(state)
    elif state is None and tdev.cuda.is_available():
        logger.warning("The random state for the CUDA devices won't be set.")
