import torch

GENERATORS = {}


def noise(size, generator=None, **kwargs):
    if generator is None:
        generator = GENERATORS[str(kwargs.get("device", "cpu"))]
    return torch.randint(0, 5, size, generator=generator, **kwargs)


def zeros(size, **options):
    print(options["device"])
    return torch.zeros(size, **options)


def taken_out(size, **kwargs):
    device = kwargs.pop("device", None)
    return torch.ones(size, **kwargs), device


def set_there(x, **kwargs):
    print(kwargs.get("device"))
    kwargs["device"] = x.device
    return torch.ones(x.shape, **kwargs)


def unasked(size, **kwargs):
    return torch.rand(size, **kwargs)
