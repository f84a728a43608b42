import torch


def make(args, cfg):
    print(cfg.data.path, cfg.shape)
    return torch.zeros(3, device=args.device, dtype=args.dtype), torch.ones(3, device=cfg.device)


class Trainer:
    def noise(self):
        return torch.randn(3, device=self.cfg.device, dtype=self.cfg.dtype)
