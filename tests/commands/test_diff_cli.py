"""``python -m tdev diff``: what it is told, what it runs, and with which status it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tdev_core.commands import diff_cli
from tdev_core.measure.comparing import compare, read
from tdev_core.measure.wish import VARIABLE, Wish
from tests.forkserver import environment, python

PROGRAMS = Path(__file__).parents[1] / "measure" / "programs"
PROGRAM = """
import sys, torch
x = torch.randn(4, 4, device="cuda", requires_grad=True)
more = 1.0
y = x.clamp(-more, more).sum()
y.backward()
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "cpu", "x.py"], "1 backends given, 2 needed"),
        (["--on", "cpu,gpu", "x.py"], "gpu: no backend. There are "),
        (["--steps", "some", "x.py"], "--steps needs a whole number"),
        (["--tolerance=-1", "x.py"], "none below 0"),
        (["--against", "nowhere", "x.py"], "--against nowhere: no such directory"),
        (["--wat", "x.py"], "unknown option --wat"),
        (["--on"], "--on needs a value"),
        (["--steps", "3"], "no script and no module given"),
    ],
)
def test_what_means_nothing_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diff_cli.main(words) == 2
    assert said in capsys.readouterr().err


def test_help_is_an_answer_and_nothing_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff_cli.main(["--help"]) == 0 and diff_cli.main([]) == 2
    assert capsys.readouterr().out.count("usage: python -m tdev diff") == 2


def test_a_program_that_fails_is_told_with_its_last_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "a script.py"
    script.write_text("raise SystemExit('no such data')\n")
    assert diff_cli.main(["--on", "cpu,sim", str(script)]) == 2
    assert "ended with status 1 on cpu:\n  no such data" in capsys.readouterr().err


def test_a_program_that_computes_nothing_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "nothing.py"
    script.write_text("pass\n")
    assert diff_cli.main(["--on", "cpu,sim", str(script)]) == 2
    assert "nothing to compare: no operator of torch has run" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_what_is_stopped_leaves_no_folder_and_no_program(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    script, begun, temporary = tmp_path / "long.py", tmp_path / "begun", tmp_path / "temporary"
    temporary.mkdir()
    script.write_text(
        "import os, pathlib, time, torch\n"
        "torch.ones(3).cuda() * 2\n"
        f"pathlib.Path({str(begun) + '.new'!r}).write_text(str(os.getpid()))\n"
        f"os.rename({str(begun) + '.new'!r}, {str(begun)!r})\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-m", "tdev", "diff", "--on", "cpu,sim", str(script)]
    env = environment(TMPDIR=str(temporary))
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, cwd=tmp_path) as started:
        while not begun.exists():
            assert started.poll() is None, started.communicate()
            time.sleep(0.05)
        started.send_signal(number)
        assert started.wait(60) == status
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
    assert not list(temporary.glob("tdev-*"))


