import os

import torch
from package import Trainer


def test_save(tmp_path):
    trainer = Trainer(device="cuda")
    trainer.save(path=tmp_path, model_filename="model.pt")
    saved = torch.load(os.path.join(tmp_path, "model.pt"), weights_only=False)
    assert saved is not None


class TestCallbacks:
    def test_best(self):
        callback = ModelCheckpoint("models/best")
        Trainer(callbacks=[callback]).fit()
        self.model.load_state_dict(torch.load("models/best_3.p"))


def test_old_format():
    assert torch.load("resources/old.pt") is not None
    torch.save({}, "new.pt")


def test_moved(tmp_path):
    torch.save({}, tmp_path / "x.pt")
    torch.load(tmp_path / "x.pt", map_location="cuda")


def resume(trainer, path):
    trainer.save(path)
    return torch.load(path)
