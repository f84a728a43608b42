"""``python -m tdev tune``: what it is told, what it runs, what it says, and with which status it ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tdev_core.commands import tune_cli
from tdev_core.measure.tuning.racing import Race
from tests.forkserver import environment, python

PROGRAM = """
import sys, time
import torch
nap, steps = float(sys.argv[1]), int(sys.argv[2])
model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
for step in range(steps):
    optimizer.zero_grad()
    model(torch.ones(2, 4, device="cuda")).square().sum().backward()
    time.sleep(nap)
    optimizer.step()
open("ended", "a").write("x")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "prögram.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "gpu", "--", "x.py"], "--on gpu: no backend. There are "),
        (["--seconds", "soon", "--", "x.py"], "--seconds soon: a number above 0 is needed"),
        (["--seconds=inf", "--", "x.py"], "a number above 0"),
        (["--only", "luck", "x.py"], "--only luck: no setting. There are optimizer"),
        (["--clock", "sun", "x.py"], "--clock sun: no such clock"),
        (["--vary", "a=1", "x.py", "{a}"], "it needs a name and two values"),
        (["--vary", "a=1,2", "x.py"], "{a} is nowhere in the program's arguments"),
        (["--wat", "x.py"], "unknown option --wat"),
        (["--on"], "--on needs a value"),
        (["--", "python", "nowhere.py"], "nowhere.py: no such file"),
        (["--", "python", "-u", "nowhere.py"], "-u: options of the interpreter"),
        (["--"], "no script and no module given"),
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
    (tmp_path / "x.py").touch()
    assert tune_cli.main(words) == 2
    assert said in capsys.readouterr().err


def test_help_is_an_answer_and_nothing_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune_cli.main(["--help"]) == 0 and tune_cli.main([]) == 2
    out = capsys.readouterr().out
    assert out.count("usage: python -m tdev tune") == 2 and "channels_last, " in out


def tuned(script: Path, *words: str, backend: str = "sim") -> tuple[int, str, str]:
    done = python(
        "-m", "tdev", "tune", "--on", backend, *words, env=environment(), cwd=script.parent
    )
    return done.returncode, done.stdout, done.stderr


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes are handed on as POSIX does")


@pytest.mark.parametrize("backend", ["sim", "mlx"])
def test_a_program_is_told_what_helps_and_is_not_let_end(script: Path, backend: str) -> None:
    if backend == "mlx":
        pytest.importorskip("mlx", reason="MLX is not installed; where it is, this runs")
    words = [
        "--only",
        "set_to_none",
        "--vary",
        "nap=0.15,0.0",
        "--",
        "python",
        script.name,
        "{nap}",
        "100000",
    ]
    status, out, err = tuned(script, *words, backend=backend)
    assert status == 0, err
    assert f"prögram.py on {backend}: " in out
    assert "helps          nap = 0.0" in out and "only you can use nap" in out
    assert "mean losses agree: " in out
    assert "set_to_none = false" in out
    assert not (script.parent / "ended").exists()
    text = (script.parent / "tdev-tune.toml").read_text(encoding="utf-8")
    assert '"nap" = "0.0"' in text and f'backend = "{backend}"' in text


def test_a_program_that_ends_is_started_again(script: Path) -> None:
    # Steps so long that each is a block of its own: a race takes 22 of them at least, on whatever machine.
    words = ["--only", "optimizer", "--", "python", script.name, "0.1", "11"]
    status, out, err = tuned(script, *words)
    assert status == 0, err
    assert "optimizer = fused" in out and "nothing helps" in out
    assert (script.parent / "ended").read_text().startswith("xx")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise SystemExit('no such data')", "no such data"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("print('done')", "the program ends before its optimizer has stepped 2 times"),
        (
            PROGRAM.replace("sys.argv[2]", "1"),
            "the program ends before its optimizer has stepped 2 times",
        ),
    ],
)
def test_a_program_that_cannot_be_measured_is_told(script: Path, source: str, said: str) -> None:
    script.write_text(source)
    status, _, err = tuned(script, "--", "python", script.name, "0", "1")
    assert status == 2 and said in err and "Traceback" not in err
    assert not (script.parent / "tdev-tune.toml").exists()


def test_a_setting_with_which_the_program_fails_is_told(script: Path) -> None:
    words = [
        "--only",
        "set_to_none",
        "--vary",
        "nap=0.0,nothing",
        "--",
        script.name,
        "{nap}",
        "100000",
    ]
    status, out, err = tuned(script, *words)
    assert status == 0, err
    assert "fails          nap = nothing" in out and "could not convert string to float" in out


def test_beside_a_terminal_each_race_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with tune_cli._Screen() as screen:
        screen("optimizer = fused, optimizer = foreach", 0, 2, None)
        for _ in range(5):
            for name in ("optimizer = fused", "optimizer = foreach"):
                screen(name, 0, 2, Race([1.0]))
        screen("all of them together", 2, 2, None)
    first, last = capsys.readouterr().err.splitlines()
    assert first == "tdev tune: 1 of 2: optimizer = fused, optimizer = foreach …"
    assert last.startswith("tdev tune: all of them together, about ")
