"""Has a loop's number be what it is in a compiled kernel, a tensor of one number, where the interpreter has Python's ``int``.

``for i in range(n): j = i.to(tl.int64)`` failed. It stays an ``int``, which is many times faster to compute with, until something
is asked of it that only a tensor has.

Source: visit_For of triton/compiler/code_generator.py, and _new_range of triton/runtime/interpreter.py, 3.6 to 3.9.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

__all__ = ["mend"]


def mend(interpreter: ModuleType) -> None:
    """Mend ``triton.runtime.interpreter``, whose classes are Triton's own."""
    semantic = vars(interpreter)["interpreter_semantic"]
    number = _number(semantic.to_tensor)

    def counted(over: Iterable[Any]) -> Iterable[Any]:
        return map(number, over) if isinstance(over, range) else over

    interpreter.ASTTransformer.visit_For = _for
    semantic.tdev_counted = counted


def _for(self: ast.NodeTransformer, node: ast.For) -> ast.For:
    self.generic_visit(node)
    owner = ast.Name("interpreter_semantic", ast.Load())
    node.iter = ast.Call(ast.Attribute(owner, "tdev_counted", ast.Load()), [node.iter], [])
    return node


def _number(to_tensor: Callable[[int], Any]) -> type[int]:
    """Make the class of such numbers: what is computed of them and whole numbers is one of them again."""

    class LoopNumber(int):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):  # Python and NumPy ask these of every number
                raise AttributeError(name)
            return getattr(to_tensor(int(self)), name)

    def computed(name: str) -> Callable[..., Any]:
        plain = getattr(int, name)

        def compute(self: int, *others: Any) -> Any:
            found = plain(self, *others)
            return LoopNumber(found) if type(found) is int else found

        return compute

    for kind in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
        for name in (f"__{kind}__", f"__r{kind}__"):
            setattr(LoopNumber, name, computed(name))
    for name in ("__neg__", "__invert__"):
        setattr(LoopNumber, name, computed(name))
    return LoopNumber
