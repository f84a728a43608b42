"""What emitted modules say in tables is so: of this torch by looking at it, of others by what was recorded of them.

The drift check holds them against the catalog that they are rendered from; these hold them against torch.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from generator import union
from tdev_core.mirror.namespace import own_names
from tdev_core.release import release_of
from tests.catalog import joined

EMITTED = Path(__file__).resolve().parents[2] / "generated" / "tdev"
BACKENDS = {"cuda", "mps", "mlx", "sim", "cpu"}
HERE = release_of(torch.__version__)


def torchs(module: str) -> Any:
    """torch's module; None where this torch has none of that name."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None


@functools.cache
def modules() -> dict[str, tuple[ast.Module, dict[str, Any]]]:
    """The text of each emitted module, and what it says of itself, by the torch module that it mirrors."""
    found = {}
    for path in sorted(EMITTED.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "_adoption.adopt":
                said = {
                    keyword.arg: ast.literal_eval(keyword.value)
                    for keyword in node.keywords
                    if keyword.arg not in (None, "home")
                }
                found[ast.literal_eval(node.args[1])] = tree, said
    assert len(found) > 90
    return found


def entries(table: str) -> Iterator[tuple[str, str, Any]]:
    """Every entry of a table of every module: the module, the key and what stands there."""
    for module, (_, said) in modules().items():
        for key, value in dict(said.get(table, {})).items():
            yield module, key, value


@functools.cache
def names() -> dict[str, dict[tuple[int, int], frozenset[str]]]:
    """The names that each torch offers in each module that is mirrored, to programs or to type checkers."""
    found: dict[str, dict[tuple[int, int], frozenset[str]]] = {}
    for version in joined()["torches"]:
        rows = union.view(joined(), version)["modules"]
        for module in modules():
            offered = set[str]()
            if module in rows:
                row = rows[module]
                offered = {*row["names"], *row["typed"], *row["loaded"], *dict(row["modules"])}
            found.setdefault(module, {})[release_of(version)] = frozenset(offered)
    return found


def words(releases: set[tuple[int, int]], every: list[tuple[int, int]]) -> str:
    first, last = (f"{one[0]}.{one[1]}" for one in (min(releases), max(releases)))
    if max(releases) == every[-1]:
        return f"{first} and newer"
    if min(releases) == every[0]:
        return f"{last} and older"
    return " and ".join(f"{one[0]}.{one[1]}" for one in sorted(releases))


def test_names_that_only_some_torches_have_are_told_with_those() -> None:
    told = {(module, key): value for module, key, value in entries("partial")}
    assert len(told) > 50
    # What a module only imports for itself.
    members = joined()["members"].values()
    helpers = {path for row in members if row["helper"] for path in row["exports"]}
    for module, by_release in names().items():
        every = sorted(by_release)
        for name in filter(_is_public, frozenset.union(*by_release.values())):
            has = {one for one in every if name in by_release[one]}
            expected = None if len(has) == len(every) else words(has, every)
            if (module, name) in told or f"{module}.{name}" not in helpers:
                assert told.pop((module, name), None) == expected, (module, name)
    assert not told


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def test_what_stands_in_for_torch_is_defined_there() -> None:
    every = sorted(joined()["torches"], key=release_of)
    oldest, newest = (".".join(every[at].split(".")[:2]) for at in (0, -1))
    for tree, said in modules().values():
        assert said["generated_from"] == f"{oldest} to {newest}"
        _stands_in(tree, said)


def _stands_in(tree: ast.Module, said: dict[str, Any]) -> None:
    defined = {
        name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Assign))
        for name in (
            [t.id for t in node.targets if isinstance(t, ast.Name)]
            if isinstance(node, ast.Assign)
            else [node.name]
        )
    }
    routed = said.get("routed", [])
    assert routed == sorted(set(routed)) and set(routed) <= defined
    functions = {
        node.name
        for block in [tree.body, *(n.body for n in tree.body if isinstance(n, ast.If))]
        for node in block
        if isinstance(node, ast.FunctionDef)
    }
    assert functions <= {*routed, *said.get("extra", [])}


def test_what_is_defined_elsewhere_is_the_same_object_of_torch() -> None:
    seen = 0
    dated = {(module, name) for module, name, _ in entries("partial")}
    for module, name, place in entries("elsewhere"):
        owner, _, original = place.partition(":")
        assert owner.split(".")[0] == "tdev"
        home, here = torchs("torch" + owner.removeprefix("tdev")), torchs(module)
        if hasattr(here, name) or (hasattr(home, original) and (module, name) not in dated):
            assert getattr(here, name) is getattr(home, original), (module, name, place)
            seen += 1
    assert seen > 150


def test_what_stands_in_for_torch_does_so_under_every_name() -> None:
    """A module that imports a function of another's hands out what stands in for it there, too."""
    routed = {
        id(getattr(torchs(module), name)): f"{module}.{name}"
        for module, (_, said) in modules().items()
        for name in said.get("routed", ())
        if callable(getattr(torchs(module), name, None))
    }
    for module, (_, said) in modules().items():
        own = {*said.get("routed", ()), *said.get("elsewhere", ())}
        names = joined()["modules"][module]["names"] if torchs(module) else ()
        for name in (n for n in names if n not in own):
            theirs = vars(torchs(module)).get(name)
            assert id(theirs) not in routed, (module, name, routed[id(theirs)])


