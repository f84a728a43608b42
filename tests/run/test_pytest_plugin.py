"""``pytest -p tdev.pytest_plugin``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import forkserver
from tests.run.conftest import Run

TEST = """\
import torch
from helper import answer


def test_fine():
    assert torch.cuda.synchronize() == answer() == "mirrored"


def test_failing(tmp_path):
    left = [torch.cuda.synchronize(), 2]
    assert left == [
        "mirrored",
        3,
    ]
"""
HELPER = "import torch\n\n\ndef answer():\n    return torch.cuda.synchronize()\n"


@pytest.fixture
def suite(app: Path) -> Path:
    (app / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (app / "conftest.py").write_text(
        "import torch\n\n\ndef pytest_report_header():\n    return 'conftest ' + torch.cuda.synchronize()\n"
    )
    (app / "helper.py").write_text(HELPER)
    (app / "test_it.py").write_text(TEST)
    return app


def run_pytest(python: Run, suite: Path, *arguments: str) -> tuple[int, str]:
    plugin = ["-p", "tdev_core.run.pytest_plugin", "-p", "no:cacheprovider"]
    # Other plugins of this environment have no part in this and take seconds to load.
    done = python("-m", "pytest", *plugin, *arguments, cwd=str(suite))
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_tests_and_helpers_are_rewritten_and_asserts_still_explain(
    suite: Path, python: Run, mode: str
) -> None:
    extra = [] if mode == "prepend" else ["-o", "pythonpath=."]
    for _ in range(2):  # the second time from the cache
        status, said = run_pytest(python, suite, f"--import-mode={mode}", *extra)
        assert status == 1 and "1 failed, 1 passed" in said, said
        assert "conftest mirrored" in said
        assert f"tdev: rewriting modules below {suite}" in said
        assert "At index 1 diff: 2 != 3" in said  # pytest's own explanation
        assert "left = [torch.cuda.synchronize(), 2]" in said  # the lines of the file
        assert "test_it.py:11: AssertionError" in said
    assert not list(suite.rglob("__pycache__"))


def test_without_assertion_rewriting(suite: Path, python: Run) -> None:
    status, said = run_pytest(python, suite, "--assert=plain")
    assert status == 1 and "1 failed, 1 passed" in said and "At index 1 diff" not in said


def test_worker_processes(suite: Path, python: Run) -> None:
    status, said = run_pytest(python, suite, "-p", "xdist", "-n", "2")
    assert status == 1 and "1 failed, 1 passed" in said and "At index 1 diff: 2 != 3" in said


def test_more_directories(suite: Path, python: Run) -> None:
    lib = suite.parent / "lib"
    lib.mkdir()
    (suite / "helper.py").rename(lib / "helper.py")
    (suite / "test_it.py").write_text(TEST[: TEST.index("def test_failing")])
    ini = 'pythonpath = ["../lib"]\n'
    (suite / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{ini}")
    status, said = run_pytest(python, suite)
    assert status == 1 and "not mirrored" in said
    (suite / "pyproject.toml").write_text(
        f'[tool.pytest.ini_options]\n{ini}tdev_roots = ["../lib"]\n'
    )
    assert run_pytest(python, suite)[0] == 0


def test_modules_by_name(suite: Path, python: Run) -> None:
    """An installed package with its tests beside it, as a ``src/`` layout has them."""
    site = suite.parent / "lib" / "site-packages"
    (site / "installed").mkdir(parents=True)
    (site / "installed" / "__init__.py").write_text(HELPER)
    (suite / "test_it.py").write_text(
        "from installed import answer\n\n\ndef test_it():\n    assert answer() == 'mirrored'\n"
    )
    settings = f"[tool.pytest.ini_options]\npythonpath = [{str(site)!r}]\n"
    (suite / "pyproject.toml").write_text(settings)
    assert run_pytest(python, suite)[0] == 1
    for more in ('tdev_roots = ["installed"]\n', '[tool.tdev]\nlibraries = ["installed"]\n'):
        (suite / "pyproject.toml").write_text(settings + more)
        done = python(
            *("-m", "pytest", "-p", "tdev_core.run.pytest_plugin", "-p", "no:cacheprovider"),
            cwd=str(suite),
            env=on_path(python, site),
        )
        assert done.returncode == 0 and "; and installed" in done.stdout, done.stdout + done.stderr


def on_path(python: Run, folder: Path) -> dict[str, str]:
    import json

    told = python("-c", "import json, os; print(json.dumps(dict(os.environ)))")
    env: dict[str, str] = json.loads(told.stdout)
    return {**env, "PYTHONPATH": os.pathsep.join([env["PYTHONPATH"], str(folder)])}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('tdev_roots = ["src"]', "tdev_roots: 'src' is neither a directory"),
        ('tdev_roots = ["nowhere_at_all"]', "tdev_roots: 'nowhere_at_all' is neither a directory"),
        ('[tool.tdev]\nlibraries = ["nowhere"]', "tdev: nowhere: no module of this name"),
        ("[tool.tdev]\nlibraries = 3", "tdev: "),
    ],
)
def test_what_cannot_be_found_is_refused(
    suite: Path, python: Run, settings: str, words: str
) -> None:
    (suite / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{settings}\n")
    status, said = run_pytest(python, suite)
    assert status == 4 and words in said, said
    assert "Traceback" not in said and "INTERNALERROR" not in said


def test_a_failure_in_code_that_runs_as_it_is_says_so(suite: Path, python: Run) -> None:
    lib = suite.parent / "lib"
    lib.mkdir()
    failing = "def answer():\n    raise AssertionError('Torch not compiled with CUDA enabled')\n"
    (lib / "outside.py").write_text(failing)
    (suite / "inside.py").write_text(failing)
    (suite / "test_it.py").write_text(
        "import pytest, outside, inside\n\n\n"
        "def test_outside():\n    outside.answer()\n\n\ndef test_inside():\n    inside.answer()\n\n\n"
        "@pytest.mark.skip(reason='needs a GPU')\ndef test_gpu(): ...\n\n\n"
        "@pytest.mark.skip(reason='no network')\ndef test_network(): ...\n\n\n"
        "@pytest.mark.xfail(strict=True)\ndef test_that_fails_by_passing(): ...\n"
    )
    (suite / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["../lib"]\n')
    status, said = run_pytest(python, suite)
    assert status == 1 and said.count("runs as it is") == 1, said
    assert f"outside ({lib / 'outside.py'}) runs as it is" in said
    assert 'tdev_roots = ["outside"]' in said


def test_the_header_and_the_skipped(tmp_path: Path) -> None:
    """With the real mirror: where the tests run, and what would run those that want CUDA."""
    (tmp_path / "test_it.py").write_text(
        "import os, pytest, torch\n\n\n"
        "@pytest.mark.skipif('TDEV_BACKEND' not in os.environ, reason='needs a GPU')\n"
        "def test_gpu():\n    assert torch.ones(2, device='cuda').sum() == 2\n\n\n"
        "@pytest.mark.skip(reason='no network')\ndef test_network(): ...\n"
    )
    arguments = ("-m", "pytest", "-p", "tdev.pytest_plugin", "-p", "no:cacheprovider", "test_it.py")
    cache = {"TDEV_CACHE_DIR": str(tmp_path / "cache"), "TDEV_SIM_DEVICES": "2"}
    cache["CUDA_VISIBLE_DEVICES"] = ""
    plain = forkserver.python(*arguments, cwd=tmp_path, env=forkserver.environment(**cache))
    assert "tdev: backend cpu (torch finds neither CUDA nor MPS)\n" in plain.stdout, plain.stderr
    assert "tdev: 1 test was skipped for want of CUDA. TDEV_BACKEND=sim runs them" in plain.stdout
    env = forkserver.environment(TDEV_BACKEND="sim", **cache)
    on_sim = forkserver.python(*arguments, cwd=tmp_path, env=env)
    assert "tdev: backend sim (TDEV_BACKEND=sim), 2 devices\n" in on_sim.stdout
    assert "1 passed, 1 skipped" in on_sim.stdout and "want of CUDA" not in on_sim.stdout


def test_spawned_children_of_a_test(suite: Path, python: Run) -> None:
    (suite / "test_it.py").write_text(
        "import multiprocessing as mp\n"
        "from helper import answer\n\n\n"
        "def test_it():\n"
        "    with mp.get_context('spawn').Pool(1) as pool:\n"
        "        assert pool.apply(answer) == 'mirrored'\n"
    )
    status, said = run_pytest(python, suite)
    assert status == 0, said


def test_a_syntax_error_is_told_as_pytest_tells_it(suite: Path, python: Run) -> None:
    (suite / "test_it.py").write_text("import torch\ntorch.cuda.synchronize()\nx = = 1\n")
    status, said = run_pytest(python, suite)
    assert status == 2 and 'test_it.py", line 3' in said and "SyntaxError" in said


def test_it_takes_itself_out_again(suite: Path, python: Run) -> None:
    """A run inside a process (an editor's, a test's) leaves the process as it was."""
    probe = (
        "import sys, multiprocessing.spawn as s, pytest\n"
        "before = [*sys.meta_path], s.get_preparation_data\n"
        "status = pytest.main(['-q', '-p', 'tdev_core.run.pytest_plugin', '-k', 'fine'])\n"
        "from tdev_core.run.importer import Finder\n"
        "print('left', [f for f in sys.meta_path if isinstance(f, Finder)], "
        "s.get_preparation_data is before[1], int(status))\n"
    )
    done = python("-c", probe, cwd=str(suite))
    assert done.stdout.rstrip().endswith("left [] True 0"), done.stdout + done.stderr


def test_devices_in_parameters(suite: Path, python: Run) -> None:
    """pytest rewrites the assertions afterwards; also of a module that says nothing of CUDA."""
    (suite / "test_it.py").write_text(
        "from types import SimpleNamespace as Thing\n\n\n"
        "def test_kind():\n    device, kind = Thing(type='cpu'), 'cpu'\n"
        "    assert device.type == kind\n    kind = 'xpu'\n"
        "    assert device.type == kind, 'as it should'\n"
    )
    for _ in range(2):  # the second time from the cache
        status, said = run_pytest(python, suite)
        assert status == 1 and "test_it.py:8: AssertionError" in said and "as it should" in said, (
            said
        )
        assert ">       assert device.type == kind, 'as it should'" in said
        assert "('cpu', 'xpu')" in said  # asked, and explained


def test_scripts_that_tests_start_are_rewritten_too(suite: Path, python: Run) -> None:
    (suite / "script.py").write_text("import torch\nprint(torch.cuda.synchronize())\n")
    (suite / "test_it.py").write_text(
        "import subprocess\nimport sys\n\n\n"
        "def test_script():\n"
        "    done = subprocess.run([sys.executable, 'script.py'], capture_output=True, text=True)\n"
        "    assert done.stdout == 'mirrored\\n', done.stderr\n"
    )
    status, said = run_pytest(python, suite)
    assert status == 0, said
