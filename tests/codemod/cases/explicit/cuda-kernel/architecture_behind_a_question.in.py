import torch


def order():
    """Marlin for sm80, CUTLASS for sm120."""
    major = torch.cuda.get_device_capability()[0] if torch.cuda.is_available() else 0
    return ("marlin", "cutlass") if major >= 11 else ("marlin",)


def grouped_available():
    """True iff the kernel can run here: sm100 alone."""
    if not torch.cuda.is_available():
        return False
    major, _ = torch.cuda.get_device_capability()
    return major == 10


def name():
    arch = "sm%d%d" % torch.cuda.get_device_capability() if torch.cuda.is_available() else "cpu"
    raise RuntimeError(f"no backend for {arch}; run on sm80 or newer")


def bf16():
    if torch.cuda.is_available():
        return torch.cuda.get_device_capability() >= (8, 0)
    return False


def told(logger):
    if torch.cuda.is_available():
        logger.info("on a device that is there")
        arch = torch.cuda.get_device_capability()
        return arch[0] >= 9  # sm90
    return False
