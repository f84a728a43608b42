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


def lines(source: str, backend: str = "mps") -> list[tuple[int, str]]:
    return [(one.line, one.what.split(":")[0]) for one in perf.static(source.encode(), backend)]


def test_what_is_suspected_has_its_line() -> None:
    assert lines(PROGRAM) == [
        (4, "AdamW without fused"), (5, "a DataLoader without workers"), (5, "pin_memory=True"), (10, ".item() in each step"),
    ]  # fmt: skip
    assert (4, "AdamW without fused") not in lines(PROGRAM, "mlx")
    assert (10, ".item() in each step") not in lines(PROGRAM, "cpu"), "nobody waits there"
    assert (5, "pin_memory=True") not in lines(PROGRAM, "cuda")


@pytest.mark.parametrize(
    "source",
    [
        "for x in y:\n    print(x.item())",  # no steps of a training
        "DataLoader(x, num_workers=2, pin_memory=flag)",
        "DataLoader(x, **options)",
        "AdamW(p, fused=True); SGD(p, foreach=False); RMSprop(p); Adam(p, **options)",
        "for x in y:\n    loss.backward()\n    if n % 10 == 0:\n        print(loss.item())",
        "",
    ],
)
def test_what_costs_nothing_is_left(source: str) -> None:
    assert lines(source) == []


def test_float64_is_found_for_mps() -> None:
    assert lines("x = y.double()", "mlx") == []
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
    assert "item: the host waits" in measured and "[0.75 × in a step, " in measured, (
        "3 of 4: it ends in the fourth"
    )
    assert any(
        line.startswith("prögram.py:12  print: the host waits") for line in done.stdout.splitlines()
    )
    assert not (tmp_path / "ended").exists()


ONCE = """
import torch
model = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(8))).cuda()
saved = [one.detach().cpu() for one in model.parameters()]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
for step in range(30):
    optimizer.zero_grad()
    model(torch.ones(2, 4, device="cuda")).sum().backward()
    optimizer.step()
"""


def test_what_is_done_many_times_but_in_one_step_is_no_cost_of_a_step(tmp_path: Path) -> None:
    script = tmp_path / "once.py"
    script.write_text(ONCE)
    env = environment(TDEV_BACKEND="sim", OMP_NUM_THREADS="1")
    done = python("-m", "tdev", "doctor", "--perf", str(script), env=env)
    assert "copy to the host" not in done.stdout + done.stderr, done.stdout
    assert done.returncode in (0, 1), done.stderr


def test_what_tdev_run_is_given_is_handed_on_to_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script, asked = tmp_path / "x.py", []

    def measured(words: list[str], steps: int) -> tuple[None, str]:
        asked.append((words, steps))
        return None, "no"

    script.write_text("pass\n")
    monkeypatch.setattr(perf, "_measured", measured)
    assert perf.main(["--library", "a,b", "--steps=3", "--root=src", str(script), "--lr"]) == 2
    assert asked == [(["--library", "a,b", "--root", "src", str(script), "--lr"], 3)]


def test_graph_breaks_have_their_lines() -> None:
    seen = {
        "steps": 4, "seconds": {"forward": 0.1}, "timeline": [{"seconds": [0.1]}], "waits": {}, "copies": {}, "fell": {},
        "made": [], "loads": {}, "recompiled": [], "threads": 1,
        "breaks": [
            {"site": f"{Path('a.py').resolve()}:7", "why": "print", "count": 2},
            {"site": "/elsewhere/b.py:9", "why": "item", "count": 1},
        ],
    }  # fmt: skip
    here, elsewhere = perf._costs("a.py", [], seen, "cpu")
    assert (here.line, here.cost) == (7, "2 ×") and here.what.endswith("its graph here: print")
    assert (elsewhere.path, elsewhere.line) == ("/elsewhere/b.py", 9)


WAITING = """\
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.ones(8)

def loader(**options):
    return DataLoader(Slow(), batch_size=4, pin_memory=True, **options)

def one_step(model, optimizer, x, seen):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    seen.append(loss.item())
    if sum(p.grad.norm() for p in model.parameters()) > 1e9:
        raise SystemExit
    seen.append(loss.detach().cpu())
    print("loss", loss)

model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
seen = []
for step, x in enumerate(loader(num_workers=0)):
    one_step(model, optimizer, x.cuda(), seen)
    if step % 10 == 9:
        seen.append(optimizer.param_groups[0]["params"][0].sum().item())
    length = torch.tensor(3).item()
"""
COMPILING = """\
import torch
torch.set_num_threads(64)
MADE = {"adamw": torch.optim.AdamW}
parts = [torch.nn.Linear(8, 8) for _ in range(20)]

def body(x, scale):
    x = x * 2
    print("mean")
    return x * scale

model = torch.nn.Sequential(*parts).cuda()
optimizer = MADE["adamw"](model.parameters(), lr=1e-3)
compiled = torch.compile(body, backend="eager", dynamic=False)
for step in range(100):
    loss = compiled(model(torch.ones(2 + step % 3, 8).cuda()), 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FALLING = """\
import torch
model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
for step in range(100):
    values = torch.linalg.svdvals(model(torch.randn(8, 8).cuda()).detach())
    loss = model(torch.ones(8, 8).cuda()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("backend", "source", "expected"),
    [
        (
            "sim",
            WAITING,
            {
                13: ("a DataLoader without workers", "pin_memory=True: sim gains nothing"),
                20: ("item: the host waits",),
                21: ("__bool__: the host waits",),
                23: ("a copy to the host: the host waits",),
                24: ("print: the host waits",),
            },
        ),
        (
            "cpu",
            COMPILING,
            {
                2: ("torch uses 64 threads on ",),
                6: ("torch.compile compiles this function again",),
                8: ("torch.compile leaves its graph here",),
                12: ("AdamW without fused",),
            },
        ),
        ("mlx", FALLING, {5: ("aten::_linalg_svd.U: runs on the CPU and comes back",)}),
    ],
)
def test_what_was_planted_is_found_by_its_line_and_nothing_else_is(
    backend: str, source: str, expected: dict[int, tuple[str, ...]], tmp_path: Path
) -> None:
    if backend == "mlx":
        pytest.importorskip("mlx", reason="MLX is not installed; where it is, this runs")
    (tmp_path / "a.py").write_text(source)
    env = environment(TDEV_BACKEND=backend)
    done = python("-m", "tdev", "doctor", "--perf", "--steps=12", "a.py", env=env, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found: dict[int, list[str]] = {}
    for line in done.stdout.splitlines():
        place, _, what = line.partition("  ")
        assert place.startswith("a.py:"), line
        assert what.endswith("]") or "pin_memory" in what, "what it costs"
        found.setdefault(int(place.removeprefix("a.py:")), []).append(what)
    assert list(found) == list(expected), done.stdout
    for number, starts in expected.items():
        assert all(any(what.startswith(one) for what in found[number]) for one in starts)


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
