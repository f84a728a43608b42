import torch


def target(config):
    assert config.device_type in ("cuda", "cpu"), "the streamer knows CUDA and the CPU"
    if config.device_type == "cuda":
        return f"{config.device_type}:{config.index}"
    return "cpu"


def other(config):
    if config.device_type == "cuda":
        return torch.zeros(1, device=config.device_type)
    return None
