import torch


def parse(device, logger, args):
    torch.device(args.device)
    place = None
    if isinstance(device, str):
        place = torch.device(device)
    try:
        torch.zeros((1,), device=place)
    except Exception:
        logger.warning("invalid device")
        place = torch.device("cpu")
    torch.zeros(1, device="cuda")
    return place


def hijack():
    if not is_xformers_available():
        return False
    from xformers.ops import SwiGLU

    return SwiGLU


def plainly():
    from xformers.ops import SwiGLU

    return SwiGLU
