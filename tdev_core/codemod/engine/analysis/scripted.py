"""Finds which of a file's functions TorchScript compiles, as far as the file itself tells.

``torch.jit.script`` takes a function's source and compiles it with all that it calls: functions of
the file, methods of its class, the ``forward`` of submodules. What stands behind
``not torch.jit.is_scripting()``, or in a function marked ``ignore`` or ``unused``, is not compiled.

Upstream: docs.pytorch.org/docs/stable/jit_language_reference.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tdev_core.codemod.engine.analysis.flow import Flow
from tdev_core.codemod.engine.analysis.nodes import descendants
from tdev_core.codemod.engine.analysis.resolve import Resolver

COMPILERS = frozenset({"torch.jit.script", "torch.jit.script_if_tracing"})
_MARKS = frozenset({"torch.jit.script_method", "torch.jit.export"})
_LEFT_OUT = frozenset({"torch.jit.ignore", "torch.jit.unused"})
# Methods of a module that return the module.
_SAME_MODULE = frozenset("cpu cuda double eval float half requires_grad_ to train type".split())

_Nodes = list[cst.CSTNode]


@dataclass(frozen=True)
class Compilation:
    """One place that has something compiled: the node that names the compiler, and what it compiles.

    ``known`` is false where the file does not show all that is compiled.
    """

    node: cst.BaseExpression
    compiler: str
    functions: frozenset[cst.FunctionDef]
    known: bool


class Scripted:
    """The functions that are compiled, and by what."""

    def __init__(
        self, resolver: Resolver, flow: Flow, called: frozenset[str] = frozenset()
    ) -> None:
        """``called``: functions that what other files compile calls, which is compiled with it."""
        self._resolver = resolver
        self._tree = resolver.tree
        self._flow = flow
        self.compilations: list[Compilation] = []
        if "jit" in self._tree.source:
            self._find()
        self.functions = frozenset().union(*(c.functions for c in self.compilations))
        if "is_scripting" in self._tree.source:
            self.functions |= frozenset(self._that_ask())
        if called:
            roots: _Nodes = [f for f in _margin(self._tree.module) if f.name.value in called]
            self.functions |= self._reached(roots)

    def _that_ask(self) -> Iterator[cst.FunctionDef]:
        """Yield the functions that ask ``torch.jit.is_scripting()``: they are written to be compiled, wherever that is done."""
        for node in self._tree.of(cst.Name, cst.Attribute):
            if self._resolver.torch_name(node) == "torch.jit.is_scripting":
                around = self._tree.ancestors(node)
                home = next((p for p in around if isinstance(p, cst.FunctionDef)), None)
                if home is not None:
                    yield home

    def holds(self, node: cst.CSTNode) -> bool:
        """Tell whether this is a part of what is compiled."""
        return self.home(node) is not None

    def home(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Return the compiled function in whose body this stands."""
        if not self.functions:
            return None
        below = node
        for parent in self._tree.ancestors(node):
            if isinstance(parent, (cst.If, cst.IfExp)):
                scripting = self._scripting(parent.test)
                if (below is parent.body and scripting is False) or (
                    below is parent.orelse and scripting is True
                ):
                    return None
            elif isinstance(parent, cst.FunctionDef) and below is parent.body:
                return parent if parent in self.functions else None
            below = parent
        return None

    def _scripting(self, test: cst.BaseExpression) -> bool | None:
        """Evaluate a test inside a script, where the compiler knows it already.

        Both operands of ``and`` are compiled even so, unlike the arm that is not taken.
        """
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            inner = self._scripting(test.expression)
            return None if inner is None else not inner
        if isinstance(test, cst.BooleanOperation):
            decides = isinstance(test.operator, cst.Or)
            sides = (self._scripting(test.left), self._scripting(test.right))
            if decides in sides:
                return decides
            return None if None in sides else not decides
        if isinstance(test, cst.Call) and not test.args:
            if self._resolver.torch_name(test.func) == "torch.jit.is_scripting":
                return True
        return None

    # -- what is compiled -------------------------------------------------------------------

    def _find(self) -> None:
        for node in self._tree.of(cst.Name, cst.Attribute):
            name = node.attr.value if isinstance(node, cst.Attribute) else node.value
            if name not in _LAST:
                continue
            found = self._resolver.torch_name(node)
            if found in COMPILERS or found in _MARKS:
                named = self._named_otherwise(node)
                uses = [each for each in self._tree.of(cst.Name) if each.value == named]
                for each in uses if named else [node]:
                    self._compilation(each, found, node)

    def _named_otherwise(self, node: cst.BaseExpression) -> str:
        """Return the name by which a file calls a compiler, if it gives it one: ``MyStatic = torch.jit.script``."""
        parent = self._tree.parents[node]
        if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
            return ""
        target = parent.targets[0].target
        return target.value if isinstance(target, cst.Name) else ""

    def _compilation(
        self, used: cst.BaseExpression, compiler: str, named: cst.BaseExpression
    ) -> None:
        """Note what is compiled where a compiler is used; ``named`` is where it has torch's name."""
        parent = self._tree.parents[used]
        roots: _Nodes | None = None
        if isinstance(parent, cst.Decorator):
            decorated = self._tree.parents[parent]
            roots = [decorated] if isinstance(decorated, cst.FunctionDef) else _methods(decorated)
        elif isinstance(
            parent, (cst.Attribute, cst.AsName, cst.ImportAlias, cst.ImportFrom, cst.AssignTarget)
        ):
            return
        elif isinstance(parent, cst.Call) and parent.func is used and parent.args:
            roots = self._given(parent.args[0].value)
        if roots is None:
            self.compilations.append(Compilation(named, compiler, frozenset(), False))
        elif roots:
            self.compilations.append(Compilation(named, compiler, self._reached(roots), True))

    def _given(self, node: cst.BaseExpression, deep: int = 4) -> _Nodes | None:
        """Return the functions that are compiled of an argument; None where the file does not say."""
        if not deep:
            return None
        if isinstance(node, cst.Name):
            return self._given_by_name(node, deep)
        if isinstance(node, cst.Attribute):
            owner = self._class_of(node)
            if owner is not None and _is_self(node.value):
                method = self._method(owner, node.attr.value)
                if method is not None:
                    return [method]
                values = self._flow.self_values(node, node.attr.value)
                return _all([self._given(value, deep - 1) for value in values])
            return None
        if isinstance(node, cst.Call):
            if node is not (module := _module(node)):
                return self._given(module, deep - 1)
            made = self._class_named(node.func)
            return None if made is None else self._entries(made)
        return None

    def _given_by_name(self, node: cst.Name, deep: int) -> _Nodes | None:
        given: list[_Nodes | None] = []
        for binding in self._resolver.scopes.of(node).lookup(node.value):
            if isinstance(binding.node, cst.FunctionDef):
                given.append([binding.node])
            elif isinstance(binding.node, cst.ClassDef):
                given.append(_methods(binding.node))
            elif binding.kind != "value" or binding.value is None:
                given.append(None)
            elif not (
                _names(_module(binding.value), node.value)  # model = model.to(device)
                or self._compiles(binding.value, node.value)  # Output = torch.jit.script(Output)
            ):
                given.append(self._given(binding.value, deep - 1))
        return _all(given)

    def _compiles(self, value: cst.BaseExpression, name: str) -> bool:
        """Tell whether a value is what a compiler makes of ``name``."""
        if not isinstance(value, cst.Call) or not value.args:
            return False
        given = self._resolver.torch_name(value.func) in COMPILERS
        return given and _names(value.args[0].value, name)

    def _entries(self, owner: cst.ClassDef) -> _Nodes:
        """Return the functions that are compiled of a module: its ``forward``, and what is marked for it."""
        forward = self._method(owner, "forward")
        marked = [m for m in _methods(owner) if self._is_marked(m, _MARKS)]
        return [owner, *marked] if forward is None else [owner, forward, *marked]

    def _reached(self, roots: _Nodes) -> frozenset[cst.FunctionDef]:
        """Functions and all that they call, of this file."""
        seen: set[cst.CSTNode] = set()
        todo = list(roots)
        while todo:
            node = todo.pop()
            if node in seen or self._is_marked(node, _LEFT_OUT):
                continue
            seen.add(node)
            if isinstance(node, cst.ClassDef):
                todo += self._submodules(node)
            elif isinstance(node, cst.FunctionDef):
                todo += self._called(node)
        return frozenset(node for node in seen if isinstance(node, cst.FunctionDef))

    def _called(self, function: cst.FunctionDef) -> Iterator[cst.CSTNode]:
        owner = self._class_of(function)
        for node in descendants(function.body):
            if not isinstance(node, cst.Call):
                continue
            if isinstance(node.func, cst.Name):
                for binding in self._resolver.scopes.of(node).lookup(node.func.value):
                    if isinstance(binding.node, cst.FunctionDef):
                        yield binding.node
                    elif isinstance(binding.node, cst.ClassDef):
                        yield from _methods(binding.node)
            elif isinstance(node.func, cst.Attribute) and owner is not None:
                if _is_self(node.func.value):
                    method = self._method(owner, node.func.attr.value)
                    if method is not None:
                        yield method

    def _submodules(self, owner: cst.ClassDef) -> Iterator[cst.CSTNode]:
        """Yield the functions that are compiled of the modules that a class of modules may put into itself."""
        for node in descendants(owner.body):
            made = self._class_named(node) if isinstance(node, cst.Name) else None
            if made is not None and made is not owner and self._method(made, "forward"):
                yield from self._entries(made)

    def _is_marked(self, node: cst.CSTNode, marks: frozenset[str]) -> bool:
        """Tell whether one of these decorators stands above a function."""
        for decorator in getattr(node, "decorators", ()):
            mark = decorator.decorator
            if isinstance(mark, cst.Call):
                mark = mark.func
            if self._resolver.torch_name(mark) in marks:
                return True
        return False

    def _class_named(self, node: cst.BaseExpression) -> cst.ClassDef | None:
        if not isinstance(node, cst.Name):
            return None
        bindings = self._resolver.scopes.of(node).lookup(node.value)
        found = bindings[0].node if len(bindings) == 1 else None
        return found if isinstance(found, cst.ClassDef) else None

    def _class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        parents = self._tree.ancestors(node)
        return next((p for p in parents if isinstance(p, cst.ClassDef)), None)

    def _method(self, owner: cst.ClassDef, name: str, deep: int = 4) -> cst.FunctionDef | None:
        """Return a method of a class or of the classes of this file that it is derived from."""
        for method in _methods(owner):
            if isinstance(method, cst.FunctionDef) and method.name.value == name:
                return method
        for base in owner.bases if deep else ():
            above = self._class_named(base.value)
            found = self._method(above, name, deep - 1) if above is not None else None
            if found is not None:
                return found
        return None


_LAST = frozenset(name.rpartition(".")[2] for name in COMPILERS | _MARKS)


def _margin(module: cst.Module) -> Iterator[cst.FunctionDef]:
    return (each for each in module.body if isinstance(each, cst.FunctionDef))


def _methods(owner: cst.CSTNode) -> _Nodes:
    body = getattr(getattr(owner, "body", None), "body", ())
    return [node for node in body if isinstance(node, cst.FunctionDef)]


def _all(given: list[_Nodes | None]) -> _Nodes | None:
    """Everything, if everything is known."""
    found: _Nodes = []
    for nodes in given:
        if nodes is None:
            return None
        found += nodes
    return found if given else None


def _module(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the module that ``module.to(device).eval()`` returns."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value not in _SAME_MODULE:
            break
        node = node.func.value
    return node


def _names(node: cst.BaseExpression, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _is_self(node: cst.BaseExpression) -> bool:
    return _names(node, "self")