def test_tdev_run_records_where_it_is_asked_to(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    sides = []
    for backend, most in (("cpu", 1.0), ("sim", 1.0), ("sim", 0.3)):
        script.write_text(PROGRAM.replace("more = 1.0", f"more = {most}"))
        folder = tmp_path / f"{backend}-{most}"
        folder.mkdir()
        wish = Wish(str(folder), None if backend == "cpu" else str(tmp_path / "cpu-1.0"))
        env = environment(TDEV_BACKEND=backend, **{VARIABLE: wish.text()})
        done = python("-m", "tdev", "run", str(script), env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        sides.append(read(folder))
    assert compare(sides[0], sides[1]).first is None
    first = compare(sides[0], sides[2]).first
    assert first is not None and first.key[0].site == "program.py:5"


@pytest.mark.deep  # four interpreters; the test before says what they record
def test_what_agrees_and_what_was_saved(tmp_path: Path) -> None:
    script, saved = tmp_path / "program.py", tmp_path / "saved"
    script.write_text(PROGRAM)
    command = ["-m", "tdev", "diff"]
    words = ["--on", "cpu,sim", "--save", str(saved), str(script)]
    done = python(*command, *words, env=environment(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "They agree." in done.stdout and list(saved.glob("*.jsonl"))
    script.write_text(PROGRAM.replace("more = 1.0", "more = 0.3"))
    done = python(
        *command, "--on=sim", "--against", str(saved), str(script), env=environment(), cwd=tmp_path
    )
    assert done.returncode == 1, done.stderr
    assert "The first difference: clamp of torch.Tensor.clamp in " in done.stdout
    assert "program.py:5, step 1, forward" in done.stdout


@pytest.mark.deep
@pytest.mark.parametrize("backend", ["sim", "mlx"])
@pytest.mark.parametrize(
    ("program", "planted", "named"),
    [
        ("gpt", "", ""),
        ("gpt", "gelu", "gelu of torch.nn.functional.gelu in "),
        ("gpt", "gelu_backward", "gelu_backward of torch.nn.functional.gelu in "),
        ("gpt", "native_layer_norm", "native_layer_norm of torch.nn.functional.layer_norm in "),
        ("gpt", "_foreach_sqrt", "step, GPT."),
        ("resnet", "", ""),
        ("resnet", "native_batch_norm", "native_batch_norm of torch.nn.functional.batch_norm in "),
        ("resnet", "max_pool2d_with_indices", "max_pool2d_with_indices of "),
        ("unet", "", ""),
        ("unet", "silu", "silu of torch.nn.functional.silu in "),
        ("unet", "native_group_norm_backward", "native_group_norm_backward of "),
        ("unet", "upsample_nearest2d", "upsample_nearest2d of "),
    ],
)
def test_an_error_that_was_planted_is_named(
    program: str, planted: str, named: str, backend: str
) -> None:
    if backend == "mlx":
        pytest.importorskip("mlx", reason="MLX is not installed; where it is, this runs")
    script = str(PROGRAMS / f"{program}.py")
    done = python(
        "-m", "tdev", "diff", "--on", f"cpu,{backend}", script,
        env=environment(PLANTED=planted), timeout=900,  # to end what hangs; minutes on a busy machine
    )  # fmt: skip
    assert done.returncode == bool(planted), done.stderr
    said = f"The first difference: {named}" if planted else "They agree."
    assert said in done.stdout


@pytest.mark.deep
def test_a_loss_in_float16_that_overflows_on_the_cpu_alone_is_named() -> None:
    pytest.importorskip("mlx", reason="MLX is not installed; where it is, this runs")
    script = str(PROGRAMS / "half.py")
    done = python("-m", "tdev", "diff", "--on", "cpu,mlx", script, env=environment(), timeout=900)
    assert done.returncode == 1, done.stderr
    said = "The first difference: nll_loss_forward of torch.nn.functional.cross_entropy in "
    assert said in done.stdout and "the worst element []: inf and 7.0" in done.stdout


OF_RANKS = """
import os, torch, torch.distributed as dist
from torch import nn
dist.init_process_group("nccl")
rank = dist.get_rank()
torch.manual_seed(rank)
off = os.environ.get("PLANTED") and rank == 1 and os.environ["TDEV_BACKEND"] == "sim"
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 2)).cuda())
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    x = torch.randn(4, 6).cuda()
    x = x.clamp(max=0.5 if off else 9.5)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
total = loss.detach().clone()
dist.all_reduce(total)
print(total.item())
dist.destroy_process_group()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="gloo's ranks are started by fork")
@pytest.mark.deep
@pytest.mark.parametrize("planted", ["", "clamp"])
def test_each_rank_is_compared_with_its_own(tmp_path: Path, planted: str) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(OF_RANKS)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = python(
        "-m", "tdev", "diff", "--on", "cpu,sim", *launcher, str(script),
        env=environment(PLANTED=planted), timeout=300,
    )  # fmt: skip
    assert done.returncode == bool(planted), done.stderr + done.stdout
    said = done.stdout.partition("\n\nThe worst")[0]
    if planted:
        assert "The first difference: clamp of torch.Tensor.clamp in " in said
        assert "main-rank1" in said
    else:
        assert "They agree." in said
