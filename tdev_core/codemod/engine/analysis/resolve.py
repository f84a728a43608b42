"""Resolves expressions to names of torch: ``th.cuda.synchronize`` → ``torch.cuda.synchronize``."""

from __future__ import annotations

import re
from dataclasses import dataclass

import libcst as cst

from tdev_core.codemod.engine.analysis.bindings import Binding, Scope
from tdev_core.codemod.engine.analysis.nodes import dotted
from tdev_core.codemod.engine.analysis.scopes import Scopes
from tdev_core.codemod.engine.analysis.tree import Tree
from tdev_core.codemod.engine.api import Names

TENSOR_TYPE = re.compile(r"torch\.cuda\.(?:sparse\.)?\w+Tensor\Z")
"""Types that every build of torch has: an annotation asks nothing of one."""
SAME = frozenset(
    f"torch.cuda.{name}"
    for name in ("OutOfMemoryError", "AcceleratorError", "DeferredCudaCallError")
)
"""Exceptions, which are torch's own whatever is used."""
_ARMED = (cst.If, cst.Try, cst.TryStar)


@dataclass(frozen=True)
class Reference:
    """A chain of attributes that starts at an import of torch.

    ``name`` is the full dotted name, ``root`` the name node it starts with, ``bindings`` the
    imports behind that name (several for ``try``/``except`` and the like), ``target`` what
    they import, and ``package`` ``torch`` or ``tdev``.
    """

    node: cst.BaseExpression
    name: str
    root: cst.Name
    bindings: tuple[Binding, ...]
    target: str
    package: str


class Resolver:
    """Resolves names against imports; remembers what it found."""

    def __init__(self, tree: Tree, scopes: Scopes, names: Names, either: bool = False) -> None:
        """``either``: a name that one import or another gives, by the release, is CUDA's where one of them is."""
        self.tree = tree
        self._either = either
        self.scopes = scopes
        self.names = names
        self.roots = scopes.names_of({"torch", "tdev"})
        """The names that some import binds to something of torch's or tdev's."""
        self._memo: dict[tuple[int, str], tuple[str, tuple[Binding, ...]] | None] = {}

    def reference(self, node: cst.CSTNode) -> Reference | None:
        """Return the torch or tdev name that an attribute chain stands for, else None."""
        chain = dotted(node)
        if chain is None or chain.partition(".")[0] not in self.roots:
            return None
        root = node
        while isinstance(root, cst.Attribute):
            root = root.value
        assert isinstance(root, cst.Name)
        first, _, rest = chain.partition(".")
        found = self.imported(self.scopes.of(root), first)
        if found is None:
            return None
        target, bindings = found
        package = target.split(".")[0]
        name = "torch" + target[len(package) :] + ("." + rest if rest else "")
        assert isinstance(node, cst.BaseExpression)
        return Reference(node, name, root, bindings, target, package)

    def imported(self, scope: Scope, name: str) -> tuple[str, tuple[Binding, ...]] | None:
        """Return the target that ``name`` imports from torch or tdev, if all its bindings agree on one target.

        A fallback of ``None`` or a stub class beside a failed import does not disturb.
        """
        key = (id(scope), name)
        if key in self._memo:
            return self._memo[key]
        result = None
        bindings = scope.lookup(name)
        imports = [b for b in bindings if b.target is not None]
        others = [b for b in bindings if b.target is None]
        targets = {b.target for b in imports if b.target is not None}
        if targets == {"torch"} and len({b.kind for b in imports}) > 1:
            pass  # torch itself, or what another module gives instead
        elif len(targets) == 1 and all(self._fallback(b) for b in others):
            target = next(iter(targets))
            if target.split(".")[0] in ("torch", "tdev"):
                result = (target, tuple(imports))
        elif targets and len({t.partition(".")[2] for t in targets}) == 1:
            if {t.split(".")[0] for t in targets} == {"torch", "tdev"}:
                already = "tdev" if self._chosen(imports) else "torch"
                target = next(t for t in targets if t.startswith(already))
                result = (target, tuple(imports))
        elif self._either and all(map(self._fallback, others)) and _of_either_release(targets):
            result = (min(targets, key=lambda t: not t.startswith("torch.cuda.")), tuple(imports))
        self._memo[key] = result
        return result

    def _chosen(self, imports: list[Binding]) -> bool:
        """Tell whether each import of torch has one of tdev in another arm: what is migrated runs without tdev too."""
        tdevs = [
            set(self.tree.ancestors(b.node))
            for b in imports
            if (b.target or "").split(".")[0] == "tdev"
        ]
        return all(
            any(
                isinstance(next(p for p in self.tree.ancestors(b.node) if p in around), _ARMED)
                for around in tdevs
            )
            for b in imports
            if (b.target or "").split(".")[0] == "torch"
        )

    def _fallback(self, binding: Binding) -> bool:
        """Tell whether a binding is what an ``except ImportError`` leaves behind."""
        if binding.kind == "value" and isinstance(binding.value, cst.Name):
            if binding.value.value in ("None", "False", "object"):
                return True
        return any(isinstance(p, (cst.ExceptHandler,)) for p in self.tree.ancestors(binding.node))

    def torch_name(self, node: cst.CSTNode) -> str | None:
        """Return the full torch name of an expression (tdev's counts as torch's), else None."""
        found = self.reference(node)
        if found is not None:
            return found.name
        chain = dotted(node)
        if chain is None:
            return None
        # A variable that holds a torch object: `cuda = torch.cuda`.
        root = node
        while isinstance(root, cst.Attribute):
            root = root.value
        assert isinstance(root, cst.Name)
        bindings = self.scopes.of(root).lookup(root.value)
        if len(bindings) == 1 and bindings[0].kind == "value" and bindings[0].value is not None:
            value = bindings[0].value
            if dotted(value) is not None and self.scopes.of(value) is not None:
                held = self.reference(value)
                if held is not None and not held.name == "torch":
                    rest = chain.partition(".")[2]
                    return held.name + ("." + rest if rest else "")
        return None

    def text_name(self, at: cst.CSTNode, text: str) -> str:
        """Return the torch name of a dotted name written as text (a quoted annotation)."""
        first, _, rest = text.partition(".")
        found = self.imported(self.scopes.of(at), first)
        if found is None:
            return text
        target = found[0]
        package = target.split(".")[0]
        return "torch" + target[len(package) :] + ("." + rest if rest else "")


def _of_either_release(targets: set[str]) -> bool:
    """Tell whether imports are of one thing: ``torch.amp.autocast``, and ``torch.cuda.amp.autocast`` before there was that."""
    if len({t.rpartition(".")[2] for t in targets}) != 1 or any("." not in t for t in targets):
        return False
    return {t.split(".")[0] for t in targets} == {"torch"}
