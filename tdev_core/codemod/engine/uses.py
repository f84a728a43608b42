"""Lists what a text uses of torch: names, whatever it calls them, and methods that move something to a device.

It is what an audit counts.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass

from tdev_core.codemod.engine.api import Names, Options

# Of these names other libraries have methods, too, and torch's own need no device: they count where one is CUDA.
_ANYBODYS = frozenset({"to", "type"})
_OFF_DEVICE_LISTS = frozenset(
    {"record_stream"}
)  # they take no device and are of a device all the same


@dataclass(frozen=True, order=True)
class Use:
    """One place that names something of torch's, or calls a method of a tensor or module.

    Attributes:
        line: from 1.
        column: from 1, in characters.
        name: the whole dotted name, ``torch.nn.Linear`` for ``nn.Linear``; ``.cuda`` for a method.
    """

    line: int
    column: int
    name: str


def uses(source: str, names: Names) -> list[Use]:
    """Return every use of a name of torch, or of tdev in its place, in the order of the text.

    An import of a name counts as one: ``from torch.cuda import synchronize``. A method counts by its name
    where only tensors, modules and storages have it (``x.cuda()``), else where it is given CUDA (``x.to("cuda")``).

    Raises:
        SyntaxError_: the text does not parse.
    """
    if "torch" not in source and "tdev" not in source:
        return []
    import libcst as cst

    from tdev_core.codemod.engine.analysis.nodes import children
    from tdev_core.codemod.engine.file import File
    from tdev_core.codemod.engine.rules.moves import needs_shim

    methods = frozenset(names.device_methods) | _OFF_DEVICE_LISTS
    collecting = gc.isenabled()
    gc.disable()  # see `driver.rewrite`: a tree is many objects that all stay until the end
    try:
        file = File(source, names, Options(), "", whole=True)
        found: set[Use] = set()

        def note(node: cst.CSTNode, name: str) -> None:
            line, column = file.tree.position(file.tree.span(node)[0])
            found.add(Use(line, column, name))

        def is_method(node: cst.Call) -> bool:
            if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in methods:
                return False
            if file.resolver.torch_name(node.func) is not None:
                return False
            return node.func.attr.value not in _ANYBODYS or needs_shim(file, node)

        stack: list[cst.CSTNode] = [file.tree.module]
        while stack:
            node = stack.pop()
            if isinstance(node, (cst.Name, cst.Attribute)):
                name = file.resolver.torch_name(node)
                if name is not None:
                    note(node, name)
                elif isinstance(node, cst.Attribute):
                    stack.append(node.value)
            elif isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Name):
                pass  # a name of the program's own, whatever it will hold
            elif isinstance(node, cst.Arg):
                stack.append(node.value)  # a keyword is the callee's name
            elif not isinstance(node, (cst.Import, cst.ImportFrom)):
                if isinstance(node, cst.Call) and is_method(node):
                    assert isinstance(node.func, cst.Attribute)
                    note(node.func.attr, f".{node.func.attr.value}")
                stack += children(node)
        for binding in file.scopes.every():
            package, dot, rest = (binding.target or "").partition(".")
            if package in ("torch", "tdev") and dot:
                note(binding.node, f"torch.{rest}")
        file.scopes.forget()
        return sorted(found)
    finally:
        if collecting:
            gc.enable()
