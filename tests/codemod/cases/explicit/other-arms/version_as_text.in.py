import torch


def choose(device, logger):
    try:
        torch.set_default_device(device=device)
    except RuntimeError:
        logger.warning("no such device")
    if str(torch.__version__) < "2.4":
        return torch.cuda.current_device()
    if torch.__version__.split("+")[0] >= "2.4":
        return torch.cuda.device_count()
    else:
        return torch.cuda.get_device_name()
