from package import is_available


def free():
    if not is_available("torch"):
        return
    import tdev

    tdev.cuda.empty_cache()
