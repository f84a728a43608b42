"""Names below ``torch.cuda`` that large frameworks reach for, through the mirror, on every backend that runs here."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.forkserver import COMPILER, environment, python

BACKENDS = ["cpu", "sim", *(["mlx"] if find_spec("mlx") else [])]

BINDINGS = """
import time
import torch as stock
truth = getattr(stock._C, "_cuda_getDevice", None)  # there in a build for CUDA
import tdev as torch
from torch import _C as before
assert stock._C is before, "torch's own module is left alone"
assert getattr(before, "_cuda_getDevice", None) is truth is not getattr(torch._C, "_cuda_getDevice")
c = torch._C
c._cuda_init()
assert c._cuda_getDevice() == 0 == c._cuda_exchangeDevice(0) == c._cuda_maybeExchangeDevice(0)
assert c._cuda_exchangeDevice(-1) == c._cuda_maybeExchangeDevice(-1) == -1
assert c._cuda_getDeviceCount() == torch.cuda.device_count()
c._cuda_setDevice(0)
s = torch.cuda.Stream()
with torch.cuda.stream(s):
    assert c._cuda_getCurrentRawStream(0) == s.cuda_stream
    facts = c._cuda_getCurrentStream(0)
assert facts == (s.stream_id, s.device_index, s.device_type) != c._cuda_getDefaultStream(0)
c._cuda_setStream(*facts)
assert torch.cuda.current_stream() == s
c._cuda_setStream(*c._cuda_getDefaultStream(0))
assert torch.cuda.current_stream() == torch.cuda.default_stream()
x = torch.ones(1 << 16, device="cuda")
assert c._cuda_memoryStats(0)["allocated_bytes"]["all"]["current"] > 0
assert c._cuda_isCurrentStreamCapturing() is False and c._cuda_isInBadFork() is False
c._cuda_resetPeakMemoryStats(0)
c._cuda_synchronize()
start = time.perf_counter()
torch.cuda._sleep(20_000_000)  # a hundredth of a second at 2 GHz; at 10 GHz still two thousandths
assert time.perf_counter() - start >= 0.002 and c._cuda_sleep(1) is None
c._cuda_emptyCache()
c._cuda_ipc_collect()
assert c._cuda_getCompiledVersion() == 0 and c._cuda_getArchFlags() is None
try:
    c._cuda_attach_out_of_memory_observer(print)
except NotImplementedError as error:
    assert "OutOfMemoryError" in str(error)
else:
    assert x.device.type == "sim", "an observer that is never called"
index = torch.cuda._get_device_index
assert index(0) == 0 == index("cuda:0") == index(None, optional=True) == index(torch.cuda.device(0))
assert index(x.device) == 0 and index("cpu", allow_cpu=True) == -1
for wrong in (None, "meta"):
    try:
        index(wrong)
    except ValueError:
        continue
    raise AssertionError(f"{wrong} has an index")
assert torch.cuda._get_generator(torch.device("cuda")) is torch.cuda.default_generators[0]
torch.cuda._set_stream_by_id(s.stream_id, s.device_index, s.device_type)
assert torch.cuda.current_stream() == s
for offset in (torch.cuda._get_rng_state_offset, lambda: torch.cuda._set_rng_state_offset(4)):
    try:
        offset()
    except NotImplementedError as error:
        assert "get_rng_state()" in str(error)
    else:
        raise AssertionError("an offset that nothing has")
assert c._fft is before._fft and c.Generator is before.Generator
try:
    c._cuda_getDevise
except AttributeError as error:
    assert "_cuda_getDevise" in str(error)
import tdev._C
assert tdev._C is c
assert torch.cuda._exchange_device(-1) == -1  # as on CUDA: no device was asked for, and none is told
"""

VERSION = """
import torch as stock
truth = stock.version.cuda  # a build for CUDA has one, with a GPU or without
import tdev as torch
import copy, json, pickle
version = tuple(map(int, torch.version.cuda.split(".")))
assert version < (11, 0), "no CUDA kernel may be chosen by it"
assert torch.cuda.get_device_capability() < (3, 5)
assert not torch.version.cuda and (torch.version.cuda or "none") == "none", "no CUDA was compiled in"
for kept in pickle.loads(pickle.dumps(torch.version.cuda)), copy.copy(torch.version.cuda):
    assert type(kept) is str and kept == "0.0", "what a program saves loads without tdev"
assert json.dumps(torch.version.cuda) == '"0.0"' and f"{torch.version.cuda}" == "0.0"
def chosen(x):
    return x + 1 if torch.version.cuda else x + int(torch.version.cuda.split(".")[0])
from tdev_core.release import torch_release
whole = torch_release >= (2, 12)  # before, Dynamo leaves its graph for any method of a class derived from str
assert torch.compile(chosen, backend="eager", fullgraph=whole)(torch.ones(1)).item() == 1
assert stock.version.cuda == truth, "other libraries are told the truth"
assert torch.version.__version__ == stock.version.__version__ and torch.version.hip is stock.version.hip
"""


def run(code: str, backend: str, **settings: str) -> None:
    done = python("-c", code, env=environment(TDEV_BACKEND=backend, **settings), preload=COMPILER)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_functions_that_only_cuda_builds_have_and_the_version_of_cuda(backend: str) -> None:
    run(BINDINGS + VERSION, backend)


def test_the_version_is_the_same_whatever_is_announced() -> None:
    run(VERSION, "cpu", TDEV_CUDA_AVAILABLE="true")


PARSED = """
import torch as stock
import tdev as torch
from tdev._C._nn import _parse_to
import tdev.nn as nn

assert _parse_to is torch._C._nn._parse_to is not stock._C._nn._parse_to, "torch's own is left alone"
assert torch._C._nn.gelu is stock._C._nn.gelu
there = torch.zeros(1).cuda().device

class Own(nn.Linear):
    def to(self, *args, **kwargs):
        self.told = torch._C._nn._parse_to(*args, **kwargs)
        return super().to(*args, **kwargs)

for args, kwargs in (
    (("cuda",), {}), ((torch.device("cuda:0"), torch.double), {}), ((), {"device": "cuda", "non_blocking": True}),
    (("cuda", torch.half, True), {}), ((torch.zeros(1).cuda(),), {}),
):
    told = Own(2, 2).to(*args, **kwargs).told
    assert told[0].type == there.type, (args, told)
    assert told[1:] == stock._C._nn._parse_to(*["cpu" if one == "cuda" else one for one in args], **kwargs | {"device": "cpu"} if kwargs else {})[1:]
assert Own(2, 2).to(torch.half).told == (None, torch.half, False, None)
assert Own(2, 2).to("cpu").told[0] == torch.device("cpu")
x = torch.ones(2)
x.to(_parse_to("cuda")[0]).zero_()
assert x.tolist() == [1, 1], "a move copies"
try:
    _parse_to("nonsense")
except RuntimeError as error:
    assert "device" in str(error)
else:
    raise AssertionError
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_reads_its_own_move_learns_the_device_that_is_there(backend: str) -> None:
    """TensorDict and modules with a ``to`` of their own keep it, and say later that they are on it."""
    done = python("-c", PARSED, env=environment(TDEV_BACKEND=backend))
    assert done.returncode == 0, done.stderr
