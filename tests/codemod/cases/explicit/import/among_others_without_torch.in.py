from enum import Enum

import cv2
from loguru import logger
from zlib_ng import crc32

from .base import Plugin


class Name(Enum):
    full = "full"


def upsampler(name, device, no_half):
    logger.info(name)
    half = True if "cuda" in str(device) and not no_half else False
    return Plugin(cv2, crc32, half=half)
