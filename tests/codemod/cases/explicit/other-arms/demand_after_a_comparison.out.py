import tdev
import torch


def knows():
    return torch.backends.mps.is_available()


class Recipe:
    def __init__(self, cfg):
        self.device = tdev.device(cfg.device)
        if cfg.log_memory and self.device.type != "cuda":
            cfg.log_memory = False
        if cfg.offloads:
            if self.device.type != "cuda":
                raise RuntimeError("offloads should only be True when training on CUDA")
            self.stream = torch.cuda.Stream()


def train(cfg, model):
    model.cuda()
    assert tdev.answers_cuda(next(model.parameters()).device.type)
    return Recipe(cfg)
