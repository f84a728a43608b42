"""torch.cuda.FloatTensor and its kin on a host without CUDA."""

from __future__ import annotations

import pickle
import warnings
from typing import Optional, get_type_hints

import pytest
import torch

from tdev_core.shims import tensortypes
from tdev_core.shims.tensortypes import SparseTensorType, StorageType, TensorType

_ALL = {name: value for name, value in vars(tensortypes).items() if isinstance(value, type)}
DENSE = {n: v for n, v in _ALL.items() if type(v) is TensorType}
SPARSE = {n: v for n, v in _ALL.items() if type(v) is SparseTensorType}
STORAGES = {n: v for n, v in _ALL.items() if type(v) is StorageType}


def test_every_type_that_torch_has_is_there_under_its_dtype():
    for name, kind in DENSE.items():
        assert kind.dtype is getattr(torch.cuda, name).dtype and kind.__name__ == name
        assert kind.__module__ == "torch.cuda" and kind.is_cuda and not kind.is_sparse
    for name, kind in SPARSE.items():
        assert kind.dtype is getattr(torch.cuda.sparse, name[len("Sparse") :]).dtype
        assert kind.__module__ == "torch.cuda.sparse" and kind.is_sparse
    assert {n for n in dir(torch.cuda) if n.endswith("Tensor")} == set(DENSE)
    assert {f"Sparse{n}" for n in dir(torch.cuda.sparse) if n.endswith("Tensor")} == set(SPARSE)
    storages = {n for n in torch.cuda.__all__ if n.endswith("Storage")}
    assert storages == set(STORAGES)
    assert len(DENSE) == 10 and len(SPARSE) == 9 and len(STORAGES) == 12


@pytest.mark.parametrize("name", DENSE)
def test_constructors(name):
    kind = DENSE[name]
    assert kind(2, 3).shape == (2, 3) and kind().shape == (0,)
    values = kind([1, 0, 1])
    assert values.dtype is kind.dtype and values.tolist() == [1, 0, 1]
    assert kind(torch.Size([4])).shape == (4,)
    assert isinstance(values, kind) and not isinstance([1], kind)


def test_isinstance_tells_dtype_layout_and_device():
    assert isinstance(torch.ones(1), tensortypes.FloatTensor)
    assert not isinstance(torch.ones(1), tensortypes.HalfTensor)
    assert not isinstance(torch.ones(1, device="meta"), tensortypes.FloatTensor)
    assert not isinstance(torch.ones(1).to_sparse(), tensortypes.FloatTensor)
    assert isinstance(torch.ones(1), (int, tensortypes.FloatTensor))


def test_they_are_types_to_annotations_and_pickle():
    def work(x: Optional[tensortypes.FloatTensor]) -> tensortypes.LongTensor: ...  # noqa: UP045

    assert get_type_hints(work)["return"] is tensortypes.LongTensor
    for kind in _ALL.values():
        if isinstance(kind, (TensorType, SparseTensorType, StorageType)):
            assert pickle.loads(pickle.dumps(kind)) is kind
    assert repr(tensortypes.FloatTensor) == "<class 'torch.cuda.FloatTensor'>"


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_constructors(name):
    kind = SPARSE[name]
    made = kind(torch.tensor([[0, 2]]), torch.ones(2).to(kind.dtype), (4,))
    assert made.to_dense().tolist() == [1, 0, 1, 0] and made.dtype is kind.dtype
    assert kind(2, 3).shape == (2, 3) and kind((2, 3)).shape == (2, 3) and kind().shape == (0,)
    assert isinstance(made, kind) and not isinstance(made.to_dense(), kind)


@pytest.mark.parametrize("name", STORAGES)
def test_storages(name):
    kind = STORAGES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # typed storages are deprecated
        assert kind(5).size() == 5 and kind().size() == 0
        made = kind([1, 0])
        assert made.tolist() == [1, 0] and made.dtype is kind.dtype
        assert isinstance(made, kind)
        other = tensortypes.LongStorage if name == "FloatStorage" else tensortypes.FloatStorage
        assert not isinstance(made, other)


@pytest.mark.parametrize(
    "given",
    [
        "torch.cuda.DoubleTensor",
        torch.cuda.DoubleTensor,
        tensortypes.DoubleTensor,
        torch.DoubleTensor,
    ],
)
def test_set_default_tensor_type(given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tensortypes.set_default_tensor_type(given)
            assert torch.get_default_dtype() is torch.float64
            made = torch.ones(1)
            assert made.dtype is torch.float64 and made.device.type == "cpu"
        finally:
            torch.set_default_dtype(torch.float32)


def test_a_default_device_that_the_program_has_set_stays():
    """It goes before the type's, as in torch."""
    try:
        for given in (torch.FloatTensor, tensortypes.FloatTensor, "torch.cuda.FloatTensor"):
            torch.set_default_device("meta")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tensortypes.set_default_tensor_type(given)
            assert torch.get_default_device() == torch.device("meta")
    finally:
        torch.set_default_device(None)


def test_set_default_tensor_type_refuses_what_torch_refuses():
    with pytest.raises(TypeError, match="invalid type object"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensortypes.set_default_tensor_type(int)
    with pytest.raises(KeyError):
        tensortypes.set_default_tensor_type("torch.cuda.WideTensor")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tensortypes.FloatTensor([0]), "DtypeTensor constructors are no longer recommended"),
        (lambda: tensortypes.set_default_tensor_type(tensortypes.FloatTensor), "deprecated as of PyTorch 2.1"),
    ],
)  # fmt: skip
def test_what_torch_advises_against_is_said_as_often_as_torch_says_it(call, said, monkeypatch):
    monkeypatch.setattr("tdev_core.errors._warned", set())
    before, dtype = torch.is_warn_always_enabled(), torch.get_default_dtype()
    try:
        for always, count in ((False, 1), (True, 2)):
            torch.set_warn_always(always)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                call()
                call()
            assert [said in str(w.message) for w in seen] == [True] * count
            assert {w.filename for w in seen} == {__file__}
    finally:
        torch.set_warn_always(before)
        tensortypes.set_default_tensor_type(torch.FloatTensor)
        torch.set_default_dtype(dtype)
