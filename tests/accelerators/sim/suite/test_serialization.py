"""Saving, loading, copying and pickling; also in a torch without the device."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.forkserver import environment, python


def roundtrip(value: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("where", [None, "cpu", "sim:1", {"sim:0": "sim:1"}, torch.device("cpu")])
def test_map_location(where: Any, weights_only: bool) -> None:
    state = nn.Linear(3, 2, device="sim").state_dict()
    loaded = roundtrip(state, weights_only=weights_only, map_location=where)
    wanted = "sim:0" if where is None else "sim:1" if isinstance(where, dict) else str(where)
    for name, value in state.items():
        assert str(loaded[name].device) == wanted
        assert torch.equal(loaded[name].cpu(), value.cpu())


def test_map_location_callable_and_from_the_cpu() -> None:
    x = torch.arange(3.0)
    assert roundtrip(x, map_location="sim").device.type == "sim"
    moved = roundtrip(x, map_location=lambda storage, location: storage.sim(1))
    assert moved.device == torch.device("sim", 1) and moved.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(6, device="sim").view(2, 3).t(),
        lambda: torch.arange(6.0, device="sim")[2:4],
        lambda: torch.randn(3, dtype=torch.complex64, device="sim").conj(),
        lambda: torch.randn(2, device="sim", requires_grad=True),
        lambda: nn.Parameter(torch.ones(2, device="sim:1")),
        lambda: torch.tensor(True, device="sim"),
        lambda: torch.empty(0, 3, device="sim"),
        lambda: torch.randn(3, device="sim", dtype=torch.bfloat16),
    ],
)
@pytest.mark.parametrize(
    "copier",
    [
        copy.deepcopy,
        copy.copy,
        lambda x: pickle.loads(pickle.dumps(x)),
        lambda x: roundtrip(x, weights_only=True),
    ],
)
def test_copies(make: Any, copier: Any) -> None:
    x = make()
    y = copier(x)
    assert type(y) is type(x) and y.device == x.device and y.stride() == x.stride()
    assert y.requires_grad == x.requires_grad
    host = x.detach().cpu().resolve_conj()
    assert y.is_conj() == copier(host.conj() if x.is_conj() else host).is_conj()
    assert torch.equal(x.detach().cpu(), y.detach().cpu())
    if copier is not copy.copy and x.numel():
        assert y.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
        with torch.no_grad():
            y.zero_()
        assert not torch.equal(x.detach().cpu(), y.detach().cpu())


def test_sharing_survives() -> None:
    base = torch.arange(4.0, device="sim")
    pair = {"base": base, "view": base[1:]}
    for copied in (copy.deepcopy(pair), roundtrip(pair)):  # plain pickle copies, on the CPU too
        copied["view"][0] = 9
        assert copied["base"].tolist() == [0, 9, 2, 3]
    assert base.tolist() == [0, 1, 2, 3]


def test_modules_and_optimizers() -> None:
    model = nn.LSTM(3, 4, device="sim")
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 3, device="sim"))[0].sum().backward()
    optimizer.step()
    other = copy.deepcopy(model)
    assert all(
        torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True)
    )
    fresh = torch.optim.Adam(other.parameters())
    fresh.load_state_dict(roundtrip(optimizer.state_dict()))
    assert fresh.state[other.weight_ih_l0]["exp_avg"].device.type == "sim"
    whole = roundtrip(model, weights_only=False)
    assert torch.equal(whole.weight_hh_l0, model.weight_hh_l0)


def test_legacy_format() -> None:
    file = io.BytesIO()
    torch.save(torch.arange(3.0, device="sim"), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert torch.load(file).tolist() == [0, 1, 2]


def test_missing_device_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save(torch.ones(2, device="sim:1"), path)
    code = (
        "import sys, torch, tdev_core.accelerators.sim\n"
        "tdev_core.accelerators.sim.activate()\n"
        "try: torch.load(sys.argv[1])\n"
        "except RuntimeError as error: assert 'device_count() is 1' in str(error), error\n"
        "else: raise SystemExit('loaded')\n"
        "assert torch.load(sys.argv[1], map_location='sim').device.index == 0\n"
    )
    _run(code, path, TDEV_SIM_DEVICES="1")


def test_stock_torch_loads_with_map_location(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save({"w": torch.arange(3.0, device="sim")}, path)
    code = (
        "import sys, torch\n"
        "try: torch.load(sys.argv[1])\n"
        "except RuntimeError as error: assert 'sim:0' in str(error), error\n"
        "else: raise SystemExit('loaded')\n"
        "assert torch.load(sys.argv[1], map_location='cpu')['w'].tolist() == [0, 1, 2]\n"
    )
    _run(code, path)


def _run(code: str, path: Path, **settings: str) -> None:
    done = python("-c", code, str(path), env=environment(**settings))
    assert done.returncode == 0, done.stderr


def test_a_slice_of_a_storage_is_over_its_memory() -> None:
    """As torch has it on CUDA: what is written to a slice, or to a tensor over it, is in the tensor that it is of."""
    x = torch.arange(8, dtype=torch.uint8, device="sim")
    part = x.untyped_storage()[2:6]
    part.copy_(torch.full((4,), 9, dtype=torch.uint8, device="sim").untyped_storage())
    assert x.tolist() == [0, 1, 9, 9, 9, 9, 6, 7]
    part[1:3].fill_(5)
    x[2] = 1
    assert part.tolist() == [1, 5, 5, 9] and x.tolist() == [0, 1, 1, 5, 5, 9, 6, 7]
    torch.empty(0, dtype=torch.uint8, device="sim").set_(part).zero_()  # type: ignore[call-overload]
    assert x.tolist() == [0, 1, 0, 0, 0, 0, 6, 7]


def test_untyped_storages() -> None:
    storage = torch.UntypedStorage([1, 2, 3], device="sim")
    assert storage.device == torch.device("sim", 0) and storage.tolist() == [1, 2, 3]
    storage[1] = 7
    assert storage[1] == 7 and list(storage) == [1, 7, 3] and len(storage) == storage.size() == 3
    assert storage[1:].tolist() == [7, 3] and storage[1:].device.type == "sim"
    clone, host = storage.clone(), storage.cpu()
    storage.fill_(0)
    assert clone.tolist() == host.tolist() == [1, 7, 3] and host.device.type == "cpu"
    storage.copy_(host)
    host.copy_(torch.UntypedStorage([9, 9, 9], device="sim:1"))
    assert storage.tolist() == [1, 7, 3] and host.tolist() == [9, 9, 9]
    with pytest.raises(RuntimeError, match="size does not match"):
        storage.copy_(torch.UntypedStorage(2))
    with pytest.raises(RuntimeError, match="negative"):
        torch.UntypedStorage(-1, device="sim")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.UntypedStorage(1, device="sim:7")
    assert torch.UntypedStorage(4).device.type == "cpu"


def test_a_handle_of_cudas_is_cudas() -> None:
    """Said of any storage that is not CUDA's, as where there is CUDA; a torch built without it speaks of its build."""
    for where in ("cpu", "meta"):
        with pytest.raises(RuntimeError, match="only available on CUDA"):
            torch.zeros(2, device=where).untyped_storage()._share_cuda_()
    with pytest.raises(RuntimeError, match="no handle of CUDA's"):
        torch.zeros(2, device="sim").untyped_storage()._share_cuda_()
