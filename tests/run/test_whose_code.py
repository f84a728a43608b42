"""What ``tdev run`` takes for the program's code, what it leaves alone, and what it says about that."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tdev_core.run import roots
from tdev_core.run.roots import NoSuchLibrary, Roots
from tests.run.conftest import Run

ASKS = "import torch\n\n\ndef answer():\n    return torch.cuda.synchronize()\n"
MAIN = "import {0}\nprint({0}.answer())\n"


def package(folder: Path, name: str) -> Path:
    """Write a package whose ``answer()`` tells whether it was rewritten."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(ASKS)
    return place


def site_packages(app: Path) -> Path:
    """Make a folder of installed packages beside the program."""
    site = app.parent / "lib" / "site-packages"
    site.mkdir(parents=True, exist_ok=True)
    return site


def with_path(environment: dict[str, str], folder: Path) -> dict[str, str]:
    path = os.pathsep.join([environment["PYTHONPATH"], str(folder)])
    return {**environment, "PYTHONPATH": path}


@pytest.mark.parametrize("scripts", ["scripts", "examples/deep"])
@pytest.mark.parametrize("where", ["the working directory", "the git repository"])
def test_a_package_that_is_not_below_the_script(
    app: Path, run: Run, environment: dict[str, str], scripts: str, where: str
) -> None:
    package(app / "src", "pkg")
    (app / scripts).mkdir(parents=True)
    (app / scripts / "train.py").write_text(MAIN.format("pkg"))
    if where == "the git repository":
        (app / ".git").write_text("gitdir: somewhere\n")  # a submodule, or a work tree of its own
    cwd = str(app) if where == "the working directory" else None
    env = with_path(environment, app / "src")
    done = run(str(app / scripts / "train.py"), cwd=cwd, env=env)
    assert (done.stdout, done.stderr) == ("mirrored\n", "")


