import logging

import tdev
import torch


def told(trainer, config):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print("Using device " + device)
    return trainer(config)


def told_by_an_error(config):
    kind = "CUDA" if torch.cuda.is_available() else "CPU"
    message = f"{config} on {kind}"
    raise ValueError(message)


def dead(build):
    # the device
    device = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(device)
    return build()


def read(build):
    device = "cuda" if tdev.cuda.is_available() else "cpu"
    logging.info("on %s", device)
    return build(device)


def read_inside(build):
    device = "cuda" if tdev.cuda.is_available() else "cpu"

    def place(x):
        return x.to(device)

    return build(place)


def read_in_a_loop(batches):
    device = None
    for batch in batches:
        if device is not None:
            yield batch.to(device)
        device = "cuda" if tdev.cuda.is_available() else "cpu"
