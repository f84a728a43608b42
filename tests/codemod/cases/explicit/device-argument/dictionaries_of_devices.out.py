import tdev
import torch


def known(x: torch.Tensor):
    told = {"device": x.device}
    told["device"] = given()
    return tdev.zeros(2, device=told["device"])


def chosen(name):
    options = dict(device=name, dtype=torch.float32)
    return tdev.zeros(2, device=options["device"], dtype=options["dtype"])


def passed(**options):
    return tdev.zeros(2, device=options["device"])


def updated(x: torch.Tensor, more):
    options = {"device": x.device}
    options.update(more)
    return tdev.zeros(2, device=options["device"])
