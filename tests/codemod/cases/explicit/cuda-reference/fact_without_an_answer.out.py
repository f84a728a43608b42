import tdev


def facts():
    found = {}
    if tdev.cuda.is_available():
        found["cuda_name"] = tdev.cuda.get_device_name(0)
    return found
