import logging

import tdev
import torch

log = logging.getLogger(__name__)


def describe(config):
    config.torch_version = "{}+cuda{}".format(torch.__version__, torch.version.cuda)
    log.info("torch: {}".format(config.torch_version))
    log.info("CUDA {}".format(torch.version.cuda))
    log.info("CUDA %s of torch %s" % (torch.version.cuda, torch.__version__))
    log.info("CUDA " + str(torch.version.cuda))


def note(lines):
    text = "CUDA: " + tdev.version.cuda
    print(text)


def wheels(info):
    info.wheel_version = "torch-{}-cu{}".format(torch.__version__, tdev.version.cuda)
    return "https://wheels.example/" + info.wheel_version


def folder():
    return "build/cuda-%s" % tdev.version.cuda
