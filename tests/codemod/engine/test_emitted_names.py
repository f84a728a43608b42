"""Every name that the codemod writes exists: generic ones in torch, tdev's in the mirror."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from generator import union
from generator.codemod.tables import LEFT, ROUTED
from tdev_core.codemod.engine import Names, Options, Style, rewrite
from tdev_core.codemod.engine.rules.guards import MPS_REFUSES
from tdev_core.codemod.engine.rules.reasons import reason
from tdev_core.codemod.records import change
from tests.catalog import joined
from tests.forkserver import environment, python

ROOT = Path(__file__).parents[3]
CASES = Path(__file__).parents[1] / "cases"
NAMES = Names.load()
CUDA = sorted(n for n in NAMES.routed if n.startswith("torch.cuda") and n not in NAMES.modules)
FORMS = ("{0}()", "{0}(0)", "{0}(device=d)", "x = {0}", "with {0}(s): pass")


def _chains(code: str) -> set[str]:
    """The dotted names below an imported torch or tdev, under their full names."""
    tree = ast.parse(code)
    roots: dict[str, str] = {}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.split(".")[0]
                roots[alias.asname or name] = name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{a.name}" for a in node.names if a.name != "*"}
    for node in ast.walk(tree):
        parts = []
        base: ast.expr | None = node if isinstance(node, ast.Attribute) else None
        while isinstance(base, ast.Attribute):
            parts.append(base.attr)
            base = base.value
        if isinstance(base, ast.Name) and parts:
            found.add(".".join([roots.get(base.id, "?"), *reversed(parts)]))
    return {name for name in found if name.split(".")[0] in ("torch", "tdev")}


_ASK = """\
import importlib, json, sys
import tdev, torch


def exists(name):
    path, *parts = name.split(".")
    value = sys.modules[path]
    for part in parts:
        path += "." + part
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(path)
            except ImportError:
                return False
    return True


print(json.dumps([name for name in json.load(sys.stdin) if not exists(name)]))
"""


def _missing(names: set[str]) -> list[str]:
    """The names that there are not, asked of a process of its own: tdev changes the one it is in."""
    done = python("-c", _ASK, input=json.dumps(sorted(names)), env=environment(TDEV_BACKEND="cpu"))
    assert done.returncode == 0, done.stderr
    missing: list[str] = json.loads(done.stdout)
    return missing


def _left(name: str) -> bool:
    return any(name == one or one.endswith(".*") and name.startswith(one[:-1]) for one in LEFT)


def test_the_codemod_knows_what_the_mirror_answers() -> None:
    """In any torch, whichever is installed."""
    known = {*NAMES.routed, *NAMES.device_params}
    answered = {
        name
        for version in union.torches(joined())
        for name, member in union.view(joined(), version)["members"].items()
        if member["mirror"] != "same" and not name.startswith("torch.cuda.")
    }
    assert len(answered) > 200
    unknown = {n for n in answered - known if not _left(n)}
    assert not unknown, "for ROUTED, DEVICE_PARAMS or LEFT in generator/codemod/tables.py"
    assert not [one for one in LEFT if one[-2:] != ".*" and (one in known or one not in answered)]


def _written(source: str, style: Style) -> set[str]:
    return _chains(rewrite(source, NAMES, Options(style=style)).code) - _chains(source)


def test_accelerator_target_writes_only_what_torch_has() -> None:
    written: set[str] = set()
    for path in sorted((CASES / "accelerator").glob("*/*.in.py")):
        written |= _written(path.read_bytes().decode(), "accelerator")
    for form in FORMS:
        code = "import torch\n" + "".join(f"{form.format(name)}\n" for name in CUDA)
        written |= _written(code, "accelerator")
    assert len([n for n in written if n.startswith("torch.accelerator.")]) >= 10
    assert _missing(written) == []
    assert not [name for name in written if name.startswith("tdev")]


@pytest.mark.parametrize("style", ["explicit", "alias"])
def test_tdev_styles_write_only_what_the_mirror_has(style: Style) -> None:
    """Of what the installed torch has, which may be another than the one that the names are read from."""
    lacking = _missing(set(CUDA))
    assert len(lacking) < len(CUDA) * 0.1
    asked = [name for name in CUDA if name not in lacking]
    written = _written("import torch\n" + "".join(f"x = {name}\n" for name in asked), style)
    assert len(written) >= len(asked) * 0.9
    assert _missing(written) == []


def test_a_name_that_there_is_not() -> None:
    names = {"torch.cuda.init", "tdev.cuda.init", "torch.cuda.inits", "tdev.cudas.init"}
    assert _missing(names) == ["tdev.cudas.init", "torch.cuda.inits"]


def test_what_does_not_say_cuda_says_why_it_is_tdevs() -> None:
    """`torch.load` becomes `tdev.load`: a reader of the report asks why."""
    assert [name for name in ROUTED if ".cuda." not in name and not reason(name)] == []
    assert reason("torch.jit.script") and not reason("torch.cuda.synchronize")
    source = "import torch\nimport torch.distributed as dist\n\ntorch.load('x')\ndist.new_group(backend=which)\n"
    for style in ("explicit", "alias"):
        result = rewrite(source, Names.load(), Options(style=style))
        told = [change(edit, source.splitlines()).message for edit in result.edits]
        assert any("where the tensors were saved)" in message for message in told), told
        assert any("NCCL, which CUDA alone has)" in message for message in told), told


def test_what_mps_refuses_is_what_the_catalog_says() -> None:
    """Of the functions of torch.cuda itself, public ones; the engine has no catalog where it runs."""
    refused = {
        name.removeprefix("torch.cuda.")
        for name, entry in joined()["members"].items()
        if name.startswith("torch.cuda.") and entry.get("mps", {}).get("route") == "unsupported"
    }
    assert {name for name in refused if "." not in name and not name.startswith("_")} == MPS_REFUSES
