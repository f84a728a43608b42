from enum import Enum

import tdev


class Kind(Enum):
    CPU = "CPU"
    GPU = "GPU"


NAMES = {Kind.CPU: "cpu", Kind.GPU: "cuda"}
KINDS = {name: kind for kind, name in NAMES.items()}
PORTS = {Kind.CPU: "left", Kind.GPU: "right"}
SIDES = {name: kind for kind, name in PORTS.items()}


def kind(x):
    return KINDS[x.device.type]


def zeros(n, kind):
    return tdev.zeros(n, device=NAMES[kind])
