import tdev


def accelerator(config):
    kind = config["type"]
    if (kind == "gpu") and (not tdev.cuda.is_available()):
        raise ValueError("GPUs selected, but GPUs are not available on this device")
    return kind