@pytest.mark.parametrize("how", ["direct_url", "pth", "egg-link"])
def test_an_editable_install_is_found(app: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    project, site = app.parent / "projects" / "one proj", site_packages(app)
    package(project / "src", "pkg")
    install_editable(project, site, how)
    monkeypatch.setattr("sys.path", [*sys.path, str(site)])
    file = str(project / "src" / "pkg" / "__init__.py")
    assert Roots(roots.of_program(str(app))).cover(file)
    assert not Roots([str(app)]).cover(file)


def install_editable(project: Path, site: Path, how: str) -> None:
    """Leave in ``site`` what an editable installation does."""
    if how == "direct_url":
        (site / "proj-1.0.dist-info").mkdir()
        told = {"url": project.as_uri(), "dir_info": {"editable": True}}
        (site / "proj-1.0.dist-info" / "direct_url.json").write_text(json.dumps(told))
    elif how == "pth":
        (site / "proj.pth").write_text(f"# a comment\nimport sys\n{project / 'src'}\n\n")
    else:
        (site / "proj.egg-link").write_text(f"{project / 'src'}\n../\n")


def test_an_editable_install_runs_rewritten(app: Path, python: Run) -> None:
    project, site = app.parent / "projects" / "proj", site_packages(app)
    package(project / "src", "pkg")
    install_editable(project, site, "pth")
    (app / "main.py").write_text(MAIN.format("pkg"))
    start = (
        f"import sys, site; site.addsitedir({str(site)!r})\n"
        "from tdev_core.run import main; sys.exit(main(sys.argv[1:]))"
    )
    done = python("-c", start, str(app / "main.py"))
    assert (done.stdout, done.stderr) == ("mirrored\n", "")


def test_a_project_that_is_installed_as_a_copy_is_not_the_programs(
    app: Path, run: Run, environment: dict[str, str]
) -> None:
    site = site_packages(app)
    package(site, "pkg")
    (app / "main.py").write_text(MAIN.format("pkg"))
    done = run("../app/main.py", env=with_path(environment, site))
    assert (done.stdout, done.stderr) == ("not mirrored\n", "")


@pytest.mark.parametrize(
    "place",
    [
        "env/lib/python3.11/site-packages/pkg",
        "env/src/pkg",
        "conda/lib/pkg",
        ".tox/py/pkg",
        ".cache/modules/pkg",
        "torchinductor_me/ab",
    ],
)
def test_what_lies_in_the_program_and_is_not_its(app: Path, place: str) -> None:
    for mark in ("env/pyvenv.cfg", "conda/conda-meta/history"):
        (app / mark).parent.mkdir(parents=True, exist_ok=True)
        (app / mark).write_text("")
    file = app / place / "mod.py"
    covered = Roots([str(app)])
    assert not covered.cover(str(file))
    assert covered.cover(str(app / "pkg" / "mod.py"))
    # Named itself, it is the program: a script that lies there, an editable install in a virtual environment.
    assert Roots([str(app), str(file.parent)]).cover(str(file))


def test_neither_torch_nor_tdev_nor_the_standard_library_is_anybodys_program() -> None:
    everywhere = Roots([os.path.abspath(os.sep)])
    for module in (roots, json, pytest):
        assert module.__file__ and not everywhere.cover(module.__file__)
    torch = roots.package_places("torch")
    assert torch and not everywhere.cover(os.path.join(torch[0], "nn", "functional.py"))
    assert not Roots(torch).cover(os.path.join(torch[0], "nn", "functional.py"))


def test_code_elsewhere_that_asks_for_cuda_is_named(
    app: Path, run: Run, environment: dict[str, str]
) -> None:
    lib = app.parent / "lib"
    package(lib, "pkg")
    (lib / "pkg" / "more.py").write_text(ASKS)
    (lib / "quiet.py").write_text("# torch.cuda\nimport torch\n\n\ndef answer():\n    return 1\n")
    (app / "main.py").write_text("import pkg.more, quiet\nprint(pkg.answer())\n")
    done = run("../app/main.py", env=with_path(environment, lib))
    assert done.stdout == "not mirrored\n"
    assert done.stderr.count("Warning") == 1 and "quiet" not in done.stderr
    assert f"{lib / 'pkg' / '__init__.py'}:5: DeviceWarning: pkg asks for CUDA" in done.stderr
    assert f"--root {lib / 'pkg'} " in done.stderr
    done = run("--root", str(lib), "../app/main.py", env=with_path(environment, lib))
    assert (done.stdout, done.stderr) == ("mirrored\n", "")


@pytest.mark.parametrize(
    "way", ["option", "project", pytest.param("two options", marks=pytest.mark.deep)]
)
def test_a_library_that_is_named(
    app: Path, run: Run, environment: dict[str, str], way: str
) -> None:
    site = site_packages(app)
    package(site, "lib_one")
    (site / "lib_two.py").write_text(ASKS)
    package(site, "lib_three")
    (app / "main.py").write_text(
        "import multiprocessing as mp\nimport subprocess, sys\n"
        "import lib_one, lib_two, lib_three\n\n\n"
        "def work(_):\n    return lib_one.answer(), lib_two.answer(), lib_three.answer()\n\n\n"
        "if __name__ == '__main__':\n"
        "    print(work(0), flush=True)\n"
        "    with mp.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.apply(work, (0,)), flush=True)\n"
        "    if len(sys.argv) < 2:\n"
        "        subprocess.run([sys.executable, __file__, 'child'], check=True)\n"
    )
    options: list[str] = []
    if way == "option":
        options = ["--library", "lib-one, lib_two"]
    elif way == "two options":
        options = ["--library=lib_one", "--library", "lib_two"]
    else:
        (app / "pyproject.toml").write_text('[tool.tdev]\nlibraries = ["lib_one", "lib_two"]\n')
    done = run(*options, "../app/main.py", env=with_path(environment, site))
    said = str(("mirrored", "mirrored", "not mirrored"))
    assert done.stdout.splitlines() == [said] * 4, done.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("acelerate", "did you mean accelerate?"),
        ("nowhere.at.all", "no module of this name"),
        ("sys", "no module of this name"),
        ("torch", "never rewritten"),
        ("tdev_core.run", "never rewritten"),
    ],
)
def test_a_library_that_cannot_be_rewritten(app: Path, run: Run, name: str, said: str) -> None:
    (app / "main.py").write_text("print(1)\n")
    with pytest.raises(NoSuchLibrary, match=name):
        roots.of_library(name)
    done = run("--library", name, "../app/main.py")
    assert done.returncode == 2 and done.stderr.startswith(f"tdev run: {name}")
    assert said in done.stderr and "Traceback" not in done.stderr


def test_a_part_of_a_library_is_not_imported_to_be_found(tmp_path: Path) -> None:
    assert roots.package_places("json.decoder")[0].endswith(os.path.join("json", "decoder.py"))
    assert roots.package_places("json.nothing") == ()


def test_a_notebook_says_how(app: Path, run: Run) -> None:
    (app / "nb.ipynb").write_text("{}")
    done = run("../app/nb.ipynb")
    assert done.returncode == 2
    for said in ("python -m tdev codemod", "import tdev as torch", "nbconvert --to script"):
        assert said in done.stderr
