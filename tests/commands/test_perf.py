"""``python -m tdev doctor --perf``: what is found in a source, and what a few steps say of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdev_core.commands import doctor, perf
from tests.forkserver import environment, python

PROGRAM = """\
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for step, x in enumerate(DataLoader(torch.randn(4000, 8), 2, pin_memory=True)):
    loss = model(x.cuda()).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    last = loss.item()
    if step % 100 == 0:
        print(loss.item())
open("ended", "w").close()
"""


def lines(source: str, backend: str = "cpu") -> list[tuple[int, str]]:
    return [(one.line, one.what.split(":")[0]) for one in perf.static(source.encode(), backend)]


def test_what_is_suspected_has_its_line() -> None:
    assert lines(PROGRAM) == [
        (4, "AdamW without fused"), (5, "a DataLoader without workers"), (5, "pin_memory=True"), (10, ".item() in each step"),
    ]  # fmt: skip
    assert (4, "AdamW without fused") not in lines(PROGRAM, "mlx")
    assert (5, "pin_memory=True") not in lines(PROGRAM, "cuda")


@pytest.mark.parametrize(
    "source",
    [
        "for x in y:\n    print(x.item())",  # no steps of a training
        "DataLoader(x, num_workers=2, pin_memory=flag)",
        "DataLoader(x, **options)",
        "AdamW(p, fused=True); SGD(p, foreach=False); RMSprop(p); Adam(p, **options)",
        "x.double()",
        "for x in y:\n    loss.backward()\n    if n % 10 == 0:\n        print(loss.item())",
        "",
    ],
)
def test_what_costs_nothing_is_left(source: str) -> None:
    assert lines(source) == []


def test_float64_is_found_for_mps() -> None:
    assert lines("x = y.double()\nz = torch.zeros(1, dtype=torch.float64)", "mps") == [
        (1, "double"),
        (2, "float64"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--steps", "some", "x.py"], "--steps some: a whole number is needed"),
        (["--wat"], "--wat: no such option"),
        (["--steps"], "--steps: no such option, or without its value"),
        (["nowhere.py"], "nowhere.py: No such file"),
        (["bad.py"], "bad.py is no Python"),
        (["."], ".: Is a directory"),
    ],
)
def test_what_means_nothing_is_refused(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("for\n")
    assert doctor.main(["--perf", *words]) == 2
    assert said in capsys.readouterr().err


def test_what_was_suspected_is_measured_in_a_few_steps(tmp_path: Path) -> None:
    script = tmp_path / "prögram.py"
    script.write_text(PROGRAM, encoding="utf-8")
    env = environment(TDEV_BACKEND="sim")
    done = python("-m", "tdev", "doctor", "--perf", "--steps=4", script.name, env=env, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    (measured,) = [line for line in done.stdout.splitlines() if line.startswith("prögram.py:10  ")]
    assert ".item() in each step" in measured and "[0.75 × in a step, " in measured, (
        "3 of 4: it ends in the fourth"
    )
    assert any(
        line.startswith("prögram.py:12  item: the host waits") for line in done.stdout.splitlines()
    )
    assert not (tmp_path / "ended").exists()


def test_graph_breaks_have_their_lines() -> None:
    nothing = {"count": 0, "seconds": 0.0}
    seen = {
        "steps": 4, "seconds": {"forward": 0.1}, "waits": {}, "fallbacks": {}, "compiled": nothing,
        "breaks": [
            {"site": f"{Path('a.py').resolve()}:7", "why": "print", "count": 2},
            {"site": "/elsewhere/b.py:9", "why": "item", "count": 1},
        ],
    }  # fmt: skip
    here, elsewhere = perf._costs("a.py", [], seen)
    assert (here.line, here.cost) == (7, "2 ×") and here.what.endswith("its graph here: print")
    assert elsewhere.line == 0 and elsewhere.what.startswith("/elsewhere/b.py:9: ")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0", "could not be run: status 1: ZeroDivisionError"),
        ("x = 1", "could not be run: no optimizer has stepped"),
    ],
)
def test_a_script_that_cannot_be_measured_is_told(source: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(source)
    done = python(
        "-m", "tdev", "doctor", "--perf", "a.py", env=environment(TDEV_BACKEND="sim"), cwd=tmp_path
    )
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
