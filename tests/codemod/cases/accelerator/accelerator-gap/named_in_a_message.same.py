import logging

import torch

logger = logging.getLogger(__name__)


def load(device_map=None):
    if device_map is None:
        device_map = {"": torch.cuda.current_device()}
        logger.info("Setting device_map to `{'':torch.cuda.current_device()}`.")
    return device_map
