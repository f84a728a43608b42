"""Command lines, places and warnings of ``tdev run``, case by case and in the test's own process."""

from __future__ import annotations

import sys
import sysconfig
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from tdev_core.backend import Backend, current
from tdev_core.errors import DeviceWarning
from tdev_core.run import cli, failing, launching, leftout, mainmodule, pytest_plugin, roots
from tdev_core.run.roots import Roots
from tdev_core.run.state import State
from tests.run.conftest import ROOT


@pytest.mark.parametrize(
    ("words", "target", "kind", "arguments", "more"),
    [
        ("main.py", "main.py", "script", (), {}),
        ("main.py -m x --no-cache", "main.py", "script", ("-m", "x", "--no-cache"), {}),
        ("-m pkg.mod a --root b", "pkg.mod", "module", ("a", "--root", "b"), {}),
        ("-mpkg.mod a", "pkg.mod", "module", ("a",), {}),
        ("-- main.py a", "main.py", "script", ("a",), {}),
        ("--no-cache -- -m mod", "mod", "module", (), {"cached": False}),
        ("--root . --root=.. main.py", "main.py", "script", (), {"roots": (".", "..")}),
        ("--root= main.py", "--root : no such directory", "script", (), None),
        (
            "--library a,b --libraries=c, --library= main.py",
            "main.py", "script", (), {"libraries": ("a", "b", "c")},
        ),
        ("--library=a", "no script and no module given", "script", (), None),
        ("--root=.", "no script and no module given", "script", (), None),
        ("--library", "--library needs the names", "script", (), None),
        ("--root", "--root needs a directory", "script", (), None),
        ("--mod x", "unknown option --mod", "script", (), None),
        ("-m", "-m needs the name of a module", "script", (), None),
        ("-c pass a -c", "pass", "text", ("a", "-c"), {}),
        ("-c", "-c needs a program", "script", (), None),
        ("-", "unknown option -", "script", (), None),
    ],
)  # fmt: skip
def test_a_command_line_is_a_request_or_refused(
    words: str,
    target: str,
    kind: Literal["script", "module", "text"],
    arguments: tuple[str, ...],
    more: dict[str, Any] | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[cli.Request] = []

    def noted(request: cli.Request) -> int:
        asked.append(request)
        return 0

    monkeypatch.setattr(cli, "_run", noted)
    status = cli.main(words.split())
    out, err = capsys.readouterr()
    assert out == ""
    if more is None:
        assert status == 2 and not asked and err.startswith(f"tdev run: {target}")
        return
    defaults: dict[str, Any] = {"roots": (), "libraries": (), "cached": True}
    assert (status, err) == (0, "")
    assert asked == [cli.Request(target, kind, arguments, **{**defaults, **more})]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State(()), ["-m", "tdev_core.run"]),
        (State((), mirror=True), ["-m", "tdev", "run"]),
        (State(("a", "b")), ["-m", "tdev_core.run", "--root", "a", "--root", "b"]),
        (State((), ("c", "d")), ["-m", "tdev_core.run", "--library", "c,d"]),
        (State((), cached=False), ["-m", "tdev_core.run", "--no-cache"]),
    ],
)
def test_a_child_is_told_what_its_parent_was(state: State, words: list[str]) -> None:
    assert state.runner() == words


