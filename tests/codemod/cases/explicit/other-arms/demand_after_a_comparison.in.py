import torch


def knows():
    return torch.backends.mps.is_available()


class Recipe:
    def __init__(self, cfg):
        self.device = torch.device(cfg.device)
        if cfg.log_memory and self.device.type != "cuda":
            cfg.log_memory = False
        if cfg.offloads:
            if self.device.type != "cuda":
                raise RuntimeError("offloads should only be True when training on CUDA")
            self.stream = torch.cuda.Stream()


def train(cfg, model):
    model.cuda()
    assert next(model.parameters()).device.type == "cuda"
    return Recipe(cfg)
