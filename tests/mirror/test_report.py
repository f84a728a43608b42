"""``tdev.report()`` and ``TDEV_REPORT=1``, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tdev_core.mirror.report import Report
from tests import forkserver


def python(
    code: str, preload: tuple[str, ...] = (), **settings: str
) -> subprocess.CompletedProcess[str]:
    done = forkserver.python("-c", code, env=forkserver.environment(**settings), preload=preload)
    assert done.returncode == 0, done.stderr
    return done


PROGRAM = """
import tdev as torch
torch.cuda.synchronize()
for seed in range(3):
    torch.cuda.manual_seed(seed)
torch.zeros(2, device="cuda").to("cuda")
"""


def test_calls_are_counted_with_their_routes() -> None:
    err = python(PROGRAM, TDEV_REPORT="1", TDEV_BACKEND="cpu").stderr
    rows = [line.split() for line in err.splitlines()]
    assert rows[0] == ["tdev", "report:", "backend", "'cpu'"]
    assert ["torch.cuda.random.manual_seed", "3", "emulated"] in rows
    assert ["torch.cuda.synchronize", "1", "emulated"] in rows or [
        "torch.cuda.synchronize", "1", "noop",
    ] in rows  # fmt: skip
    assert ["torch.zeros", "1", "native"] in rows
    assert ["torch.Tensor.to", "1", "shim"] in rows


def test_functions_are_named_as_in_the_catalog() -> None:
    code = "import tdev as torch\ntorch.jit.script(torch.nn.Linear(1, 1))\n"
    err = python(code, TDEV_REPORT="1", TDEV_BACKEND="cpu").stderr
    assert ["torch.jit.script", "1", "emulated"] in [line.split() for line in err.splitlines()]


def test_without_the_setting_nothing_is_printed_and_the_report_says_why() -> None:
    done = python(PROGRAM + "print(torch.report())", TDEV_BACKEND="cpu")
    assert done.stderr == ""
    assert "TDEV_REPORT=1" in done.stdout


def test_fallbacks_are_noted_without_counting() -> None:
    code = """
from tdev_core.metrics import counters
from tdev_core.mirror import report
counters.note_fallback("aten::svd")
counters.note_fallback("aten::svd")
found = report.report()
assert found.fallbacks == {"aten::svd": 2}
print(found)
"""
    lines = python(code, TDEV_BACKEND="cpu").stdout.splitlines()
    assert lines[-2:] == ["  fell back to the CPU:", "  aten::svd          2"]


def test_the_table_is_read_only_when_a_report_is_made() -> None:
    code = """
import sys
import tdev as torch
torch.cuda.synchronize()
assert "tdev_core.mirror.matrix" not in sys.modules
torch.report()
"""
    python(code, TDEV_BACKEND="cpu")


def test_a_report_without_the_table_is_still_a_report() -> None:
    code = """
import tdev as torch
from tdev_core.mirror import matrix
from tdev_core.errors import ConfigError
def lost():
    raise ConfigError("lost")
matrix.load = lost
torch.cuda.synchronize()
found = torch.report()
assert found.calls == {"torch.cuda.synchronize": 1} and found.routes == {}
"""
    python(code, TDEV_REPORT="1", TDEV_BACKEND="cpu")


def test_with_a_folder_each_process_writes_its_report_there(tmp_path: Path) -> None:
    code = (
        PROGRAM
        + """
try:
    torch.cuda.current_blas_handle()
except NotImplementedError:
    pass
"""
    )
    done = python(code, TDEV_REPORT="1", TDEV_REPORT_DIR=str(tmp_path), TDEV_BACKEND="cpu")
    assert done.stderr == ""
    (written,) = tmp_path.iterdir()
    found = json.loads(written.read_text())
    assert found["backend"] == "cpu" and found["calls"]["torch.cuda.random.manual_seed"] == 3
    assert "torch.cuda.synchronize" in found["answered"]
    assert found["calls"]["torch.cuda.current_blas_handle"] == 1
    assert "torch.cuda.current_blas_handle" not in found["answered"], "it raised"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = python(
        PROGRAM, TDEV_REPORT="1", TDEV_REPORT_DIR=str(tmp_path / "no"), TDEV_BACKEND="cpu"
    )
    assert "could not be written" in done.stderr and "Traceback" not in done.stderr


def test_a_call_counts_once_whatever_answers_it(tmp_path: Path) -> None:
    """What torch or tdev calls on the way is no call; what the program calls in its own code is one."""
    code = """
import tdev as torch
from tdev_core.metrics import counters

def counts(call):
    counters.calls.clear()
    call()
    return dict(counters.calls)

x, model, batches = torch.ones(2), torch.nn.Linear(2, 2), torch.ones(2, 2)
assert counts(lambda: x.cuda()) == {"torch.Tensor.cuda": 1}
assert counts(lambda: model.cuda()) == {"torch.nn.modules.module.Module.cuda": 1}
assert counts(lambda: model.to("cuda")) == {"torch.nn.modules.module.Module.to": 1}
assert counts(lambda: x.type("torch.cuda.FloatTensor")) == {"torch.Tensor.type": 1}
assert counts(lambda: x.untyped_storage().cuda()) == {"torch.storage._StorageBase.cuda": 1}

class Moves(torch.nn.Module):
    def forward(self, x):
        return x.to("cuda") * 2

wrapped = torch.nn.DataParallel(Moves())
found = counts(lambda: wrapped(x))
assert found["torch.Tensor.to"] == 1, found  # the program's own, inside torch's call
"""
    for backend in ("cpu", "sim"):
        python(code, TDEV_REPORT="1", TDEV_REPORT_DIR=str(tmp_path), TDEV_BACKEND=backend)


def test_counting_breaks_no_graph() -> None:
    code = """
import tdev as torch

def moved(x):
    return x.cuda() + torch.zeros(2, device="cuda").to("cuda")

compiled = torch.compile(moved, fullgraph=True, backend="eager")
assert compiled(torch.ones(2)).tolist() == [1, 1]
"""
    python(code, forkserver.COMPILER, TDEV_REPORT="1", TDEV_BACKEND="sim")


@pytest.mark.parametrize(
    ("counting", "calls", "routes", "fallbacks", "lines"),
    [
        (True, {}, {}, {}, ["  no routed function was called"]),
        (
            False, {}, {}, {},
            ["  calls are not counted; set TDEV_REPORT=1 before the program starts"],
        ),
        (True, {"a.long": 1000, "b": 2}, {"b": "noop"}, {}, ["  a.long      1,000", "  b               2  noop"]),
        (
            True, {"a": 1}, {"a": "same"}, {"aten::svd": 2},
            ["  a                  1  same", "  fell back to the CPU:", "  aten::svd          2"],
        ),
    ],
)  # fmt: skip
def test_a_report_reads_as_a_table(
    counting: bool,
    calls: dict[str, int],
    routes: dict[str, str],
    fallbacks: dict[str, int],
    lines: list[str],
) -> None:
    text = str(Report("sim", counting, calls, routes, fallbacks, {}))
    assert text.splitlines() == ["tdev report: backend 'sim'", *lines]


def test_what_waits_stands_below_the_calls() -> None:
    waits = {"train.py:7 aten::nonzero": 3, "a.py:12 aten::_to_copy": 1}
    assert str(Report("sim", True, {"a": 1}, {}, {}, waits)).splitlines()[2:] == [
        "  waited for the device:",
        "  train.py:7 aten::nonzero          3",
        "  a.py:12 aten::_to_copy            1",
    ]