@pytest.mark.parametrize("there", [False, True])
def test_children_of_a_test_have_the_mirror_where_it_has(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there:
        monkeypatch.setitem(sys.modules, "tdev", sys)
    else:
        monkeypatch.delitem(sys.modules, "tdev", raising=False)
    config: Any = SimpleNamespace(
        stash=pytest.Stash(),
        rootpath=tmp_path,
        inipath=None,
        getini=lambda name: [],
        known_args_namespace=SimpleNamespace(),
    )
    assert pytest_plugin._state(config).mirror is there
    assert pytest_plugin._state(config) is pytest_plugin._state(config)


# -- whose code ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stdlib", "platstdlib", "purelib", "platlib"])
def test_each_place_of_pythons_own_is_nobodys_program(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are four on some systems."""
    places = {one: str(tmp_path / one) for one in ("stdlib", "platstdlib", "purelib", "platlib")}
    monkeypatch.setattr(sysconfig, "get_paths", lambda: places)
    roots._standard_places.cache_clear()
    try:
        assert not roots.is_somebodys_own(f"{places[name]}/pkg/mod.py")
        assert not Roots([str(tmp_path)]).cover(f"{places[name]}/pkg/mod.py")
        assert roots.is_somebodys_own(str(tmp_path / "other" / "mod.py"))
        # What is installed and is the program itself:
        assert Roots([places[name]]).cover(f"{places[name]}/mod.py")
    finally:
        roots._standard_places.cache_clear()


def test_a_folder_is_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a folder of a library's name in the path has no part of it; an installed namespace is one."""
    (tmp_path / "spaced" / "inner").mkdir(parents=True)
    (tmp_path / "site-packages" / "installed" / "inner").mkdir(parents=True)
    (tmp_path / "one.py").write_text("")
    places = [str(tmp_path), str(tmp_path / "site-packages")]
    monkeypatch.setattr(sys, "path", [*sys.path, *places])
    assert roots.package_places("spaced") == ()
    installed = str(tmp_path / "site-packages" / "installed")
    assert roots.package_places("installed") == (installed,)
    assert roots.package_places("installed.inner") == (f"{installed}/inner",)
    assert roots.package_places("spaced.inner") == (str(tmp_path / "spaced" / "inner"),)
    assert roots.package_places("one") == (str(tmp_path / "one.py"),)
    assert roots.package_places("one.deeper") == roots.package_places("none") == ()


def test_lines_that_a_pth_file_runs_name_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, mine, other = (tmp_path / name for name in ("site-packages", "mine", "other"))
    for place in (site, mine, other):
        place.mkdir()
    runs = "".join(f"{start}x  # /../../other\n" for start in ("import ", "import\t", "# "))
    (site / "some.pth").write_text(f"{runs}\n{mine}\n{mine}/gone\n")
    monkeypatch.setattr(sys, "path", [str(site)])
    assert list(roots.editable()) == [str(mine)]


# -- what is said -----------------------------------------------------------------------------------

ASKS = "import torch\nx = 1\nx = torch.zeros(1).cuda()\n"


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("asks.py", ASKS, 3),
        ("asks.py", "import torch\ntorch.device('cuda:1')\n", 2),
        ("asks.pyc", ASKS, 0),
        ("quiet.py", "import torch\n  # torch.cuda\n", 0),
        ("others.py", "import cupy\ncupy.cuda.Device()\ncupy.array(1).cuda()\n", 0),
        ("gone.py", None, 0),
        (
            "speaks.py",
            'import torch\n\ndef f():\n    """Say ``torch.cuda.x()``, "cuda" or x.cuda()."""\n',
            0,
        ),
        (
            "types.py",
            'import torch\ndef f(x: "cuda") -> Literal["cpu", "cuda"]: ...\nD = Literal["cuda"]\n',
            0,
        ),
        ("words.py", 'import torch\nlog("cuda is not there")\n', 0),
        ("broken.py", "import torch\ntorch.cuda.x(\n", 0),
        ("imports.py", "import torch\nfrom torch.cuda.amp import autocast\n", 2),
        ("first.py", 'import torch\ndef f(d="cuda:1"):\n    return 1\ntorch.cuda.x()\n', 2),
    ],
)
def test_code_that_asks_for_cuda_is_named_once(
    file: str, text: str | None, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftout, "_named", set())
    path = tmp_path / "lib" / file
    path.parent.mkdir()
    if text is not None:
        path.write_text(text)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for module in ("pkg.mod", "pkg.mod", "pkg.other"):
            leftout.warn_of(module, str(path))
    assert [(one.category, one.filename, one.lineno) for one in seen] == (
        [(DeviceWarning, str(path), line)] if line else []
    )
    if line:
        assert str(seen[0].message).startswith("pkg asks for CUDA")
        assert f"--root {path.parent} " in str(seen[0].message)


def test_who_was_told_that_there_is_no_cuda_is_told_what_says_yes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Selection:
        denied = False

    lacks = RuntimeError("\"trace\" not implemented for 'Bool'")
    for denied in (False, True):
        Selection.denied = denied
        monkeypatch.setitem(sys.modules, "tdev_core.cuda.device_selection", Selection)
        for error in (None, ValueError(), lacks):
            failing.hint(error)
            said = capsys.readouterr().err
            assert ("TDEV_CUDA_AVAILABLE" in said) is denied
            on_cpu = current() is Backend.CPU
            assert ("compute it in int64 and cast back" in said) is (error is lacks and on_cpu)
            if error is not lacks:
                assert "kernel" not in said and said.count("tdev run:") == denied


@pytest.mark.parametrize(
    ("words", "through"),
    [
        ("main.py", True),
        ("-m mod x", True),
        ("-m package", True),
        ("-m torch.distributed.run main.py", True),  # the first word behind the module
        ("-m torch.distributed.run -n 2 main.py", True),
        ("-m torch.distributed.run other.py", False),
        ("-m tdev_core.run main.py", False),
        ("-m", False),
        ("-W error main.py", True),
        ("-X main.py", False),
        ("-", False),
    ],
)
def test_a_program_that_is_started_goes_through_the_runner(
    words: str, through: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("main.py", "mod.py", "package/__main__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, *words.split()]
    found = launching.through(command, ["-m", "runner"], Roots([str(tmp_path)]))
    assert (found != command) is through
    if through:
        assert [word for word in found if word not in ("runner",)].count("-m") == words.count(
            "-m "
        ) + 1


def test_the_first_place_to_look_is_the_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["before", "other"])
    mainmodule.set_first_path_entry("mine")
    assert sys.path == ["mine", "other"]
    assert mainmodule.first_path_entry(None) == str(Path.cwd())
    assert mainmodule.first_path_entry(str(ROOT / "setup.py")) == str(ROOT)
    assert mainmodule.first_path_entry(str(ROOT / "tests")) == str(ROOT / "tests")
