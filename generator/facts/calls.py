"""Find the ATen operators that a Python function of torch calls, by reading its body."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Iterator

from generator.facts import notation
from generator.facts.model import Operator
from generator.facts.signatures import Reader, unwrap
from generator.facts.sources import FunctionNode

_BINDINGS = frozenset({"torch", "_VF", "torch._VF", "torch._C._nn", "torch._C._VariableFunctions"})
_NAMESPACES = ("fft", "linalg", "special")  # operators there carry the module's name in theirs


class Calls:
    """Knows the operators, and how torch's own Python code spells a call of one."""

    def __init__(self, reader: Reader, operators: Iterable[Operator]) -> None:
        self.reader = reader
        known = tuple(operators)
        self.names = frozenset(item.name for item in known)
        self.methods = frozenset(item.name for item in known if "method" in item.variants)

    def operators(self, value: object) -> tuple[str, ...]:
        """Base names of the operators in a function's own body, sorted.

        Calls of other Python functions are not followed. Methods of tensor parameters count where
        the body calls no operator as a function (``input.softmax(dim)``).
        """
        called: set[str] = set()
        for node in self._nodes(value):
            own = {name for call in _calls(node) if (name := self._function(call))}
            called |= own or {
                name for call in _calls(node) if (name := self._method(call, _tensors(node)))
            }
        return tuple(sorted(called))

    def _nodes(self, value: object) -> Iterator[FunctionNode]:
        function = unwrap(value)
        found = self.reader.node(function) if function else None
        if function is None or found is None:
            return
        source, node = found
        if source.name != "torch._jit_internal":
            yield node
            return
        # boolean_dispatch keeps the two functions that it chooses from in its closure.
        for cell in function.__closure__ or ():
            inner = cell.cell_contents
            if isinstance(inner, types.FunctionType):
                chosen = self.reader.node(inner)
                if chosen is not None and chosen[0].name != source.name:
                    yield chosen[1]

    def _function(self, node: ast.expr) -> str | None:
        prefix, _, name = (notation.dotted(node) or "").rpartition(".")
        if prefix in _BINDINGS:
            return name if name in self.names else None
        for module in _NAMESPACES:
            if prefix in (f"torch.{module}", f"torch._C._{module}"):
                full = name if name.startswith(f"{module}_") else f"{module}_{name}"
                return full if full in self.names else None
        return None

    def _method(self, node: ast.expr, tensors: frozenset[str]) -> str | None:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in tensors and node.attr in self.methods:
                return node.attr
        return None


def _calls(node: FunctionNode) -> Iterator[ast.expr]:
    for item in ast.walk(node):
        if isinstance(item, ast.Call):
            yield item.func


def _tensors(node: FunctionNode) -> frozenset[str]:
    """Parameters that are annotated as tensors, or called ``input`` without annotation."""
    found = set()
    for item in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        text = notation.dotted(item.annotation) if item.annotation else None
        if text in ("Tensor", "torch.Tensor") or (item.annotation is None and item.arg == "input"):
            found.add(item.arg)
    return frozenset(found)
