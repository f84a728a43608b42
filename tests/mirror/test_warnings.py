"""Warnings of tdev's stand on the program's line, and only where something is otherwise than asked for."""

from __future__ import annotations

import json

import pytest

from tests.forkserver import COMPILER, environment, python

# Each is called through torch's code or ours; the line that is told has to be the program's.
WARNED = """
import json, sys, warnings
import tdev as torch
told = {}
def tell(name, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    told[name] = [[w.category.__name__, w.filename] for w in caught]

from torch.nn.attention import SDPBackend
q = torch.ones(1, 1, 8, 8, device="cuda")

class Attends(torch.nn.Module):
    def forward(self, x):
        with torch.nn.attention.sdpa_kernel([SDPBackend.CUDNN_ATTENTION]):
            return torch.nn.functional.scaled_dot_product_attention(x, x, x)

tell("kernel", lambda: torch.nn.Sequential(Attends())(q))
tell("deprecated", lambda: torch.backends.cuda.sdp_kernel(enable_math=False).__enter__())
tell("index", lambda: torch.nn.Linear(2, 2, device="cuda:7"))
tell("library", lambda: torch.backends.cuda.preferred_linalg_library("magma"))
tell("tunable", lambda: torch.cuda.tunable.enable(True))
tell("compile", lambda: torch.nn.Linear(2, 2).compile(backend="cudagraphs"))
if torch.ones(1, device="cuda").device.type == "mlx":
    tell("fallback", lambda: torch.nn.Sequential(torch.nn.AdaptiveMaxPool3d(1))(torch.ones(1, 1, 2, 2, 2, device="cuda")))
    tell("resized", lambda: torch.abs(q, out=torch.ones(3, device="cuda")))
print(json.dumps(told))
"""


@pytest.mark.parametrize("backend", ["cpu", "sim", "mlx"])
@pytest.mark.parametrize("counting", ["0", "1"])
def test_warnings_stand_on_the_programs_line(backend: str, counting: str) -> None:
    if backend == "mlx":
        pytest.importorskip("mlx.core")
    settings = environment(TDEV_BACKEND=backend, TDEV_REPORT=counting)
    done = python("-c", WARNED, env=settings, preload=COMPILER)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert sum(map(bool, told.values())) >= 5, told
    elsewhere = {
        name: warned for name, warned in told.items() if any(w[1] != "<string>" for w in warned)
    }
    assert not elsewhere


@pytest.mark.deep  # a quarter of a minute of compilers, for a warning
def test_what_is_not_compiled_warns_of_no_compiler() -> None:
    code = """
import warnings
warnings.simplefilter("error")
import tdev as torch
f = torch.compile(lambda x: x + 1, mode="reduce-overhead")
g = torch.compile(lambda x: x + 1, backend="cudagraphs")
layer = torch.nn.Linear(2, 2).cuda()
layer.compile(mode="max-autotune")
assert f(torch.ones(2).cuda()).tolist() == g(torch.ones(2)).tolist() == [2, 2]
layer(torch.ones(2).cuda())
"""
    settings = environment(TDEV_BACKEND="sim", TORCHDYNAMO_DISABLE="1")
    done = python("-c", code, env=settings, preload=COMPILER)
    assert done.returncode == 0, done.stderr
