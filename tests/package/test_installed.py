"""The wheel, in an empty virtual environment, does what the README says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.package.conftest import ROOT, Run, environment
from tests.package.test_files import needs_compiler

CUDA_ONLY = """\
import torch

x = torch.arange(3.0, device="cuda")
print(x.cuda().add(1).tolist(), torch.cuda.is_available())
"""


def test_the_mirror_works(installed: Run) -> None:
    code = CUDA_ONLY.replace("import torch\n", "import tdev as torch\n")
    answer = installed("-c", code, TDEV_BACKEND="cpu")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "[1.0, 2.0, 3.0] False\n"


@needs_compiler
def test_calls_go_through_c(installed: Run) -> None:
    code = "import tdev; from tdev_core.shims import calls; print(calls.state(), type(tdev.zeros).__name__)"
    answer = installed("-c", code, TDEV_BACKEND="cpu")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "C Function\n"


def test_it_comes_from_the_wheel(installed: Run) -> None:
    answer = installed("-c", "import tdev, tdev_core; print(tdev.__file__, tdev_core.__file__)")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.count("site-packages") == 2
    assert str(ROOT) not in answer.stdout


def test_the_mirror_needs_none_of_the_extras(installed: Run) -> None:
    code = "import sys, tdev; print([m for m in ('libcst', 'rich', 'mlx', 'nbformat') if m in sys.modules])"
    answer = installed("-c", code)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "[]\n"


def test_the_codemod_says_what_to_install(installed: Run, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(CUDA_ONLY, encoding="utf-8")
    assert installed("-c", "import libcst").returncode != 0
    answer = installed("-m", "tdev.codemod", str(script))
    assert answer.returncode == 2
    assert "tdev[codemod]" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert script.read_text(encoding="utf-8") == CUDA_ONLY


def test_the_codemod_needs_no_torch(without_torch: Run, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(CUDA_ONLY, encoding="utf-8")
    assert without_torch("-c", "import torch").returncode != 0
    for start in (
        ["-m", "tdev.codemod"],
        ["-m", "tdev", "codemod"],
        command(without_torch, "tdev", "codemod"),
    ):
        answer = without_torch(*start, "--check", "--force", str(script))
        assert answer.returncode == 1, answer.stderr
        assert "would be rewritten" in answer.stdout + answer.stderr


def command(run: Run, name: str, *arguments: str) -> list[str]:
    """Return what to hand to a Python so that it runs an installed command."""
    found = run("-c", f"import shutil; print(shutil.which({name!r}))").stdout.strip()
    return [found, *arguments]


@pytest.mark.parametrize("start", [["tdev", "run", "x.py"], ["tdev.monitoring"]])
def test_without_torch_it_says_how_to_get_one(without_torch: Run, start: list[str]) -> None:
    answer = without_torch("-m", *start)
    assert answer.returncode == 2 and "Traceback" not in answer.stderr
    assert (
        answer.stderr.startswith("tdev: torch is not installed") and answer.stderr.count("\n") == 1
    )
    assert "--index-url https://download.pytorch.org/whl/cpu" in answer.stderr


def test_a_program_may_do_without_torch_and_tdev(without_torch: Run) -> None:
    optional = (
        "try:\n    import tdev as torch\n"
        "except ImportError as error:\n    torch = None\n"
        "    print(type(error).__name__, error.name, error)\n"
    )
    answer = without_torch("-c", optional)
    assert answer.returncode == 0 and answer.stderr == ""
    assert answer.stdout.startswith("ModuleNotFoundError torch torch is not installed")
    assert "--index-url https://download.pytorch.org/whl/cpu" in answer.stdout


def test_what_a_bug_report_needs_is_told_without_torch(without_torch: Run) -> None:
    answer = without_torch("-m", "tdev", "version")
    assert answer.returncode == 0, answer.stderr
    assert [line.split()[0] for line in answer.stdout.splitlines()] == [
        "tdev",
        "torch",
        "backend",
        "settings",
    ]
    assert "torch is not installed" in answer.stdout


def test_an_old_torch_is_refused_in_words(without_torch: Run, tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("__version__ = '2.4.1+cu121'\n")
    start = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tdev"
    said = without_torch("-c", start).stderr.splitlines()[-1]
    assert said.startswith("ImportError: torch 2.4.1+cu121 is older") and "2.11" in said


@pytest.mark.deep  # half a minute, nearly all of it pip; the parts are tested without a wheel
def test_the_codemod_and_run_agree(with_codemod: Run, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(CUDA_ONLY, encoding="utf-8")
    untouched = with_codemod("-m", "tdev", "run", str(script), TDEV_BACKEND="cpu")
    assert untouched.returncode == 0, untouched.stderr
    answer = with_codemod("-m", "tdev.codemod", str(script))
    assert answer.returncode in (0, 1), answer.stderr
    assert "tdev" in script.read_text(encoding="utf-8")
    migrated = with_codemod(str(script), TDEV_BACKEND="cpu")
    assert migrated.returncode == 0, migrated.stderr
    assert migrated.stdout == untouched.stdout == "[1.0, 2.0, 3.0] False\n"


@pytest.mark.deep  # the first command of the README does it as well
@pytest.mark.slow
def test_the_example_trains(with_codemod: Run, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    script = tmp_path / "examples" / "train_gpt.py"
    migrate = with_codemod("-m", "tdev.codemod", str(script))
    assert migrate.returncode in (0, 1), migrate.stderr
    options = ["--steps", "3", "--out", str(tmp_path / "out"), "--workers", "0"]
    answer = with_codemod(str(script), *options, TDEV_BACKEND="cpu")
    assert answer.returncode == 0, answer.stderr
    assert "validation loss" in answer.stdout


@pytest.mark.deep
def test_pip_fetches_what_the_wheel_requires(wheel: Path, tmp_path: Path) -> None:
    """From the package index, torch and all."""
    fetched = environment(tmp_path, f"{wheel}[codemod,torch]", linked=False)
    code = CUDA_ONLY.replace("import torch\n", "import tdev as torch\n")
    assert fetched("-c", code, TDEV_BACKEND="cpu").stdout == "[1.0, 2.0, 3.0] False\n"
    assert fetched("-m", "tdev.codemod", "--help").returncode == 0
    shutil.rmtree(tmp_path / "venv")  # gigabytes, which pytest would keep for a while
