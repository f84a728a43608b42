import tdev


def train(rank):
    if not tdev.answers_cuda():
        raise RuntimeError("no GPU")
    tdev.cuda.set_device(rank)
    return {"rng": {"cuda": tdev.cuda.get_rng_state()}}


def restore(state):
    tdev.cuda.set_rng_state(state["rng"]["cuda"])
