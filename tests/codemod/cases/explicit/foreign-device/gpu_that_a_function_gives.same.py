import torch


def get_accelerator(logger):
    if torch.cuda.is_available():
        return "gpu"
    logger.info("no CUDA device found")
    return "cpu"


def place():
    return "gpu" if torch.cuda.is_available() else "cpu"
