"""Type checkers say the same of a program with either import."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "parity"))
import reveal  # noqa: E402

PROGRAMS = sorted((HERE / "typed").glob("*.py"))
CHECKERS = [
    "mypy",
    pytest.param(
        "pyright",
        marks=pytest.mark.skipif(
            subprocess.run([sys.executable, "-c", "import pyright"], capture_output=True).returncode
            != 0,
            reason="pyright is not installed; it brings a Node of its own",
        ),
    ),
]


WITH_STANDINS = """
import torch
import tdev.standins.xformers.ops as xops
from tdev.standins import pynvml
from tdev.standins.apex.optimizers import FusedAdam
from tdev.standins.flash_attn import flash_attn_func
from tdev.standins.flash_attn.bert_padding import unpad_input

x = torch.ones(1, 2, 2, 8)
reveal_type(flash_attn_func(x, x, x, causal=True))
reveal_type(unpad_input(x, x)[3])
reveal_type(pynvml.nvmlDeviceGetCount())
reveal_type(xops.memory_efficient_attention(x, x, x))
FusedAdam([x], lr=0.1, foreach=True)
"""
"""Imports as the codemod writes them, with one parameter that there is not."""


@cache
def diagnostics(checker: str, options: str = "project") -> dict[str, list[str]]:
    """What the checker says of each program, by ``api_name.py``; lines and columns without the file."""
    folder = ROOT / "build" / f"typed-{checker}-{options}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for api in ("torch", "tdev"):
        for program in PROGRAMS:
            text = through(api, program.read_text(encoding="utf-8"))
            (folder / f"{api}_{program.name}").write_text(text, encoding="utf-8")
    (folder / "with_standins.py").write_text(WITH_STANDINS, encoding="utf-8")
    if checker == "mypy":
        return _mypy(folder, options)
    return _pyright(folder)


def through(api: str, text: str) -> str:
    """The program as somebody would have written it with that import."""
    if api == "torch":
        return text
    text = re.sub(r"^import torch$", "import tdev as torch", text, flags=re.MULTILINE)
    return re.sub(r"^(import|from) torch(?=[. ])", r"\1 tdev", text, flags=re.MULTILINE)


def _mypy(folder: Path, options: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    done = reveal.mypy(folder, options)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr + done.stdout
    for line in done.stdout.splitlines():
        path, _, told = line.partition(":")
        name = Path(path).name
        if "note: See https://" in told:
            continue  # said once in a run, of whichever comes first
        module = name.removesuffix(".py")  # types of the program's own are called by it
        told = told.replace(module, module.partition("_")[2])
        found.setdefault(name, []).append(re.sub(r"\btdev\b", "torch", told))
    return found


def _pyright(folder: Path) -> dict[str, list[str]]:
    settings = {"extraPaths": [str(ROOT / "generated"), str(ROOT)], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, "-p", str(folder)], capture_output=True, text=True)
    found: dict[str, list[str]] = {}
    for row in json.loads(done.stdout)["generalDiagnostics"]:
        path, start = Path(row["file"]), row["range"]["start"]
        text = re.sub(r"\btdev\b", "torch", row["message"])
        found.setdefault(path.name, []).append(f"{start['line'] + 1}: {text}")
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("checker", CHECKERS)
def test_a_program_gets_the_same_diagnostics(checker: str, program: Path) -> None:
    found = diagnostics(checker)
    theirs, ours = (found.get(f"{api}_{program.name}", []) for api in ("torch", "tdev"))
    assert ours == theirs
    assert theirs, "each program holds an error or a question, so that silence is noticed"


@pytest.mark.parametrize("checker", CHECKERS)
def test_stand_ins_have_types(checker: str) -> None:
    found = " ".join(diagnostics(checker)["with_standins.py"])
    assert found.count("Tensor") == 2 and found.count('"int"') == 2
    assert "foreach" in found and "import" not in found


@pytest.mark.deep  # half a minute for each set of options
@pytest.mark.parametrize("options", ["plain", "strict"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_mypy_says_the_same_by_other_options(program: Path, options: str) -> None:
    found = diagnostics("mypy", options)
    assert found[f"tdev_{program.name}"] == found[f"torch_{program.name}"]


@pytest.mark.parametrize("checker", CHECKERS)
def test_types_of_names_agree(checker: str) -> None:
    """A slice, of private modules too; ``python tests/parity/reveal.py`` asks for every name."""
    every = reveal.modules()
    private = [name for name in every if "._" in name]
    public = [name for name in every if name not in private]
    wanted = {*public[::40], *private[::3], "torch", "torch.cuda", "torch.nn", "torch.distributed"}
    chosen = {name: every[name] for name in every if name in wanted}
    assert len(wanted & {*private}) >= 15
    found = reveal.differences(chosen, checker, "project")
    known = reveal.accepted(checker)
    assert {name: pair for name, pair in found.items() if name not in known} == {}


# Newer torches import these themselves, and the stubs follow the newest.
OF_NEWER_TORCHES = {
    "torch._export.db",
    "torch._export.db.logging",
    "torch._export.passes.collect_tracepoints_pass",
    "torch._opaque_base",
    "torch.cuda._graph_annotations",
    "torch.export._leakage_detection_utils",
    "torch.export._trace",
    "torch.utils._pallas",
}


def test_mypy_reads_little_more_through_the_mirror(tmp_path: Path) -> None:
    """Nothing of torch that it would not read through torch, and of the mirror no alias."""
    program = "import torch\n\nreveal_type(torch.nn.functional.gelu)\n"
    # torch itself imports this one, so that mypy finds it in any program.
    program += "reveal_type(torch.utils._pytree.tree_map)\n"
    read, told = {}, {}
    for api in ("torch", "tdev"):
        folder = tmp_path / api
        folder.mkdir()
        (folder / "program.py").write_text(through(api, program), encoding="utf-8")
        done = reveal.mypy(folder, "project", "-v")
        assert "Revealed type" in done.stdout, done.stdout + done.stderr
        told[api] = re.findall(r": (?:note|error): .*", done.stdout)
        found = re.findall(r"Metadata fresh for ([\w.]+)|Parsing .+ \(([\w.]+)\)", done.stderr)
        read[api] = {fresh or parsed for fresh, parsed in found}
    assert told["tdev"] == told["torch"] and len(told["torch"]) == 2
    more = read["tdev"] - read["torch"]
    assert {name for name in more if name.startswith("torch")} <= OF_NEWER_TORCHES
    assert {"tdev", "tdev.nn"} <= more
    assert not {"tdev.nn.functional", "tdev.nn.init", "tdev.special", "tdev.utils.hooks"} & more


def test_every_accepted_difference_has_a_reason() -> None:
    for checker in ("mypy", "pyright"):
        assert all(len(why) > 30 for why in reveal.accepted(checker).values())
        assert reveal.accepted(checker)


def test_the_package_is_marked_as_typed() -> None:
    assert (ROOT / "generated" / "tdev" / "py.typed").is_file()
