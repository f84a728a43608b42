import tdev


def how_many(given):
    count = given
    if given <= 0:
        if tdev.cuda.is_available():
            count = tdev.cuda.device_count()
        else:
            raise ValueError("only supports GPUs")
    return count
