import tdev


def setup(rank):
    tdev.cuda.set_device(rank)
