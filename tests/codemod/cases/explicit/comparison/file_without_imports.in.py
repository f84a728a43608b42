def is_gpu(device):
    return device.type == "cuda"
