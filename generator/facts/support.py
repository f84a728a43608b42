"""Tell the kernel that answers for an operator on each backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from generator.facts.model import Member, Operator
from generator.facts.operators import EXPLICIT, IMPLICIT, NON_FUNCTIONAL

BackendName = Literal["cpu", "cuda", "mps"]
KEYS: Mapping[BackendName, str] = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS"}
Table = dict[BackendName, "str | None"]


def support(operator: Operator) -> Table:
    """Return the dispatch key that answers per backend; ``None`` where no kernel is registered.

    The order is the dispatcher's: the backend's own kernel, then the explicit composites, then the
    implicit one. An implicit composite is made of other operators, so that its answer is only as
    good as theirs. Sparse, quantized and nested kernels have keys of their own and do not count:
    the question is about dense tensors.
    """
    table: Table = {}
    for backend, key in KEYS.items():
        order = (key, NON_FUNCTIONAL, EXPLICIT, IMPLICIT)
        table[backend] = next((item for item in order if item in operator.dispatch), None)
    return table


class Operators:
    """Looks operators up by the base names that ``Member.operators`` holds."""

    def __init__(self, operators: Iterable[Operator]) -> None:
        self._by_name: dict[str, list[Operator]] = {}
        for item in operators:
            self._by_name.setdefault(item.name, []).append(item)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def overloads(self, name: str) -> tuple[Operator, ...]:
        """Return all overloads of a base name; ``()`` for an unknown one."""
        return tuple(self._by_name.get(name, ()))

    def of(self, member: Member) -> tuple[Operator, ...]:
        """Return all overloads of all operators behind a public function."""
        return tuple(item for name in member.operators for item in self.overloads(name))

    def support(self, member: Member) -> Table | None:
        """``support`` of a public function; ``None`` where the facts know no operator of it.

        A backend has the function if every operator behind it has some overload with a kernel
        there. The key named is the least specific one that has to answer.
        """
        if not member.operators or not all(name in self for name in member.operators):
            return None
        result: Table = {}
        for backend, key in KEYS.items():
            rank = (key, NON_FUNCTIONAL, EXPLICIT, IMPLICIT)
            answers: list[str | None] = []
            for name in member.operators:
                keys = [support(item)[backend] for item in self._by_name[name]]
                known = [item for item in keys if item is not None]
                answers.append(min(known, key=rank.index) if known else None)
            if any(item is None for item in answers):
                result[backend] = None
            else:
                result[backend] = max((item for item in answers if item), key=rank.index)
        return result
