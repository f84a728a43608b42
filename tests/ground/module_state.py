"""What the functions of a package change of its modules' own names, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Change", "caches", "changes", "thread_locals"]

_CHANGING = frozenset(
    "add append appendleft clear difference_update discard extend insert intersection_update move_to_end pop popitem "
    "popleft remove reverse setdefault sort symmetric_difference_update update".split()
)
_CONTEXT = (ast.With, ast.AsyncWith)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Change:
    """One place where a function changes what a module holds."""

    name: str
    """The module, without the package, and the name: ``sim.memory._pools``."""
    line: int
    under: frozenset[str]
    """The names of what the place is inside a ``with`` of."""


def _module(root: Path, file: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _names(part)


def _assigned(tree: ast.Module) -> set[str]:
    """Collect the names that a module assigns at its own level, under conditions too."""
    found: set[str] = set()
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Assign):
            found.update(name for target in node.targets for name in _names(target))
        elif isinstance(node, ast.AnnAssign):
            found.update(_names(node.target))
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For)):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def _imported(tree: ast.Module, package: str) -> dict[str, str]:
    """Map local names to what of the package they are, wherever in the file they are imported."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}".removeprefix(f"{package}.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package
        for alias in node.names
    }


def changes(root: Path) -> Iterator[Change]:
    """Find every place in a function under `root` that assigns, deletes or changes in place a name of a module."""
    files = sorted(root.rglob("*.py"))
    modules = {_module(root, file) for file in files}
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        own, imported = _assigned(tree), _imported(tree, root.name)
        reader = _Reader(_module(root, file), own, imported, modules)
        reader.visit(tree)
        yield from reader.found


class _Reader(ast.NodeVisitor):
    def __init__(
        self, module: str, own: set[str], imported: dict[str, str], modules: set[str]
    ) -> None:
        self._module, self._own, self._imported, self._modules = module, own, imported, modules
        self._functions: list[ast.AST] = []
        self._globals: list[set[str]] = []
        self._under: list[str] = []
        self.found: list[Change] = []

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, _FUNCTION):
            inside = (n for n in ast.walk(node) if isinstance(n, ast.Global))
            self._globals.append({name for n in inside for name in n.names})
            self._functions.append(node)
            outer, self._under = self._under, []
            self.generic_visit(node)
            self._under = outer
            self._functions.pop()
            self._globals.pop()
        elif isinstance(node, _CONTEXT):
            held = [ast.unparse(item.context_expr) for item in node.items]
            self._under += held
            self.generic_visit(node)
            del self._under[len(self._under) - len(held) :]
        else:
            if self._functions:
                self._look(node)
            self.generic_visit(node)

    def _look(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        elif isinstance(node, ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.NamedExpr):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _CHANGING:
                self._note(node.func.value, node)
            return
        else:
            return
        for target in targets:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            for part in parts:
                if isinstance(part, ast.Name):
                    if part.id in self._globals[-1]:
                        self._note(part, node)
                elif isinstance(part, (ast.Subscript, ast.Attribute)):
                    self._note(part.value, node, part)

    def _note(self, holder: ast.expr, node: ast.AST, target: ast.expr | None = None) -> None:
        path: list[str] = [target.attr] if isinstance(target, ast.Attribute) else []
        while not isinstance(holder, ast.Name):
            if isinstance(holder, ast.Attribute):
                path.insert(0, holder.attr)
                holder = holder.value
            elif isinstance(holder, ast.Subscript):
                path.clear()
                holder = holder.value
            else:
                return
        if holder.id in self._imported:
            full = self._imported[holder.id]
            if full in self._modules:  # `module.name = …` or `module.name.add(…)`
                if path:
                    self._add(f"{full}.{path[0]}", node)
            else:
                self._add(full, node)
        elif holder.id in self._own and not self._is_local(holder.id):
            self._add(f"{self._module}.{holder.id}", node)

    def _is_local(self, name: str) -> bool:
        """Tell whether the innermost function has a variable or parameter of that name."""
        if name in self._globals[-1]:
            return False
        function = self._functions[-1]
        arguments = function.args  # type: ignore[attr-defined]
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        given += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
        if any(a.arg == name for a in given):
            return True
        return any(
            isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == name
            for n in ast.walk(function)
        )

    def _add(self, name: str, node: ast.AST) -> None:
        self.found.append(Change(name, node.lineno, frozenset(self._under)))  # type: ignore[attr-defined]


def thread_locals(root: Path) -> set[str]:
    """Collect the names of modules that are made by ``threading.local`` or a class derived from it."""
    found: set[str] = set()
    for file in sorted(root.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        kinds = {"threading.local"}
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and "threading.local" in map(ast.unparse, node.bases):
                kinds.add(node.name)
            value = getattr(node, "value", None)
            if isinstance(value, ast.Call) and ast.unparse(value.func) in kinds:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
                found.update(f"{_module(root, file)}.{n}" for t in targets for n in _names(t))
    return found


def caches(root: Path) -> Iterator[str]:
    """Find the functions whose results are kept without a bound: ``functools.cache`` and the like."""
    for file in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for decorator in node.decorator_list:
                text = ast.unparse(decorator).removeprefix("functools.")
                unbounded = text == "cache" or (text.startswith("lru_cache") and "None" in text)
                takes = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                if unbounded and takes:
                    yield f"{_module(root, file)}.{node.name}"
