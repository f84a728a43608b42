from urllib.request import urlretrieve

import tdev
import torch
from package import MostRecent, Trial, load_model


def test_checkpoint(model):
    trial = Trial(model, callbacks=[MostRecent(filepath="last.pt")])
    trial.run(2)
    trial.load_state_dict(torch.load("last.pt"))


def test_converted():
    model = load_model(path="old.pt")
    assert model.keys() == tdev.load("old.pt").keys()


def test_released(url):
    urlretrieve(url, filename="released.pt")
    assert tdev.load("released.pt")
