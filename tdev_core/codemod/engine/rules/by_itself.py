"""Finds the devices that only inputs are moved to, of what another package has placed by itself: CUDA, or else the CPU.

``self.device = "cuda" if torch.cuda.is_available() else "cpu"`` beside ``self.model = load(name)``, and then
``self.model(x.to(self.device))``: who wrote that knows where the package puts it. Answered for the device in use, the
inputs would go where the model is not. A model that the code moves, or hands to what may do so, has not placed itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.statements import full_name, is_self
from tdev_core.codemod.engine.python.tree import PythonTree

_DEEP = 4


def placed_by_itself(file: File, asked: cst.CSTNode) -> str | None:
    """Return the callable of another package whose result gets inputs on the device that a question chooses, if all do."""
    tree = file.python if ".to(" in file.tree.source else None
    test = tree.at(file.tree.span(asked)) if tree is not None else None
    around = list(tree.ancestors(test)) if tree is not None and test is not None else []
    match around[:2]:
        case [ast.IfExp(), ast.Assign(targets=[ast.Name() | ast.Attribute() as kept])]:
            pass
        case _:
            return None
    kinds = ast.ClassDef if isinstance(kept, ast.Attribute) else ast.FunctionDef
    home = next((each for each in around if isinstance(each, kinds)), None)
    if tree is None or home is None:
        return None
    known, name = _Home(file, tree, home), ast.unparse(kept)
    makers: set[str] = set()
    takers: list[ast.expr] = []
    for use in ast.walk(home):
        if not isinstance(use, type(kept)) or ast.unparse(use) != name or use is kept:
            continue
        match [*tree.ancestors(use)][:2]:
            case [
                ast.Call(func=ast.Attribute(attr="to"), args=[_], keywords=[]),
                ast.Call(func=taker),
            ]:
                pass
            case _:
                return None
        found = known.makers(taker)
        if not found:
            return None
        makers |= found
        takers.append(taker)
    if not makers or known.are_moved(takers):
        return None
    return ", ".join(sorted(makers))


class _Home:
    """A function or a class, with what its variables are made of."""

    def __init__(self, file: File, tree: PythonTree, home: ast.AST) -> None:
        program = file.options.tree
        self._own = {"", "torch", "tdev"} | (program.modules | program.near if program else set())
        self._tree, self._home = tree, home
        self._imported = tree.names[0]
        self._given: dict[str, list[ast.expr]] = {}
        for node in (each for each in ast.walk(home) if isinstance(each, ast.Assign)):
            for target in node.targets:
                several = target.elts if isinstance(target, ast.Tuple) else [target]
                for each in several:
                    self._given.setdefault(ast.unparse(each), []).append(node.value)

    def makers(self, node: ast.expr, deep: int = _DEEP) -> set[str]:
        """Return the callables of other packages that have made what an expression gives; none if one is not known."""
        given = self._given.get(ast.unparse(node), [])
        if given and deep:
            found = [self.makers(each, deep - 1) for each in given]
            return set().union(*found) if all(found) else set()
        match node:
            case ast.Call(func=func):
                imported = ast.unparse(func).partition(".")[0] in self._imported
                full = full_name(func, self._imported)
                told = _TELLS_WHERE.search(ast.unparse(node)) is not None
                foreign = imported and full.partition(".")[0] not in self._own
                return {full} if foreign and not told else set()
            case ast.Attribute(value=value) if not is_self(value):
                return self.makers(value, deep)
            case _:
                return set()

    def are_moved(self, takers: list[ast.expr]) -> bool:
        """Tell whether one of what takes the inputs, by any of its names, is moved or given to a callable, which may move it."""
        called = {ast.unparse(each) for each in takers}
        names = {name for each in takers for name in self._names(each)}
        for _ in range(_DEEP):  # `net = model.half()`
            names |= {
                name
                for name, given in self._given.items()
                if any(not names.isdisjoint(_chain(each, called)) for each in given)
            }
        attributes = {name.rpartition(".")[2] for name in names if "." in name}
        # Whoever holds the object may move its attributes.
        for node in ast.walk(self._tree.module if attributes else self._home):
            match node:
                case ast.Call(func=ast.Attribute(value=moved, attr=attr)) if attr in _MOVES:
                    asked = [moved]
                case ast.Call(args=args, keywords=keywords):
                    asked = [*args, *(each.value for each in keywords)]
                    asked = [each for each in asked if not isinstance(each, ast.Call)]
                case ast.For(iter=ast.Tuple(elts=elts) | ast.List(elts=elts)):
                    asked = elts
                case _:
                    continue
            for each in asked:
                chain = _chain(each, called)
                if not names.isdisjoint(chain):
                    return True
                if any("." in part and part.rpartition(".")[2] in attributes for part in chain):
                    return True
        return False

    def _names(self, node: ast.expr, deep: int = _DEEP) -> set[str]:
        """Return the names that an expression, and what it is made of, has in the code."""
        names = set(_chain(node)) - self._imported.keys()
        given = [each for name in names for each in self._given.get(name, [])] if deep else []
        return names.union(*(self._names(each, deep - 1) for each in given))


def _chain(node: ast.expr, called: Collection[str] = ()) -> list[str]:
    """Return what the parts of a chain of attributes and of calls of methods are called: ``model.eval()`` is ``model``, too.

    What is ``called`` with inputs gives something else.
    """
    parts = []
    while True:
        if isinstance(node, (ast.Name, ast.Attribute)):
            parts.append(ast.unparse(node))
        match node:
            case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
                node = value
            case ast.Call(func=ast.Attribute(value=value) as func):
                if ast.unparse(func) in called:
                    return []
                node = value
            case _:
                return [each for each in parts if each != "self"]


_MOVES = frozenset({"cuda", "to", "to_empty", "_apply"})
_TELLS_WHERE = re.compile(r"device|cuda|\.to\(")
