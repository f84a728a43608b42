"""Misuse gets an error in words; nothing crashes, hangs, narrows or reads what is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tdev_core.accelerators.mlx import runtime
from tdev_core.errors import FallbackWarning, UnsupportedError
from tests.accelerators.mlx.programs import run


@pytest.mark.parametrize(
    "call",
    [
        lambda d: F.embedding(torch.tensor([0, 9]).to(d), torch.ones(4, 2).to(d)),
        lambda d: torch.ones(4, 2).to(d)[torch.tensor([0, 4]).to(d)],
        lambda d: torch.ones(4, 2).to(d)[torch.tensor([-5]).to(d)],
        lambda d: torch.ones(4).to(d).gather(0, torch.tensor([4]).to(d)),
        lambda d: torch.ones(4).to(d).index_select(0, torch.tensor([-1]).to(d)),
        lambda d: torch.zeros(4).to(d).scatter(0, torch.tensor([7]).to(d), 1.0),
        lambda d: torch.zeros(4).to(d).index_put_((torch.tensor([4]).to(d),), torch.ones(1).to(d)),
        lambda d: torch.zeros(4).to(d).take(torch.tensor([4]).to(d)),
        lambda d: F.cross_entropy(torch.ones(2, 3).to(d), torch.tensor([0, 3]).to(d)),
        lambda d: torch.zeros(4).to(d).index_add(0, torch.tensor([4]).to(d), torch.ones(1).to(d)),
    ],
)
def test_an_index_out_of_range_raises_as_on_the_cpu(call: object) -> None:
    with pytest.raises((IndexError, RuntimeError)) as theirs:
        call("cpu")  # type: ignore[operator]
    with pytest.raises(type(theirs.value)) as ours:
        call("mlx")  # type: ignore[operator]
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda d: torch.ones(2, 3).to(d) + torch.ones(4).to(d),
        lambda d: torch.ones(2, 3).to(d) @ torch.ones(2, 3).to(d),
        lambda d: torch.ones(3, dtype=torch.int64).to(d).add_(0.5),
        lambda d: torch.ones(3).to(d).sum(3),
        lambda d: torch.cat([torch.ones(2, 2).to(d), torch.ones(3).to(d)]),
        lambda d: torch.tensor([True]).to(d) - torch.tensor([True]).to(d),
        lambda d: torch.tensor([1]).to(d) // torch.tensor([0]).to(d),
        lambda d: torch.ones(2, 3).to(d).view(4),
        lambda d: F.conv2d(torch.ones(1, 2, 4, 4).to(d), torch.ones(1, 3, 3, 3).to(d)),
        lambda d: torch.empty(-1, device=d),
    ],
)
def test_errors_are_torchs_own(call: object) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: B017
        call("cpu")  # type: ignore[operator]
    with pytest.raises(type(theirs.value)) as ours:
        call("mlx")  # type: ignore[operator]
    assert str(ours.value).split("\n")[0][:40] == str(theirs.value).split("\n")[0][:40]


def test_tensors_on_different_devices_do_not_mix() -> None:
    a = torch.ones(3, device="mlx")
    calls: list[Callable[[], torch.Tensor]] = [
        lambda: a + torch.ones(3),
        lambda: torch.ones(3, 3) @ a,
        lambda: torch.cat([a, torch.ones(3)]),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="same device"):
            call()
    assert (a * torch.tensor(2.0)).tolist() == [2.0, 2.0, 2.0]


def _write(x: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[where] = 9.0
    return x


@pytest.mark.parametrize(
    "where", [torch.tensor([2, 0]), torch.tensor([True, False, True])], ids=["places", "mask"]
)
@pytest.mark.parametrize(
    "call",
    [
        lambda x, where: x[where],
        lambda x, where: x[:, where],
        lambda x, where: torch.ops.aten.index(x, indices=[None, where]),
        lambda x, where: x.index_put((where,), x[0], accumulate=True),
        _write,
    ],
    ids=["index", "second", "named", "put", "write"],
)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_indices_may_lie_on_the_cpu(call: Any, where: torch.Tensor, compiled: bool) -> None:
    if compiled and where.dtype is torch.bool:
        pytest.skip("how many places a mask has is not known while a graph is traced")
    x = torch.arange(9.0).view(3, 3)
    torch._dynamo.reset()
    called = torch.compile(call, backend="mlx", fullgraph=True) if compiled else call
    found = called(x.to("mlx"), where)
    assert found.device.type == "mlx" and torch.equal(found.cpu(), call(x, where))


def test_what_is_written_at_such_indices_lies_on_the_device() -> None:
    x = torch.zeros(3, device="mlx")
    with pytest.raises(RuntimeError, match="same device"):
        x.index_put_((torch.tensor([0, 1]),), torch.ones(2))
    assert x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("make", [torch.empty, torch.rand])
def test_more_than_there_is_raises_torchs_error(make: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(
        torch.OutOfMemoryError, match="^CUDA out of memory. Tried to allocate 4194304"
    ):
        make(1 << 25, 1 << 25, device="mlx")


def test_mlxs_own_refusal_has_torchs_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arrays: object) -> None:
        raise RuntimeError("[metal::malloc] Attempting to allocate 68719476736 bytes")

    monkeypatch.setattr(runtime.mx, "eval", refuse)
    with pytest.raises(torch.OutOfMemoryError, match="^CUDA out of memory.*68719476736 bytes"):
        runtime.evaluate(runtime.mx.ones(1))
    assert runtime.lock.acquire(timeout=0) and not runtime.lock.release()


def test_there_is_one_device() -> None:
    calls: list[Callable[[], torch.Tensor]] = [
        lambda: torch.zeros(2, device="mlx:1"),
        lambda: torch.empty(2, device="mlx:3"),
        lambda: torch.ones(2).to("mlx:1"),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            call()


def test_storages_can_be_made() -> None:
    result = run(
        "import tdev_core.accelerators.mlx as m, torch; m.activate(); s = torch.UntypedStorage(8, device='mlx'); print(s.nbytes(), s.tolist())"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n")[0] == "8 [0, 0, 0, 0, 0, 0, 0, 0]"


def test_a_forked_child_gets_an_error_instead_of_a_hang() -> None:
    result = run("""
