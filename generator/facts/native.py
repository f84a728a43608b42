"""Signatures of what is written in C++: from the stubs, else from ATen's own schemas."""

from __future__ import annotations

import sys
import types
from dataclasses import replace
from functools import partial

from generator.facts.functions import Function
from generator.facts.library import Library
from generator.facts.members import Collected
from generator.facts.model import Operator, Parameter, Signature, Source
from generator.facts.origins import Origins
from generator.facts.signatures import Reader, Speller
from generator.facts.sources import ModuleSource, parse

VARIABLE_FUNCTIONS = "torch._C._VariableFunctions"
# Stubs that add something to Python source; all others belong to modules without source.
_BESIDE_SOURCE = ("torch.nn.functional",)


class Builtins:
    """Looks up builtins and classes of torch's C++ part."""

    def __init__(self, library: Library, origins: Origins, operators: tuple[Operator, ...]) -> None:
        self.stubs = {
            module: stub
            for module in library.stubs()
            # torch._VF's stub is a copy of _VariableFunctions'.
            if module.startswith("torch._C.") or module == "torch._C" or module in _BESIDE_SOURCE
            if (stub := library.checked(module)) is not None
        }
        for module, stub in self.stubs.items():
            if module not in _BESIDE_SOURCE:
                origins.add(stub)
        self.origins = origins
        self.reader = Reader(origins)
        self._operators: dict[str, list[Operator]] = {}
        for operator in operators:
            self._operators.setdefault(operator.name, []).append(operator)
        self._by_identity = self._identities()
        self._beside = {
            module: Speller(partial(self._resolve_beside, module)) for module in _BESIDE_SOURCE
        }

    def _identities(self) -> dict[int, tuple[str, str]]:
        """Tell which stub entry each live builtin is."""
        found: dict[int, tuple[str, str]] = {}
        for module, stub in sorted(self.stubs.items(), reverse=True):
            live = self._live(module)
            for name in stub.functions:
                value = getattr(live, name, None)
                if isinstance(value, types.BuiltinFunctionType):
                    found[id(value)] = (module, name)
        return found

    def aliases(self, collected: Collected) -> dict[str, str]:
        """Public names of what the stubs call by a private path (``torch._C.device``)."""
        public = {
            id(found.value): name
            for name, found in collected.members.items()
            if found.kind in ("class", "builtin")
        }
        found: dict[str, str] = {}
        for module, stub in self.stubs.items():
            live = self._live(module)
            for name in stub.classes:
                value = getattr(live, name, None)
                if isinstance(value, type) and id(value) in public:
                    found[f"{module}.{name}"] = public[id(value)]
        return found

    def _live(self, module: str) -> object:
        import torch

        if module == VARIABLE_FUNCTIONS:
            return torch._C._VariableFunctions
        if module in sys.modules or not module.startswith("torch._C."):
            return sys.modules.get(module)
        return getattr(torch._C, module.removeprefix("torch._C."), None)

    def operator_name(self, value: object) -> str | None:
        """Base name of the ATen operator that a builtin binds."""
        name = getattr(value, "__name__", None)
        module = getattr(value, "__module__", None)
        if not isinstance(name, str) or name not in self._operators:
            return None
        if module == "torch" and getattr(value, "__self__", None) is not None:
            return None  # a function of torch._C that is only called like an operator
        return name

    def function(self, value: object) -> tuple[tuple[Signature, ...], Source]:
        """Return all overloads of a builtin, and where they were found."""
        entry = self._by_identity.get(id(value))
        if entry is None and getattr(value, "__module__", None) in self.stubs:
            entry = (str(value.__module__), str(getattr(value, "__name__", "")))
        if entry is not None and entry[1] in self.stubs[entry[0]].functions:
            stub = self.stubs[entry[0]]
            return self._signatures(stub, stub.functions[entry[1]], bound=False), "stub"
        operator = self.operator_name(value)
        if operator is not None:
            return self.schema(operator), "schema"
        if getattr(value, "__module__", None) == "torch":
            # torch._C binds some functions that only the stub of its neighbour declares.
            stub = self.stubs[VARIABLE_FUNCTIONS]
            known = stub.functions.get(str(getattr(value, "__name__", "")))
            if known:
                return self._signatures(stub, known, bound=False), "stub"
        return self.reader.function(value), "live"

    def beside(self, module: str, name: str) -> tuple[Signature, ...]:
        """Overloads from a stub that lies beside a Python module (``nn/functional.pyi``)."""
        stub = self.stubs.get(module)
        if stub is None or name not in stub.functions:
            return ()
        return self._signatures(stub, stub.functions[name], bound=False)

    def constructor(self, cls: type) -> tuple[Signature, ...]:
        """Overloads of a C++ class's constructor."""
        for name in ("__init__", "__new__"):
            found = self.method(cls, name)
            if found:
                return found
        return ()

    def method(self, cls: type, name: str) -> tuple[Signature, ...]:
        """Overloads of one method of a C++ class, without ``self``."""
        module, qualname = cls.__module__, cls.__qualname__
        for stub in (self.stubs.get(module), self.stubs.get("torch._C")):
            known = stub.classes.get(qualname) if stub else None
            if stub is not None and known is not None and name in known.methods:
                return self._signatures(stub, known.methods[name], bound=True)
        return ()

    def _signatures(
        self, stub: ModuleSource, functions: list[Function], bound: bool
    ) -> tuple[Signature, ...]:
        speller = self._beside.get(stub.name) or self.reader.speller(stub.name)
        return tuple(speller.signature(function, bound) for function in functions)

    def _resolve_beside(self, module: str, path: str) -> str:
        """Canonical path of what the stub, not the source of that name, imports or defines."""
        head, _, tail = path.partition(".")
        start = self.stubs[module].origin(head)
        return self.origins.resolve(f"{start}.{tail}" if tail else start) if start else path

    def schema(self, operator: str) -> tuple[Signature, ...]:
        """Python signatures of an ATen operator, as torch's own code generator derives them."""
        from torchgen.api.python import (  # type: ignore[import-untyped]
            signature_from_schema,
        )
        from torchgen.model import FunctionSchema  # type: ignore[import-untyped]

        functional: list[Signature] = []
        outputs: list[Parameter] = []
        for item in self._operators[operator]:
            parsed = signature_from_schema(
                FunctionSchema.parse(item.schema), category_override=None, method=False, pyi=True
            )
            signature = self._parsed(parsed.signature_str_pyi())
            out = [parameter for parameter in signature.parameters if parameter.name == "out"]
            if out:
                outputs += out
            else:
                functional.append(signature)
        if outputs:
            functional = [_with_out(signature, outputs[0]) for signature in functional]
        return tuple(dict.fromkeys(functional))

    def _parsed(self, text: str) -> Signature:
        ((function,),) = parse(VARIABLE_FUNCTIONS, text, is_package=False).functions.values()
        return self.reader.speller(VARIABLE_FUNCTIONS).signature(function)


def _with_out(signature: Signature, out: Parameter) -> Signature:
    positional = [item for item in signature.parameters if item.kind != "keyword_only"]
    keyword = [item for item in signature.parameters if item.kind == "keyword_only"]
    return replace(signature, parameters=(*positional, out, *keyword))
