import pytorch_lightning as pl


class Net(pl.LightningModule):
    @classmethod
    def load_from_checkpoint(cls, path, map_location=None, **more):
        return super().load_from_checkpoint(path, map_location=map_location, **more)


def load(path, x, device):
    return (
        Net.load_from_checkpoint(path, map_location=device),
        Net.load_from_checkpoint(path, map_location=x.device),
        Net.load_from_checkpoint(path, map_location="cpu"),
        Net.load_from_checkpoint(path),
    )
