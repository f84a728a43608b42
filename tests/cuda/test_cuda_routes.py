"""Every name in the routes of torch.cuda exists, and every call fits the function that it calls."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path

import pytest
import torch
import torch.cuda.comm  # not imported by torch itself

from generator.plan.core import Core
from tests.catalog import joined

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
ROUTES = ROOT / "generator" / "routes"
CORE = Core(ROOT / "tdev_core")
FILES = sorted([*ROUTES.glob("cuda*.toml"), *ROUTES.glob("accelerators*.toml")])
BACKENDS = ("cuda", "mps", "mlx", "sim", "cpu")


def _capabilities():
    for path in FILES:
        for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            yield pytest.param(table, id=f"{path.stem}:{name}")


def _cells(table):
    for key, cell in table.items():
        if key != "spellings":
            for backend in key.split(","):
                yield backend.strip(), cell


def _dotted(node: ast.AST) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _resolve(dotted: str):
    root, *rest = dotted.split(".")
    if root == "mx":
        if importlib.util.find_spec("mlx") is None:
            return None
        found = importlib.import_module("mlx.core")
    else:
        found = torch if root == "torch" else importlib.import_module(CORE.find(root, dotted))
    for part in rest:
        found = getattr(found, part)
    return found


_CUDA_BUILD_ONLY = {"torch._C._cuda_attach_out_of_memory_observer"}


def _check(expression: str, parameters: frozenset[str]) -> None:
    tree = ast.parse(expression, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            dotted = _dotted(node.func)
            if dotted in (None, "vars") or dotted in _CUDA_BUILD_ONLY:
                continue  # vars(): a name that no stub declares
            function = _resolve(dotted)
            try:
                signature = inspect.signature(function)
            except (TypeError, ValueError):
                continue  # a builtin without one
            if not any(isinstance(a, ast.Starred) for a in node.args):
                given = {k.arg: k.value for k in node.keywords if k.arg}
                for name, value in list(given.items()):
                    # Handed on to the torches whose function has it; the planner sees that one does.
                    if name not in signature.parameters and ast.unparse(value) == name:
                        del given[name]
                signature.bind(*node.args, **given)
        elif isinstance(node, ast.Attribute):
            dotted = _dotted(node)
            if dotted and dotted.split(".")[0] not in parameters and dotted not in _CUDA_BUILD_ONLY:
                _resolve(dotted)


# Names that not every torch has.
_DATED = {
    path: row
    for row in joined()["members"].values()
    if "since" in row or "until" in row
    for path in row["exports"]
}


def _here(table) -> list[str]:
    """The spellings that the installed torch has."""
    return [name for name in table["spellings"] if name not in _DATED or _has(name)]


def _has(spelling: str) -> bool:
    try:
        _resolve(spelling)
    except (AttributeError, ImportError):
        return False
    return True


@pytest.mark.parametrize("table", list(_capabilities()))
def test_names_exist_and_calls_fit(table):
    if not _here(table):
        pytest.skip("the installed torch has none of these names, nor what they are answered with")
    for spelling in _here(table):
        _resolve(spelling)
    for backend, cell in _cells(table):
        assert backend in BACKENDS
        for key in ("call", "object", "value"):
            if key in cell:
                _check(cell[key], frozenset())


@pytest.mark.parametrize("table", list(_capabilities()))
def test_what_is_not_done_is_explained(table):
    for backend, cell in _cells(table):
        if cell["route"] == "noop":
            assert len(cell["note"]) > 10, backend
        if cell["route"] == "unsupported":
            assert len(cell["why"]) > 20 and len(cell["instead"]) > 5, backend


def _public(module) -> set[str]:
    return {
        f"{module.__name__}.{name}" for name in getattr(module, "__all__", ())
    }  # torch.amp has some from 2.13 on


def test_every_public_name_has_a_route():
    listed = set()
    for path in FILES:
        for table in tomllib.loads(path.read_text(encoding="utf-8")).values():
            listed |= {id(_resolve(spelling)) for spelling in _here(table)}
    modules = [
        torch.cuda,
        torch.cuda.amp,
        torch.cuda.comm,
        torch.cuda.gds,
        torch.cuda.graphs,
        torch.cuda.green_contexts,
        torch.cuda.memory,
        torch.cuda.nccl,
        torch.cuda.nvtx,
        torch.cuda.profiler,
        torch.cuda.random,
        torch.cuda.tunable,
        torch.accelerator,
        torch.accelerator.memory,
        torch.amp,
        torch.cpu,
        torch.mps,
        torch.mps.profiler,
        torch.mtia,
        torch.mtia.memory,
        torch.xpu,
    ]
    lacking = [
        name
        for module in modules
        for name in sorted(_public(module))
        if not inspect.ismodule(_resolve(name))
        and id(_resolve(name)) not in listed
        and not isinstance(_resolve(name), bool)
    ]
    assert lacking == []


def test_few_of_the_cuda_functions_are_unsupported():
    total = len(
        [name for name in torch.cuda.__all__ if inspect.isfunction(getattr(torch.cuda, name))]
    )
    for backend in ("cpu", "mps", "mlx", "sim"):
        without = 0
        for path in FILES:
            for table in tomllib.loads(path.read_text(encoding="utf-8")).values():
                cells = dict(_cells(table))
                if cells[backend]["route"] == "unsupported":
                    without += sum(
                        name.startswith("torch.cuda.")
                        and name.count(".") == 2
                        and inspect.isfunction(getattr(torch.cuda, name.rpartition(".")[2], None))
                        for name in _here(table)
                    )
        assert without / total <= 0.12, backend
