"""Every factory of the mirror, called with little, with a device and with page-locked memory asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["FACTORIES", "check"]

_LIKE = torch.arange(4.0)
_ROWS = (torch.tensor([0, 1, 2]), torch.tensor([0, 1]))
_BLOCKS = torch.arange(2.0).reshape(2, 1, 1)

FACTORIES: dict[str, tuple[Any, ...]] = {
    "arange": (4,),
    "as_tensor": ([1.0, 2.0],),
    "asarray": ([1.0, 2.0],),
    "bartlett_window": (4,),
    "blackman_window": (4,),
    "empty": (2, 3),
    "empty_like": (_LIKE,),
    "empty_permuted": ((2, 3), (1, 0)),
    "empty_strided": ((2, 3), (1, 2)),
    "eye": (3,),
    "full": ((2,), 7.0),
    "full_like": (_LIKE, 7.0),
    "hamming_window": (4,),
    "hann_window": (4,),
    "kaiser_window": (4,),
    "linspace": (0, 1, 5),
    "logspace": (0, 1, 5),
    "normal": (0.0, 1.0, (2, 3)),
    "ones": (2, 3),
    "ones_like": (_LIKE,),
    "rand": (2, 3),
    "rand_like": (_LIKE,),
    "randint": (9, (2, 3)),
    "randint_like": (_LIKE, 9),
    "randn": (2, 3),
    "randn_like": (_LIKE,),
    "randperm": (5,),
    "range": (0, 4),
    "scalar_tensor": (7.0,),
    "sparse_bsc_tensor": (*_ROWS, _BLOCKS),
    "sparse_bsr_tensor": (*_ROWS, _BLOCKS),
    "sparse_compressed_tensor": (*_ROWS, torch.ones(2)),
    "sparse_coo_tensor": ([[0, 1]], [1.0, 2.0]),
    "sparse_csc_tensor": (*_ROWS, torch.ones(2)),
    "sparse_csr_tensor": (*_ROWS, torch.ones(2)),
    "tensor": ([1.0, 2.0],),
    "tril_indices": (3, 3),
    "triu_indices": (3, 3),
    "zeros": (2, 3),
    "zeros_like": (_LIKE,),
}
"""Arguments by name; all are positional."""

_KEYWORDS = {"sparse_compressed_tensor": {"layout": torch.sparse_csr}}
_DRAWN = ("empty", "normal", "rand")
_UNPINNED = ("as_tensor", "asarray", "range")  # which take no pin_memory


def check(name: str, mirror: Any, kind: str) -> None:
    """Compare ``name`` of the mirror with torch's, on a backend whose devices are of type ``kind``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of what is deprecated, or in beta
        _check(name, mirror, kind)


def _check(name: str, mirror: Any, kind: str) -> None:
    factory: Callable[..., Any] = getattr(mirror, name)
    given, keywords = FACTORIES[name], _KEYWORDS.get(name, {})
    expected = getattr(torch, name)(*given, **keywords)

    def same(found: Any, where: str) -> None:
        assert isinstance(found, torch.Tensor), (name, found)
        assert found.device.type == where, (name, found.device)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), name
        if not name.startswith(_DRAWN):
            there, here = (
                t.to_dense() if t.layout != torch.strided else t for t in (found.cpu(), expected)
            )
            assert torch.equal(there, here), name

    same(factory(*given, **keywords), "cpu")
    same(factory(*given, **keywords, device="cuda"), kind)
    same(factory(*given, **keywords, device=mirror.device("cuda")), kind)
    if name in _UNPINNED:
        return
    same(factory(*given, **keywords, requires_grad=False), "cpu")
    for pinned in (False, True):
        same(factory(*given, **keywords, pin_memory=pinned), "cpu")
        same(factory(*given, **keywords, pin_memory=pinned, device="cuda"), kind)
    try:
        factory(*given, **keywords, device="no device")
    except RuntimeError as error:
        assert "no device" in str(error)
    else:
        raise AssertionError(f"{name} takes what is no device")
