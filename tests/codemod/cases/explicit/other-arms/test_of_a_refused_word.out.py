import pytest
import tdev
import torch


@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_each(kind, build):
    if kind == "cuda" and not torch.cuda.is_available():
        return
    if kind == "mps" and not torch.backends.mps.is_available():
        return
    net = build(torch.device(kind), torch.zeros(3, device=kind))
    assert net(tdev.ones(3, device="cuda"))


@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_other_word(kind, build):
    if kind == "cuda" and not torch.cuda.is_available():
        return
    if kind == "mps" and not torch.backends.mps.is_available():
        return
    kind = build.kind
    build(tdev.device(kind))


def check(kind, build):
    if kind.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(kind)
    if kind.startswith("mps") and not torch.backends.mps.is_available():
        raise ValueError(kind)
    return build(torch.device(kind)).to(kind)
