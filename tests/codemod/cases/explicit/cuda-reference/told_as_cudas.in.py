import logging

import torch


def report():
    torch.cuda.synchronize()
    message = f"pytorch={torch.__version__}, cuda.available={torch.cuda.is_available()}, "
    print("CUDA devices:", torch.cuda.device_count())
    print("devices:", torch.cuda.device_count())
    logging.info("CUDA: %s", "yes" if torch.cuda.is_available() else "no")
    message += "cuda: {}".format(torch.cuda.is_available())
    message += "CUDA available: " + str(torch.cuda.is_available())
    message += "CUDA: %s, %d" % (torch.cuda.is_available(), torch.cuda.device_count())
    return message + f"{torch.cuda.is_available()=} devices: {torch.cuda.device_count()}"


def info():
    return {
        "GPU": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        "available": torch.cuda.is_available(),
        "version": torch.version.cuda,
    }


def chosen(path):
    return open(f"cuda/{path}" if torch.cuda.is_available() else path)


def refused(device):
    raise ValueError(
        f"Invalid CUDA device {device}."
        f"\ntorch.cuda.is_available(): {torch.cuda.is_available()}"
        f"\nnumber of devices: {torch.cuda.device_count()}"
    )
