"""The README's commands exist, parse, and are the ones that CI runs; pages are complete."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tdev_core.settings import FLAGS
from tests.forkserver import environment, python
from tools import supported

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def command_under(heading: str) -> str:
    """The one command line in the first fenced block under a heading."""
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    block = re.search(r"^```\w*\n(.*?)^```", section, flags=re.M | re.S)
    assert block is not None, f"no fenced block under {heading}"
    lines = [s for s in block[1].splitlines() if s.strip() and not s.strip().startswith("#")]
    assert len(lines) == 1, f"{heading} must be one command line: {lines}"
    return lines[0]


@pytest.mark.parametrize("heading", ["Try it", "Run the tests"])
def test_the_command_is_a_script_of_ours(heading: str) -> None:
    python, script, *rest = shlex.split(command_under(heading))
    assert python == "python3"
    assert (ROOT / script).is_file()
    assert rest == []
    answer = subprocess.run(
        [sys.executable, script, "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    assert script in answer.stdout


def test_ci_runs_what_the_readme_says() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [s for s in lines if s.strip() and not s.startswith(("#", "set ", "cd "))]
    assert commands == [f"exec {command_under('Run the tests')}"]


def test_python_in_the_readme_parses() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README, flags=re.M | re.S)
    assert blocks
    for block in blocks:
        ast.parse(block)


def test_the_migrated_program_of_the_readme_runs() -> None:
    before, after, *_ = re.findall(r"^```python\n(.*?)^```", README, flags=re.M | re.S)
    imports = [line for line in before.splitlines() if line.startswith(("import ", "from "))]
    assert len(imports) == len(after.splitlines())
    program = after + "\n".join(before.splitlines()[len(imports) :])
    answer = python("-c", program, env=environment(TDEV_BACKEND="cpu"))
    assert answer.returncode == 0, answer.stderr
    loss, peak = answer.stdout.split()
    assert 0 < float(loss) < 10
    assert int(peak) > 0


@pytest.mark.parametrize("backend", ["cpu", "sim", "mlx"])
def test_the_untouched_program_of_the_readme_runs(backend: str, tmp_path: Path) -> None:
    """By the first commands of the README alone."""
    if backend == "mlx":
        pytest.importorskip("mlx.core", reason="MLX is not installed: pip install 'tdev[mlx]'")
    pytest.importorskip("libcst", reason="`tdev run` needs libcst: pip install 'tdev[codemod]'")
    commands = re.findall(
        r"^(?:TDEV_BACKEND=(\w+) )?python -m tdev run train\.py", README, flags=re.M
    )
    assert commands == ["", "sim", "mlx"]
    before, *_ = re.findall(r"^```python\n(.*?)^```", README, flags=re.M | re.S)
    (tmp_path / "train.py").write_text(before)
    env = environment(TDEV_BACKEND=backend, TDEV_CACHE_DIR=str(tmp_path / "cache"))
    answer = python("-m", "tdev", "run", "train.py", env=env, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    loss, peak = answer.stdout.split()
    assert 0 < float(loss) < 10 and int(peak) > 0


def test_links_of_the_readme_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("script", ["tools/try_it.py", "tools/run_tests.py", "tools/supported.py"])
def test_an_old_python_can_parse_what_refuses_it(script: str) -> None:
    ast.parse((ROOT / script).read_text(encoding="utf-8"), feature_version=(3, 4))


@pytest.mark.parametrize(
    ("version", "status", "said"),
    [
        ((3, 9), 2, "tdev needs Python 3.10 or newer"),
        ((3, 10), 0, ""),
        ((3, 13), 0, ""),
        ((3, 14), 0, "newer than what tdev has been run on, 3.10 to 3.13; going on"),
    ],
)
def test_an_old_python_is_refused_in_words_and_a_new_one_told_of(
    version: tuple[int, int], status: int, said: str
) -> None:
    code = (
        f"import sys; sys.version_info = {version} + (0, 'final', 0); sys.path.insert(0, {str(ROOT)!r});"
        " from tools import supported; supported.check()"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == status
    assert said in answer.stderr and bool(said) is bool(answer.stderr)
    assert "Traceback" not in answer.stderr


def test_every_place_names_the_same_pythons() -> None:
    """pip refuses no newer one; a classifier claims what has been run, and CI runs that at every change."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">=3.{supported.OLDEST[1]}"\n' in project
    run = [f"3.{minor}" for minor in range(supported.OLDEST[1], supported.NEWEST[1] + 1)]
    assert re.findall(r"Python :: (3\.\d+)", project) == run
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert f"python: {json.dumps(run)}" in workflow


def settings_of_the_code() -> set[str]:
    """Every variable of ours that the library reads from the environment."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tdev_core").rglob("*.py")]
    reads = r"environ(?:\.get\(|\[)\s*\"(TDEV_\w+)\""
    return {name for source in sources for name in re.findall(reads, source)} | set(FLAGS)


def test_the_guide_lists_every_setting() -> None:
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(TDEV_\w+)` \|", guide, flags=re.M))
    assert listed == settings_of_the_code()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *["docs/" + n for n in PAGES]])
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8"))
    missing = [link for link in links if not (path.parent / link).exists()]
    assert not missing


COMMANDS = {
    "tdev.codemod": "tdev.codemod",
    "tdev codemod": "tdev.codemod",
    "tdev run": "tdev run",
    "tdev matrix": "tdev matrix",
}


@pytest.mark.parametrize("command", ["tdev.codemod", "tdev run", "tdev matrix"])
def test_options_in_the_pages_exist(command: str) -> None:
    pages = [README, *((ROOT / "docs" / page).read_text(encoding="utf-8") for page in PAGES)]
    spelled = "|".join(re.escape(text) for text, meant in COMMANDS.items() if meant == command)
    written = {
        option
        for page in pages
        for line in re.findall(rf"(?:{spelled}) ([^#`\n]*)", page)
        for option in re.findall(r"(?<!\S)--[a-z-]+", line.partition(" -m ")[0].partition(".py")[0])
    }
    done = python("-m", *command.split(), "--help", env=environment(TDEV_BACKEND="cpu"))
    assert done.returncode == 0 and written
    assert written <= set(re.findall(r"--[a-z-]+", done.stdout))
