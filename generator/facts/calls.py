"""Find the ATen operators that a Python function of torch calls, by reading its body."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator

from generator.facts.functions import BINDINGS, NAMESPACES, Function
from generator.facts.model import Operator
from generator.facts.signatures import Reader, unwrap


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
        for function in self._functions(value):
            own = {name for path in function.calls if (name := self._function(path))}
            called |= own or {
                name for path in function.calls if (name := self._method(path, function.tensors))
            }
        return tuple(sorted(called))

    def _functions(self, value: object) -> Iterator[Function]:
        function = unwrap(value)
        found = self.reader.node(function) if function else None
        if function is None or found is None:
            return
        source, own = found
        if source.name != "torch._jit_internal":
            yield own
            return
        # boolean_dispatch keeps the two functions that it chooses from in its closure.
        for cell in function.__closure__ or ():
            inner = cell.cell_contents
            if isinstance(inner, types.FunctionType):
                chosen = self.reader.node(inner)
                if chosen is not None and chosen[0].name != source.name:
                    yield chosen[1]

    def _function(self, path: str) -> str | None:
        prefix, _, name = path.rpartition(".")
        if prefix in BINDINGS:
            return name if name in self.names else None
        for module in NAMESPACES:
            if prefix in (f"torch.{module}", f"torch._C._{module}"):
                full = name if name.startswith(f"{module}_") else f"{module}_{name}"
                return full if full in self.names else None
        return None

    def _method(self, path: str, tensors: frozenset[str]) -> str | None:
        prefix, _, name = path.rpartition(".")
        return name if prefix in tensors and name in self.methods else None