def test_what_torchscript_knows_as_an_operator_is_one() -> None:
    seen = 0
    for module, name, operator in entries("script"):
        assert name in modules()[module][1]["routed"]
        assert operator.removeprefix("aten::") == name
        seen += 1
    assert seen > 20


def test_each_backend_is_told_of_once() -> None:
    seen = 0
    for module, name, lines in entries("answers"):
        assert name in modules()[module][1]["routed"]
        told = [backend for line in lines for backend in line.partition(": ")[0].split(", ")]
        assert sorted(told) == sorted(BACKENDS), (module, name, lines)
        seen += 1
    assert seen > 40


def test_emitted_parameters_have_torchs_defaults() -> None:
    """Read from the text, since a function that stands in for torch's shows torch's signature."""
    seen = 0
    for module, (tree, _) in modules().items():
        theirs = torchs(module)
        for function in _taken(tree.body):
            original = getattr(theirs, function.name, None)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    known = inspect.signature(original).parameters
                except (TypeError, ValueError):
                    continue  # C functions have none
            for name, default in _defaults(function):
                if name in known and known[name].default is not inspect.Parameter.empty:
                    value = known[name].default
                    if isinstance(value, (bool, int, float, str, type(None))):
                        assert default == repr(value), (module, function.name, name)
                        seen += 1
            for name in _asked_by_keyword(function):
                assert name in known or "kwargs" in known, (module, function.name, name)
                seen += 1
    assert seen > 300


def test_every_parameter_is_looked_at() -> None:
    """Or the catalog says of it that it is ignored, and why, or the function calls nothing that could answer."""
    ignored = {
        (path, name)
        for row in joined()["members"].values()
        for backend in BACKENDS
        for name in row[backend].get("ignores", ())
        for path in row["exports"]
    }
    seen = 0
    for module, (tree, _) in modules().items():
        for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
            called = {ast.unparse(n.func) for n in ast.walk(function) if isinstance(n, ast.Call)}
            if called <= {"_unsupported", "_current"}:
                continue
            given = function.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            # Once it has been translated, it is the translation that counts.
            last: dict[str, ast.Name] = {}
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and not _is_before(node, last.get(node.id)):
                    last[node.id] = node
            for name in (one.arg for one in every if one is not None):
                path = f"{module}.{function.name}"
                used = name in last and isinstance(last[name].ctx, ast.Load)
                assert used or (path, name) in ignored, (path, name)
                seen += used
    assert seen > 600


def _is_before(node: ast.Name, other: ast.Name | None) -> bool:
    """Tell whether a name is read or bound before another; the right side of an assignment is read before the left."""
    if other is None:
        return False
    mine, theirs = node.lineno, other.lineno
    return mine < theirs or (mine == theirs and isinstance(node.ctx, ast.Load))


# What the catalog says of these is more than their name does.
OTHERWISE = {
    "current_device_idx": {"current_device_index"},  # torch's older name for it
    "seed": {"seed", "reseed_cuda", "reseed_all"},  # MTIA's takes a number for all devices
    "seed_all": {"seed_all", "reseed_cuda", "reseed_all"},
}


def test_an_arm_calls_what_bears_the_name_of_its_function() -> None:
    """Where the module that it calls has something of that name: a neighbour answers another question."""
    seen = 0
    for module, (tree, _) in modules().items():
        if torchs(module) is None:
            continue
        mirror = importlib.import_module("tdev" + module[len("torch") :])
        scope = {"torch": torch, **own_names(mirror)}
        for function in _taken(tree.body):
            for node in ast.walk(function):
                value = node.value if isinstance(node, ast.Return) else None
                if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
                    continue
                owner = _resolved(value.func.value, scope)
                if isinstance(owner, ModuleType) and hasattr(owner, function.name):
                    expected = OTHERWISE.get(function.name, {function.name})
                    assert value.func.attr in expected, (module, function.name)
                    seen += 1
    assert seen > 200


def _resolved(expression: ast.expr, scope: dict[str, Any]) -> Any:
    """Return what a dotted name is; None where it is something else, or is not there."""
    if isinstance(expression, ast.Name):
        return scope.get(expression.id)
    if isinstance(expression, ast.Attribute):
        return getattr(_resolved(expression.value, scope), expression.attr, None)
    return None


def _taken(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """Yield the functions that this torch gets: of forms for several torches its own."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.If) and "_torch_release" in ast.unparse(node.test):
            assert isinstance(node.test, ast.Compare)
            after = HERE >= ast.literal_eval(node.test.comparators[0])
            yield from _taken(node.body if after else node.orelse)


def _defaults(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    pairs = [
        *zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    for argument, default in pairs:
        if isinstance(default, ast.Constant):
            yield argument.arg, repr(default.value)


def _asked_by_keyword(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the names that a function looks for among the keywords that it was given."""
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Constant)
            and isinstance(node.ops[0], ast.In)
            and ast.unparse(node.comparators[0]) == "kwargs"
        ):
            yield str(node.left.value)
