import tdev
import torch


def parse(device, logger, args):
    torch.device(args.device)
    place = None
    if isinstance(device, str):
        place = tdev.device(device)
    try:
        torch.zeros((1,), device=place)
    except Exception:
        logger.warning("invalid device")
        place = torch.device("cpu")
    tdev.zeros(1, device="cuda")
    return place


def hijack():
    if not is_xformers_available():
        return False
    from xformers.ops import SwiGLU

    return SwiGLU


def plainly():
    from tdev.standins.xformers.ops import SwiGLU

    return SwiGLU
