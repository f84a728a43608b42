import tdev


def is_gpu(device):
    return tdev.is_accelerator(device.type)
