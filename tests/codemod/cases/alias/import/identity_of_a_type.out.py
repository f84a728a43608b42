import tdev as torch
from tdev import Generator as G, device as Place


def pick(x, where):
    if type(where) == torch.device or where.__class__ != torch.Stream:
        return torch.zeros(2, device=where)
    if type(where) != Place != torch.Event:
        return G("cuda") if type(x) == (G) else Place("cuda")
    if (
        type(where)  # a comment stays
        == torch.device
    ):
        return x.dtype is torch.float32
    return type(where) is torch.Size


def where_it_is(x):
    return type(x.device) == torch.device, type(x.device) != Place


print(pick(torch.ones(1), torch.device("cpu")), where_it_is(torch.ones(1)))
