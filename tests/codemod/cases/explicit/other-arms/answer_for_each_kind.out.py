import sys

import tdev


def compiles_flex(device):
    device = tdev.device(device)

    if device.type == "cuda":
        return True

    if device.type == "cpu":
        return sys.platform != "darwin"

    return False


def mask(n, device):
    return tdev.ones(n, device=device) if compiles_flex(device) else None
