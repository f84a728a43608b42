"""Binds names to what gives them their meaning: Python's scoping rules over libcst's tree.

What a binding means (an import, a value, a parameter) is the business of :mod:`.resolve` and
:mod:`.flow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import PurePath
from typing import Any

import libcst as cst

from tdev_core.codemod.engine.analysis.bindings import Binding, BindingKind, Scope
from tdev_core.codemod.engine.analysis.nodes import children, dotted
from tdev_core.codemod.engine.analysis.tree import Tree
from tdev_core.codemod.engine.vocabulary import names_of_module


@cache
def _is_statement(kind: type[cst.CSTNode]) -> bool:
    return issubclass(kind, (cst.BaseSmallStatement, cst.BaseCompoundStatement))


_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


class Scopes:
    """All scopes of a file; :meth:`of` gives the scope in which a node is evaluated."""

    def __init__(
        self,
        tree: Tree,
        gives_torch: frozenset[str] = frozenset(),
        folder: PurePath | None = None,
    ) -> None:
        """``gives_torch``: modules that give torch as well, by ``from .base import torch`` or by a star; ``folder`` is the file's.

        They are called as in :attr:`ProgramTree.torch_of`.
        """
        self.tree = tree
        self.top = Scope(tree.module, None)
        self._scopes: dict[cst.CSTNode, Scope] = {}
        self._gives_torch = gives_torch
        self._folder = folder or PurePath()
        self._stars: list[cst.ImportFrom] = []
        self._fill(tree.module, self.top)
        if self._stars and "torch" not in self.top.bindings:
            star = self._stars[0]
            given = Binding("torch", "from", star, self.top, target="torch", statement=star)
            self._bind(self.top, given)

    def of(self, node: cst.CSTNode) -> Scope:
        found = self._scopes.get(node)
        if found is not None:
            return found
        for parent in self.tree.ancestors(node):
            found = self._scopes.get(parent)
            if found is not None:
                break
        result = found or self.top
        self._scopes[node] = result
        return result

    def names_of(self, packages: set[str]) -> set[str]:
        """Return the names that are bound, in any scope, to something imported from these packages."""
        return {
            binding.name
            for binding in self.every()
            if binding.target is not None and binding.target.split(".")[0] in packages
        }

    def every(self) -> Iterator[Binding]:
        """Yield all bindings, those of each scope and name in the order of the text."""
        for scope in self._all:
            for bindings in scope.bindings.values():
                yield from bindings

    def forget(self) -> None:
        """Drop all bindings: they and their scopes hold each other, and with them the tree.

        What is dropped so is gone at once; a cycle would wait for the collector.
        """
        for scope in self._all:
            scope.bindings.clear()

    # -- construction ---------------------------------------------------------------------

    def _fill(self, root: cst.CSTNode, scope: Scope) -> None:
        stack: list[tuple[cst.CSTNode, Scope]] = [(child, scope) for child in children(root)]
        self._scopes[root] = scope
        while stack:
            node, here = stack.pop()
            handler = _HANDLERS.get(type(node))
            if handler is None:
                if _is_statement(type(node)):
                    self._scopes[node] = here
                stack += [(child, here) for child in reversed(children(node))]
            else:
                handler(self, node, here, stack)
        for s in self._all:
            for bindings in s.bindings.values():
                if len(bindings) > 1:
                    bindings.sort(key=lambda b: self.tree.span(b.node)[0])

    @property
    def _all(self) -> list[Scope]:
        return list({id(s): s for s in self._scopes.values()}.values())

    def _bind(self, scope: Scope, binding: Binding) -> None:
        home = scope
        how = scope.outer.get(binding.name)
        if how == "global":
            home = scope.module
        elif how == "nonlocal":
            parent = scope.parent
            while parent is not None and (parent.is_class or binding.name not in parent.bindings):
                parent = parent.parent
            home = parent or scope
        binding.scope = home
        home.bindings.setdefault(binding.name, []).append(binding)

    def _target(
        self, node: cst.CSTNode, scope: Scope, value: cst.BaseExpression | None, at: cst.CSTNode
    ) -> None:
        """Bind whatever names an assignment target holds."""
        if isinstance(node, cst.Name):
            kind: BindingKind = "other" if value is None else "value"
            self._bind(scope, Binding(node.value, kind, node, scope, value, statement=at))
        elif isinstance(node, (cst.Tuple, cst.List)):
            given = value.elements if isinstance(value, (cst.Tuple, cst.List)) else ()
            for element, part in zip(node.elements, _paired(node.elements, given), strict=True):
                self._target(element.value, scope, part, at)

    def _function(self, node: cst.FunctionDef, here: Scope, stack: _Stack) -> None:
        self._bind(here, Binding(node.name.value, "definition", node, here))
        inner = Scope(node, here)
        for child in children(node):
            if child is node.params:
                self._parameters(node.params, here, inner, stack)
            elif child is node.body:
                self._scopes[child] = inner
                self._declare(child, inner)
                stack.append((child, inner))
            elif child is not node.name:
                stack.append((child, here))

    def _lambda(self, node: cst.Lambda, here: Scope, stack: _Stack) -> None:
        inner = Scope(node, here)
        self._parameters(node.params, here, inner, stack)
        self._scopes[node.body] = inner
        stack.append((node.body, inner))

    def _parameters(self, params: cst.Parameters, here: Scope, inner: Scope, stack: _Stack) -> None:
        self._scopes[params] = here
        every = [*params.posonly_params, *params.params, *params.kwonly_params]
        every += [p for p in (params.star_arg, params.star_kwarg) if isinstance(p, cst.Param)]
        for param in every:
            self._bind(inner, Binding(param.name.value, "parameter", param, inner, param.default))
            for child in (param.annotation, param.default):
                if child is not None:
                    self._scopes[child] = here
                    stack.append((child, here))

    def _class(self, node: cst.ClassDef, here: Scope, stack: _Stack) -> None:
        self._bind(here, Binding(node.name.value, "definition", node, here))
        inner = Scope(node, here)
        for child in children(node):
            if child is node.body:
                self._scopes[child] = inner
                self._declare(child, inner)
                stack.append((child, inner))
            elif child is not node.name:
                stack.append((child, here))

    def _comprehension(self, node: cst.CSTNode, here: Scope, stack: _Stack) -> None:
        inner = Scope(node, here)
        first = node.for_in  # type: ignore[attr-defined]
        self._scopes[first.iter] = here
        stack.append((first.iter, here))
        for child in children(node):
            if child is first:
                continue
            self._scopes[child] = inner
            stack.append((child, inner))
        self._comp_for(first, inner, stack, skip_iter=True)

    def _comp_for(
        self, node: cst.CompFor, inner: Scope, stack: _Stack, skip_iter: bool = False
    ) -> None:
        self._scopes[node] = inner
        self._target(node.target, inner, None, node)
        self._scopes[node.target] = inner
        stack.append((node.target, inner))
        if not skip_iter:
            self._scopes[node.iter] = inner
            stack.append((node.iter, inner))
        for test in node.ifs:
            self._scopes[test] = inner
            stack.append((test, inner))
        if node.inner_for_in is not None:
            self._comp_for(node.inner_for_in, inner, stack)

    def _declare(self, body: cst.CSTNode, scope: Scope) -> None:
        """Note ``global`` and ``nonlocal`` before anything in the body is bound."""
        stack = [body]
        while stack:
            node = stack.pop()
            if isinstance(node, (cst.Global, cst.Nonlocal)):
                how = "global" if isinstance(node, cst.Global) else "nonlocal"
                for item in node.names:
                    scope.outer[item.name.value] = how
            elif isinstance(
                node, (cst.SimpleStatementLine, cst.BaseSuite, cst.BaseCompoundStatement)
            ) or type(node) in (cst.Else, cst.ExceptHandler, cst.Finally, cst.MatchCase):
                if not isinstance(node, (cst.FunctionDef, cst.ClassDef)):
                    stack.extend(children(node))

    def _assign(self, node: cst.Assign, here: Scope, stack: _Stack) -> None:
        self._scopes[node] = here
        for target in node.targets:
            self._target(target.target, here, node.value, node)
            stack.append((target.target, here))
        stack.append((node.value, here))

    def _ann_assign(self, node: cst.AnnAssign, here: Scope, stack: _Stack) -> None:
        self._scopes[node] = here
        if node.value is not None:
            self._target(node.target, here, node.value, node)
            stack.append((node.value, here))
        stack.append((node.target, here))
        stack.append((node.annotation, here))

    def _aug_assign(self, node: cst.AugAssign, here: Scope, stack: _Stack) -> None:
        self._scopes[node] = here
        self._target(node.target, here, None, node)
        stack.extend([(node.target, here), (node.value, here)])

    def _walrus(self, node: cst.NamedExpr, here: Scope, stack: _Stack) -> None:
        home = here
        while isinstance(home.node, _COMPREHENSIONS) and home.parent is not None:
            home = home.parent
        self._target(node.target, home, node.value, node)
        stack.extend([(node.target, here), (node.value, here)])

    def _for(self, node: cst.For, here: Scope, stack: _Stack) -> None:
        self._scopes[node] = here
        self._target(node.target, here, None, node)
        stack.extend((child, here) for child in children(node))

    def _as_name(self, node: cst.AsName, here: Scope, stack: _Stack) -> None:
        self._target(node.name, here, None, self.tree.parents[node])
        stack.append((node.name, here))

    def _import(self, node: cst.Import, here: Scope, stack: _Stack) -> None:
        self._scopes[node] = here
        for alias in node.names:
            full = dotted(alias.name) or ""
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                name, target = alias.asname.name.value, full
            else:
                name = target = full.split(".")[0]
            self._bind(here, Binding(name, "import", alias, here, target=target, statement=node))

    def _import_from(self, node: cst.ImportFrom, here: Scope, stack: _Stack) -> None:
        self._scopes[node] = here
        base = dotted(node.module) if node.module is not None else ""
        gives = False
        if self._gives_torch:
            written = "." * len(node.relative) + (base or "")
            gives = not self._gives_torch.isdisjoint(names_of_module(written, self._folder))
        if isinstance(node.names, cst.ImportStar):
            if gives and here is self.top:
                self._stars.append(node)
            return
        for alias in node.names:
            full = dotted(alias.name) or ""
            name = full
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                name = alias.asname.name.value
            target = "." + full if node.relative else f"{base}.{full}"
            if full == "torch" and gives:
                target = full
            self._bind(here, Binding(name, "from", alias, here, target=target, statement=node))

    def _match_name(self, node: cst.CSTNode, here: Scope, stack: _Stack) -> None:
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, cst.Name):
            self._target(name, here, None, node)
        stack.extend((child, here) for child in children(node))


_Stack = list[tuple[cst.CSTNode, Scope]]
_Handler = Callable[[Scopes, Any, Scope, _Stack], None]

_HANDLERS: dict[type[cst.CSTNode], _Handler] = {
    cst.FunctionDef: Scopes._function,
    cst.Lambda: Scopes._lambda,
    cst.ClassDef: Scopes._class,
    cst.Assign: Scopes._assign,
    cst.AnnAssign: Scopes._ann_assign,
    cst.AugAssign: Scopes._aug_assign,
    cst.NamedExpr: Scopes._walrus,
    cst.For: Scopes._for,
    cst.AsName: Scopes._as_name,
    cst.Import: Scopes._import,
    cst.ImportFrom: Scopes._import_from,
    cst.MatchAs: Scopes._match_name,
    cst.MatchStar: Scopes._match_name,
    cst.MatchMapping: Scopes._match_name,
    **{kind: Scopes._comprehension for kind in _COMPREHENSIONS},
}


def _paired(
    targets: Sequence[cst.BaseElement], values: Sequence[cst.BaseElement]
) -> list[cst.BaseExpression | None]:
    """Return the value of each target, None where it is not written out: ``b, *_, device = *x.shape, x.device``.

    They are counted from the left up to the first star on either side, and from the right.
    """
    parts: list[cst.BaseExpression | None] = [None] * len(targets)
    pairs = list(zip(targets, values, strict=False))
    if len(targets) != len(values) and not any(
        isinstance(e, cst.StarredElement) for e in (*targets, *values)
    ):
        return parts
    for step in (1, -1):
        for index, (target, value) in enumerate(
            pairs if step > 0 else zip(reversed(targets), reversed(values), strict=False)
        ):
            if isinstance(target, cst.StarredElement) or isinstance(value, cst.StarredElement):
                break
            parts[index if step > 0 else -1 - index] = value.value
    return parts
