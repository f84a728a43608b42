"""Plants an error of one per cent into a kernel of the active device: that which ``PLANTED`` names."""

import os

import torch
from torch.utils._pytree import tree_map_only

name, backend = os.environ.get("PLANTED", ""), os.environ["TDEV_BACKEND"]
library = torch.library.Library("aten", "IMPL")
if name and backend != "cpu":
    import tdev

    tdev.zeros(1, device="cuda")  # the device is registered at its first use
    base, _, overload = name.partition(".")
    plain = getattr(getattr(torch.ops.aten, base), overload or "default")

    def kernel(*args, **kwargs):
        here = torch.device(backend)
        args, kwargs = tree_map_only(torch.Tensor, lambda x: x.cpu(), (args, kwargs))
        found = tree_map_only(torch.Tensor, lambda x: x.to(here), plain(*args, **kwargs))
        several = isinstance(found, (tuple, list))
        return type(found)([found[0] * 1.01, *found[1:]]) if several else found * 1.01

    library.impl(name, kernel, "PrivateUse1", allow_override=True)
