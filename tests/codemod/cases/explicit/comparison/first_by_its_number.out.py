import tdev


def gpu(device):
    if device == "cuda" or device == "cuda:0":
        return 0
    if device == "cpu" or tdev.is_accelerator(device, exact=True):
        return 1
    if device != "cuda" and device != "cuda:0":
        return 3
    return tdev.device(device)


def of_a_tensor(x):
    return tdev.is_accelerator(x.device.type) or x.device.type == "cuda:0"
