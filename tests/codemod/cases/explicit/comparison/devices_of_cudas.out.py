import tdev
import torch


def load(device, model, optimize=True):
    if optimize and device == torch.device("cuda"):
        model = model.half()
        torch.cuda.empty_cache()
    return model.to(tdev.device("cuda"))


def with_index(devices):
    plain = torch.device("cuda")
    return [torch.device("cuda:0") if device == plain else device for device in devices]


def on_either(device):
    return device in (torch.device("cuda"), torch.device("cuda:0"))


def moved(attr):
    if attr.device != tdev.device("cuda"):
        attr = attr.to(tdev.device("cuda"))
    return attr


def demanded(x):
    if x.device != tdev.device("cuda:0"):
        raise ValueError("not on CUDA")
    assert x.grad.device == tdev.device("cuda:0")


class TestMove:
    def test_move(self, x):
        self.assertTrue(x.device == tdev.device("cuda:0"))
