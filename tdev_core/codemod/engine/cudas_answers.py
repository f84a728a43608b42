"""Reads off the texts of a tree what goes on answering for CUDA alone, whichever of its files asks.

A function that is asked beside other accelerators, or by tests for what needs CUDA, keeps its question; so does the decorator that
skips a test by it. And a device that a module chooses by such questions, ``torch_device = get_backend()``, is there wherever it is
used: what has the word ``"cuda"`` has CUDA.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from tdev_core.codemod.engine.asked import DEVICE
from tdev_core.codemod.engine.python.devices import Devices
from tdev_core.codemod.engine.python.elsewhere import Others
from tdev_core.codemod.engine.python.gates import Gates
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.lines import Lines
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.unable import units
from tdev_core.codemod.engine.vocabulary import OTHERS

REQUIRES = re.compile(r"_?(?:requires?|needs?|skip_(?:if|unless)_no)_\w*(?:cuda|gpu)s?\w*\Z")
"""What a function that lets tests run is called."""
FOR_CUDA = re.compile(r"\b(?:requires?|needs?|without|no)\b[^\n]*\b(?:CUDA|NVIDIA)\b")
"""What one says that goes on meaning CUDA."""
_ASKS = re.compile(rb"cuda\.(?:is_available|device_count)\b")
_TORCHS = re.compile(r"(?:torch\.)?cuda\.(?:is_available|device_count)\Z")
_DEFINED = re.compile(rb"\bdef[ \t]+(\w+)")
_SKIPS = re.compile(r"(?:\w+\.)*skip_?(if|unless)?\Z", re.IGNORECASE)
# `torch_device, count = get_backend()`, from what is rare in it.
_ONE_OF_SEVERAL = re.compile(rb"(?:device|DEVICE)[ \t]*,[^\n=()]*=[ \t]*(\w+)\(")
_NAME_BEFORE = re.compile(rb"(?:\w+[ \t]*,[ \t]*)*(\w*)\Z")


class Answers(NamedTuple):
    """The functions that answer for CUDA alone, by their names."""

    questions: frozenset[str] = frozenset()
    """Functions that give a true answer on CUDA alone."""
    decorators: frozenset[str] = frozenset()
    """Those that let a test run there alone."""


def cudas_answers(texts: Collection[bytes], beside: Collection[str]) -> Answers:
    """Return what answers so.

    Args:
        beside: the functions that are asked beside other accelerators, which stay with that.
    """
    asked = [raw for raw in texts if _ASKS.search(raw) is not None]
    named = {name.encode() for name in beside}
    kept = {
        name
        for raw in asked
        if any(each in raw for each in named)
        for name, _ in _functions(raw)
        if name in beside
    }
    times = Counter(
        name.decode()
        for raw in texts
        if any(each in raw for each in named)
        for name in _DEFINED.findall(raw)
    )
    kept = {name for name in kept if times[name] == 1}
    questions = {
        name for raw in asked for name in _given(raw, {n for n, _ in _functions(raw)} & kept)
    }
    return Answers(frozenset(questions), frozenset(_decorators(texts, questions)))


def _functions(raw: bytes) -> Iterator[tuple[str, bytes]]:
    return ((name, text) for name, text in units(raw) if b"def " + name.encode() in text[:80])


def _parsed(raw: bytes) -> PythonTree | None:
    try:
        return PythonTree(Lines(raw.decode().lstrip("\ufeff")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _given(raw: bytes, names: set[str]) -> set[str]:
    """Return the functions of a text that give a true answer where its questions for CUDA do."""
    tree = _parsed(raw) if names else None
    if tree is None:
        return set()
    gates = _gates(tree, (node for node in tree.everything if isinstance(node, ast.Attribute)))
    return {name for name in names if gates.is_given_by(name)}


def _gates(tree: PythonTree, asked: Iterable[ast.expr], others: Iterable[ast.expr] = ()) -> Gates:
    questions = [node for node in asked if _TORCHS.match(ast.unparse(node)) is not None]
    spans = [(tree.span(node), False) for node in (*questions, *others)]
    return Gates(tree, spans, (), (), Others(None, ""))


def _decorators(texts: Collection[bytes], questions: set[str]) -> Iterator[str]:
    signs = {name.encode() for name in questions}
    for raw in texts:
        if b"skip" not in raw or b"cuda" not in raw:
            continue
        said = {
            name: text.decode("latin-1")
            for name, text in _functions(raw)
            if b"skip" in text and (b"cuda." in text or any(sign in text for sign in signs))
        }
        tree = _parsed(raw) if said else None
        if tree is None:
            continue
        functions = [
            each
            for each in tree.module.body
            if isinstance(each, ast.FunctionDef) and each.name in said
        ]
        found = {
            each.name
            for each in functions
            if _lets_run_on_cuda(
                tree, each, questions, FOR_CUDA.search(said[each.name]) is not None
            )
        }
        # Those of one module go together.
        found |= {
            each.name
            for each in functions
            if found and _lets_run_on_cuda(tree, each, questions, True)
        }
        yield from found


def _lets_run_on_cuda(
    tree: PythonTree, function: ast.FunctionDef, questions: set[str], is_cudas: bool
) -> bool:
    """Tell whether a function gives the test that it is given only where a question which stays says yes, or skips it.

    Beside CUDA another accelerator may be there by a question of its own, which torch itself has.

    Args:
        is_cudas: a function that is called so goes on meaning CUDA where it asks torch.
    """
    given = [each.arg for each in function.args.args]
    if len(given) != 1:
        return False
    kept = is_cudas and REQUIRES.match(function.name) is not None
    _ = tree.everything
    nodes = list(ast.walk(function))
    names = [
        node.func
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    own = [each for each in names if each.id in questions]
    others = [each for each in names if OTHERS.search(each.id) is not None and "mps" not in each.id]
    torchs = [node for node in nodes if kept and isinstance(node, ast.Attribute)]
    if not own and not torchs:
        return False
    gates = _gates(tree, torchs, (*own, *others))
    gates.stays += [span for span, _ in gates.opened()]
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    return bool(returned) and all(
        each is not None and _skips_off_cuda(gates, each, given[0]) for each in returned
    )


def _skips_off_cuda(gates: Gates, value: ast.expr, test: str) -> bool:
    match value:
        case ast.Call(func=ast.Call(func=func, args=[asked, *_]), args=[ast.Name(id=name)]):
            skips = _SKIPS.match(ast.unparse(func))
            if skips is None or name != test:
                return False
            if skips[1] is None:
                return True
            return gates.truth(asked) == ("no" if skips[1].lower() == "if" else "yes")
        case ast.Name(id=name):
            return name == test and gates.is_left(value)
        case _:
            return False


def chosen_constants(
    texts: Collection[bytes], known: Known, set_on_others: Mapping[str, int]
) -> frozenset[str]:
    """Return the variables of modules that are given a device, as one of several values, by a function which asks what is there."""
    held: set[str] = set()
    for raw in texts:
        for each in _ONE_OF_SEVERAL.finditer(raw):
            line = raw[raw.rfind(b"\n", 0, each.start()) + 1 : each.start()]
            before = _NAME_BEFORE.match(line)
            if before is not None and b"def " + each[1] + b"(" in raw:
                name = (before[1] + re.split(rb"\W", each[0], maxsplit=1)[0]).decode()
                if name not in set_on_others and name.lower() != "device":
                    held.add(name)
    for name in list(held):
        first, rest = rb"^[ \t]*(?:\w+[ \t]*,[ \t]*)*", rb"\b[\w ,\t]*(?::[^=\n]*)?=(?!=)"
        binds = re.compile(first + name.encode() + rest, re.MULTILINE)
        supposing = replace(known, constants=known.constants | {name})
        for raw in texts:
            if name.encode() not in raw or binds.search(raw) is None:
                continue
            tree = _parsed(raw)
            devices = Devices(tree, raw.decode(), supposing) if tree is not None else None
            if devices is not None and not devices.is_bound_at_the_margin(name):
                if b"global " not in raw:
                    continue  # a variable of a function's
            if devices is None or not devices.is_set_to(name, DEVICE):
                held.discard(name)
                break
    return frozenset(held)
