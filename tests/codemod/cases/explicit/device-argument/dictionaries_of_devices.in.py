import torch


def known(x: torch.Tensor):
    told = {"device": x.device}
    told["device"] = given()
    return torch.zeros(2, device=told["device"])


def chosen(name):
    options = dict(device=name, dtype=torch.float32)
    return torch.zeros(2, device=options["device"], dtype=options["dtype"])


def passed(**options):
    return torch.zeros(2, device=options["device"])


def updated(x: torch.Tensor, more):
    options = {"device": x.device}
    options.update(more)
    return torch.zeros(2, device=options["device"])
