"""Processes that a program starts through ``multiprocessing``, and its modules elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.conftest import Run

PROGRAM = """\
import multiprocessing as mp
import sys

import torch
import beside


class Box:
    def __init__(self, value):
        self.value = value


def work(box):
    box.value = (torch.cuda.synchronize(), beside.answer(), sys.argv[1:], __name__, box.value)
    return box


def nest(box):
    with mp.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, (box,))


if __name__ == "__main__":
    with mp.get_context(METHOD).Pool(1) as pool:
        print(pool.apply(work, (Box(1),)).value)
    executor = mp.get_context(METHOD).Process(target=nest, args=(Box(2),))
    executor.start()
    executor.join()
    print(executor.exitcode)
"""
BESIDE = "import torch\n\n\ndef answer():\n    return torch.cuda.synchronize()\n"


@pytest.mark.parametrize(
    ("method", "name"),
    [("spawn", "__mp_main__"), ("forkserver", "__mp_main__"), ("fork", "__main__")],
)
@pytest.mark.parametrize("way", ["script", "module"])
def test_children_set_themselves_up_again(
    app: Path, run: Run, monkeypatch: pytest.MonkeyPatch, method: str, name: str, way: str
) -> None:
    (app / "main.py").write_text(PROGRAM.replace("METHOD", repr(method)))
    (app / "beside.py").write_text(BESIDE)
    monkeypatch.chdir(app)
    target = ["main.py"] if way == "script" else ["-m", "main"]
    done = run(*target, "a", "--b")
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        str(("mirrored", "mirrored", ["a", "--b"], name, 1)),
        "0",
    ]


def test_a_package_that_is_run_is_not_run_again_in_its_children(
    app: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (app / "pkg").mkdir()
    (app / "pkg/__init__.py").write_text("")
    (app / "pkg/work.py").write_text(BESIDE)
    (app / "pkg/__main__.py").write_text(
        "import multiprocessing as mp\n"
        "from pkg.work import answer\n"
        "print('main', mp.get_context('spawn').Pool(1).apply(answer))\n"
    )
    monkeypatch.chdir(app)
    done = run("-m", "pkg")
    assert (done.stdout, done.returncode) == ("main mirrored\n", 0), done.stderr


def test_a_childs_exception_shows_the_files_lines(app: Path, run: Run) -> None:
    (app / "main.py").write_text(
        "import multiprocessing as mp\nimport torch\n\n\n"
        "def fail():\n    raise ValueError(torch.cuda.synchronize())\n\n\n"
        "if __name__ == '__main__':\n"
        "    child = mp.get_context('spawn').Process(target=fail)\n"
        "    child.start()\n    child.join()\n    print(child.exitcode)\n"
    )
    done = run("../app/main.py")
    assert done.stdout == "1\n"
    assert 'main.py", line 6, in fail\n    raise ValueError(torch' in done.stderr
    assert done.stderr.endswith("ValueError: mirrored\n")


def test_roots(app: Path, run: Run, environment: dict[str, str]) -> None:
    """Beside the script, and where ``--root`` says; never in ``site-packages``."""
    places = {
        "inside": app / "sub" / "inside.py",
        "outside": app.parent / "lib" / "outside.py",
        "installed": app / "env" / "site-packages" / "installed.py",
    }
    for path in places.values():
        path.parent.mkdir(parents=True)
        path.write_text(BESIDE)
    (app / "sub" / "__init__.py").write_text("")
    (app / "main.py").write_text(
        "import sys, os\n"
        f"sys.path += [{str(places['outside'].parent)!r}, {str(places['installed'].parent)!r}]\n"
        "import sub.inside, outside, installed\n"
        "print(*(m.answer() for m in (sub.inside, outside, installed)), sep=', ')\n"
    )
    assert run("../app/main.py").stdout == "mirrored, not mirrored, not mirrored\n"
    lib = str(places["outside"].parent)
    assert run("--root", lib, "../app/main.py").stdout == "mirrored, mirrored, not mirrored\n"
    assert run(f"--root={lib}", "../app/main.py").stdout == "mirrored, mirrored, not mirrored\n"


def test_reload_namespaces_and_resources(app: Path, run: Run) -> None:
    (app / "space" / "deep").mkdir(parents=True)
    (app / "space/deep/mod.py").write_text(BESIDE)
    (app / "pack").mkdir()
    (app / "pack/__init__.py").write_text(BESIDE + "from . import data as data\n")
    (app / "pack/data.py").write_text("import torch.cuda\n")
    (app / "pack/note.txt").write_text("a note")
    (app.parent / "mirror/torch/cuda.py").write_text("")
    (app.parent / "mirror/tdev/cuda.py").write_text("")
    (app / "main.py").write_text(
        "import importlib, importlib.resources, pkgutil\n"
        "import space.deep.mod, pack\n"
        "importlib.reload(space.deep.mod)\n"
        "print(space.deep.mod.answer(), pack.answer())\n"
        "print(importlib.resources.files(pack).joinpath('note.txt').read_text())\n"
        "print([m.name for m in pkgutil.iter_modules(pack.__path__)])\n"
        "print(pack.__spec__.name, pack.__spec__.origin == pack.__file__, pack.__package__)\n"
    )
    done = run("../app/main.py")
    assert done.stdout.splitlines() == [
        "mirrored mirrored",
        "a note",
        "['data']",
        "pack True pack",
    ], done.stderr
