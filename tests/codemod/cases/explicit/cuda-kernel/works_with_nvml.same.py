import torch


def indices(trainer):
    """Return the NVML indices of the GPUs that a run trains on."""
    if trainer.device.type != "cuda":
        return []
    return [trainer.device.index]


def started():
    try:
        import pynvml

        pynvml.nvmlInit()
        return True
    except Exception as error:
        if torch.cuda.is_available():
            print(error)
        return False
