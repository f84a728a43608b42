import tdev


def make(args, cfg):
    print(cfg.data.path, cfg.shape)
    return tdev.zeros(3, device=args.device, dtype=args.dtype), tdev.ones(3, device=cfg.device)


class Trainer:
    def noise(self):
        return tdev.randn(3, device=self.cfg.device, dtype=self.cfg.dtype)
