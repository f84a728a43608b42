"""Libraries that choose the device: rewritten where they are named, warned of where they leave the accelerator.

A stand-in that chooses as accelerate does is always tried. The real ones are, where they are installed:
``pip install transformers accelerate lightning peft trl``.
"""

from __future__ import annotations

import ast
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from tests import forkserver
from tests.run.library_programs import NEEDED, PROGRAMS

CHOOSER = """\
import torch


class Trainer:
    def __init__(self, model):
        if torch.cuda.is_available():
            self.device = torch.device("cuda", 0)
            torch.cuda.set_device(self.device)
        else:
            self.device = torch.device("cpu")
        self.model = model.to(self.device)

    def fit(self, x):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        losses = []
        for _ in range(3):
            loss = self.model(x.to(self.device)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(round(loss.item(), 5))
        return losses
"""
WRAPPER = """\
import torch


class Module(torch.nn.Linear):
    def to(self, *args, **kwargs):
        return super().to(*args, **kwargs)
"""
PROGRAM = """\
import torch
import chooser, wrapper
import warnings

warnings.simplefilter("default")
torch.manual_seed(0)
model = wrapper.Module(4, 1){}
x = torch.randn(8, 4)
trainer = chooser.Trainer(model)
chooser.Trainer(model)
losses = trainer.fit(x)
device = next(model.parameters()).device
wrapper.Module(4, 1).cuda().to("cpu")  # the program's own wish
print("RESULT", device, losses)
"""


# As transformers asks: each question imports torch for itself, and stands beside those for other accelerators.
QUESTIONS = """\
def is_cuda_available():
    import torch

    return torch.cuda.is_available()


def is_xpu_available():
    import torch

    return torch.xpu.is_available()


def bf16():
    import torch

    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    return bool(torch.backends.mps.is_available())


def device():
    if is_cuda_available():
        return "cuda"
    elif is_xpu_available():
        return "xpu"
    return "cpu"
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program's folder, beside which two libraries are installed."""
    site = tmp_path / "lib" / "site-packages"
    for name, source in {"chooser": CHOOSER, "wrapper": WRAPPER}.items():
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text(source)
    (tmp_path / "app").mkdir()
    return tmp_path / "app"


def start(
    program: Path, backend: str, *options: str, way: tuple[str, ...] = ("-m", "tdev", "run")
) -> subprocess.CompletedProcess[str]:
    cache = str(program.parent / "cache")
    env = forkserver.environment(TDEV_BACKEND=backend, TDEV_CACHE_DIR=cache)
    env["PYTHONPATH"] += os.pathsep + str(program.parent / "lib" / "site-packages")
    env["HF_HUB_OFFLINE"] = "1"
    way = (*way, *options, "main.py")
    preload = forkserver.COMPILER
    return forkserver.python(*way, env=env, cwd=program, timeout=500, preload=preload)


def result(done: subprocess.CompletedProcess[str]) -> tuple[str, list[float]]:
    """Return where the model was, and the losses, of what a program printed last."""
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    _, where, losses = line.split(" ", 2)
    return where, ast.literal_eval(losses)


@pytest.mark.parametrize("backend", ["sim", pytest.param("mlx", marks=pytest.mark.deep)])
def test_a_library_that_is_named_sees_the_accelerator(program: Path, backend: str) -> None:
    (program / "main.py").write_text(PROGRAM.format(""))
    reference = result(start(program, "cpu", "--library", "chooser"))
    done = start(program, backend, "--library", "chooser,wrapper")
    where, losses = result(done)
    assert where == f"{backend}:0" and "Warning" not in done.stderr
    assert reference[0] == "cpu" and losses == pytest.approx(reference[1], rel=1e-5)


def test_questions_beside_other_accelerators_have_the_answer_that_the_program_has(
    program: Path,
) -> None:
    library = program.parent / "lib" / "site-packages" / "questions"
    library.mkdir()
    (library / "__init__.py").write_text(QUESTIONS)
    (program / "main.py").write_text(
        "import torch\nimport questions\n"
        "print(torch.cuda.is_available(), questions.is_cuda_available(), questions.bf16(), questions.device())\n"
    )
    for backend, said in (("sim", "True True True cuda"), ("cpu", "False False False cpu")):
        done = start(program, backend, "--library", "questions")
        assert done.stdout.split() == said.split(), done.stderr


@pytest.mark.parametrize("move", ["", ".cuda()"])
def test_a_library_that_is_not_named_is_warned_of_once(program: Path, move: str) -> None:
    (program / "main.py").write_text(PROGRAM.format(move))
    if torch.cuda.is_available():
        pytest.skip("the library finds a GPU of its own beside the simulated one")
    done = start(program, "sim")
    assert result(done)[0] == "cpu"
    line = 1 + CHOOSER.splitlines().index("        self.model = model.to(self.device)")
    assert done.stderr.count("Warning") == 1, done.stderr
    assert (
        f"chooser{os.sep}__init__.py:{line}: DeviceWarning: chooser puts a model on the CPU"
        in done.stderr
    )
    assert "python -m tdev run --library chooser …" in done.stderr


@pytest.mark.deep  # four programs; the runner's warning is tested above
def test_the_warning_comes_without_the_runner_and_knows_who_was_migrated(program: Path) -> None:
    (program / "main.py").write_text(
        PROGRAM.format("").replace("import torch", "import tdev as torch")
    )
    done = start(program, "sim", way=())
    assert result(done)[0] == "cpu" and done.stderr.count("chooser puts a model") == 1
    migrated = program.parent / "lib" / "site-packages" / "chooser" / "__init__.py"
    migrated.write_text(
        "import tdev as torch\n"
        + CHOOSER.replace("cuda.is_available()", "is_complex(torch.ones(1))").replace(
            "import torch\n", "", 1
        )
    )
    done = start(program, "sim", way=())
    assert result(done)[0] == "cpu" and "Warning" not in done.stderr


def test_on_the_cpu_nothing_is_said(program: Path) -> None:
    (program / "main.py").write_text(PROGRAM.format(".cuda()"))
    assert "Warning" not in start(program, "cpu").stderr


@pytest.mark.deep
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("backend", ["sim", "mlx"])
def test_a_real_library(program: Path, name: str, backend: str) -> None:
    """Trains on the accelerator, and learns what it learns on the CPU."""
    missing = [library for library in NEEDED[name] if find_spec(library) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; pip install {' '.join(missing)}")
    (program / "main.py").write_text(PROGRAMS[name])
    way: tuple[str, ...] = ("-m", "tdev", "run", "--library", ",".join(NEEDED[name]))
    if name == "accelerate launch":
        way = (
            *way,
            "-m",
            "accelerate.commands.launch",
            "--num_processes",
            "1",
            "--num_machines",
            "1",
            "--mixed_precision",
            "no",
            "--dynamo_backend",
            "no",
        )
    reference = result(start(program, "cpu", way=way))[1]
    where, losses = result(start(program, backend, way=way))
    assert where == f"{backend}:0"
    assert len(losses) > 3 and losses == pytest.approx(reference, rel=2e-3)