import os, sys, torch, tdev_core.accelerators.mlx as m
m.activate()
print((torch.ones(3, device="mlx") + 1).sum().item(), flush=True)
pid = os.fork()
if pid == 0:
    try:
        torch.ones(3, device="mlx").sum().item()
    except RuntimeError as e:
        print(type(e).__name__, "spawn" in str(e), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
""")
    assert result.stdout.split("\n")[:2] == ["6.0", "UnsupportedError True"], result.stderr


def test_without_mlx_the_error_says_how_to_install_it() -> None:
    code = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "mlx":
            raise ModuleNotFoundError(name)
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name.split(".")[0] == "mlx" else real(name, package)
import tdev_core.accelerators.mlx
try:
    tdev_core.accelerators.mlx.activate()
except Exception as e:
    print(type(e).__name__, e)
"""
    out = run(code).stdout
    assert out.startswith("ConfigError") and "pip install 'tdev[mlx]'" in out and "mlx[cpu]" in out


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, tdev_core.accelerators.mlx, tdev_core.accelerators.mlx.table as t; rows = t.operators(); "
        "print(len(rows) > 400, [m for m in ('torch', 'mlx', 'mlx.core', 'numpy') if m in sys.modules])"
    )
    assert run(code, fresh=True).stdout.strip() == "True []"


def test_a_fallback_warns_once_and_is_refused_when_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    from tdev_core import errors
    from tdev_core.mirror import report

    x = torch.rand(3, 3, device="mlx")
    errors._warned.clear()
    before = report.report().fallbacks.get("aten::special_airy_ai.out", 0)
    with pytest.warns(FallbackWarning, match="special_airy_ai"):
        y = torch.special.airy_ai(x)
    torch.testing.assert_close(y.cpu(), torch.special.airy_ai(x.cpu()))
    assert report.report().fallbacks["aten::special_airy_ai.out"] == before + 1
    monkeypatch.setenv("TDEV_STRICT", "1")
    with pytest.raises(UnsupportedError, match="TDEV_STRICT"):
        torch.special.airy_ai(x)


def test_printing_a_tensor_is_no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDEV_STRICT", "1")
    assert "mlx:0" in repr(torch.tensor([1.5, 1e-9, 3e7]).to("mlx"))


def test_a_failed_in_place_list_leaves_every_tensor_alone() -> None:
    a, b = torch.ones(2, device="mlx"), torch.ones(2, dtype=torch.int64, device="mlx")
    with pytest.raises(RuntimeError):
        torch._foreach_mul_([a, b], 0.5)
    assert b.tolist() == [1, 1]


def test_sparse_results_are_refused() -> None:
    with pytest.raises((UnsupportedError, RuntimeError)):
        torch.eye(3, device="mlx").to_sparse()


def test_nothing_is_narrowed() -> None:
    big = 2**40 + 1
    assert torch.tensor([big]).to("mlx").add(1).item() == big + 1
    assert (torch.tensor([2**62], device="mlx") + 2**61).item() == 2**62 + 2**61
    assert torch.full((1,), 2**53 + 1, device="mlx").item() == 2**53 + 1
    assert torch.tensor([1e300], dtype=torch.float64).to("mlx").mul(2).item() == 2e300
