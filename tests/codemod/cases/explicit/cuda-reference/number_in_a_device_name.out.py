import tdev


def device_of(rank):
    return tdev.device(f"cuda:{rank % max(1, tdev.cuda.device_count())}")
