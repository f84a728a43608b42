"""Put the facts together: walk, collect, read signatures, list what may differ elsewhere."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from generator.facts import docs, notation
from generator.facts import members as collecting
from generator.facts.builds import same_members, same_modules
from generator.facts.calls import Calls
from generator.facts.differences import differences
from generator.facts.library import Library
from generator.facts.members import Found
from generator.facts.methods import device_methods
from generator.facts.model import Facts, Member, Operator, Signature, Source
from generator.facts.native import Builtins
from generator.facts.operators import read_operators
from generator.facts.origins import Origins
from generator.facts.pin import normalise
from generator.facts.private import chosen, private_modules
from generator.facts.signatures import is_torch
from generator.facts.text import parsed
from generator.facts.walk import Progress, walk
from generator.running.workers import available, pool

# Written by torch's build: what it assigns is a fact about the build, not about torch.
BUILD_MODULES = frozenset({"torch.version"})
_READERS = 4  # more processes than that are not done sooner than the import of torch


def read_installed(progress: Progress | None = None) -> Facts:
    """Read everything from the torch that this Python has; takes some seconds, imports all of it."""
    with warnings.catch_warnings(), _library() as library:
        warnings.simplefilter("ignore")  # looking at a deprecated object is not using it
        return _read(library, progress)


@contextmanager
def _library() -> Iterator[Library]:
    """Sources that are read while this process imports torch, where there is a processor for that."""
    readers = min(available() - 1, _READERS)
    if readers < 1:
        yield Library()
        return
    with pool(readers) as workers:
        yield Library(workers)


def _read(library: Library, progress: Progress | None) -> Facts:
    walked = walk(progress)
    library.outline_ahead(chosen(library))
    import torch
    import torchgen  # type: ignore[import-untyped]

    table = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
    if progress:
        progress("operators", 0, 0)
    operators = read_operators(table)
    if progress:
        progress("stubs", 0, 0)
    origins = Origins(library)
    builtins = Builtins(library, origins, operators)
    collected = collecting.collect(walked, origins)
    origins.canonical = {**builtins.aliases(collected), **collected.canonical}
    builder = _Builder(origins, builtins, operators)
    found = []
    for done, item in enumerate(collected.members.values()):
        if progress:
            progress("members", done, len(collected.members))
        found.append(builder.member(item))
    if progress:
        progress("methods", 0, 0)
    methods = device_methods(list(collected.members.values()), builder.reader, builtins)
    modules = [
        replace(module, visible=tuple(sorted(library.visible(module.name))))
        for module in collected.modules
    ]
    return Facts(
        torch=normalise(torch.__version__),
        modules=same_modules(modules),
        members=same_members(found),
        methods=methods,
        operators=operators,
        skipped=walked.skipped,
        differences=differences(walked, collected, origins),
        private=private_modules(library, walked.modules),
    )


class _Builder:
    def __init__(
        self, origins: Origins, builtins: Builtins, operators: tuple[Operator, ...]
    ) -> None:
        self.origins = origins
        self.builtins = builtins
        self.reader = builtins.reader
        self.calls = Calls(self.reader, operators)

    def member(self, found: Found) -> Member:
        signatures, source = self._signatures(found)
        value = found.value
        inside = not found.helper and found.kind in ("class", "function", "builtin")
        return Member(
            name=found.name,
            kind=found.kind,
            signatures=signatures,
            source=source if signatures else "none",
            summary=docs.summary(docs.own_doc(value)) if inside else "",
            deprecated=docs.deprecation(value) if inside else None,
            exports=tuple(found.exports),
            defined_in=self._defined_in(found),
            helper=found.helper,
            value=self._value(found),
            bases=self._bases(found),
            operators=self._operators(found),
        )

    def _signatures(self, found: Found) -> tuple[tuple[Signature, ...], Source]:
        if found.helper:
            return (), "none"
        if found.kind == "builtin":
            return self.builtins.function(found.value)
        if found.kind == "function":
            signatures = self.reader.function(found.value)
            if all(_says_nothing(item) for item in signatures):
                for path in found.exports:
                    module, _, name = path.rpartition(".")
                    signatures += self.builtins.beside(module, name)
            return signatures, "live"
        if found.kind == "class" and isinstance(found.value, type):
            made = self.reader.constructor(found.value)
            if isinstance(made, tuple):
                return made, "live"
            return self.builtins.constructor(made), "stub"
        return (), "none"

    def _defined_in(self, found: Found) -> str:
        if found.helper and found.origin:
            return found.origin.rpartition(".")[0]
        if found.kind in ("class", "function", "builtin"):
            module = getattr(found.value, "__module__", None)
            if isinstance(module, str):
                return module
        return (found.origin or found.name).rpartition(".")[0]

    def _bases(self, found: Found) -> tuple[str, ...]:
        if found.kind != "class" or found.helper or not isinstance(found.value, type):
            return ()
        bases = []
        ancestors = found.value.__mro__[1:]
        # Private bases differ between builds (torch._C._CudaStreamBase or a dummy of it), and with
        # them what they are derived from.
        hidden = {above for base in ancestors if _is_private_c(base) for above in base.__mro__}
        for base in ancestors:
            path = f"{base.__module__}.{base.__qualname__}"
            if base in hidden:
                continue
            if is_torch(base) and self.origins.canonical.get(self.origins.resolve(path)):
                bases.append(self.origins.resolve(path))
        return tuple(bases)

    def _value(self, found: Found) -> str | None:
        if found.kind not in ("constant", "type_alias"):
            return None
        if found.kind == "constant" and not isinstance(
            found.value, (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))
        ):
            return notation.value_text(found.value, self.origins.resolve)
        if found.helper:
            # torch.inf and torch.pi are math's; the rest are facts about another package.
            return found.origin if (found.origin or "").startswith("math.") else None
        module, _, name = (found.origin or "").rpartition(".")
        source = self.origins.source(module)
        bindings = source.assignments.get(name, []) if source else []
        if source is None or len(bindings) != 1 or module in BUILD_MODULES:
            return None
        value = bindings[0].value
        if value is None or bindings[0].condition is not None:
            return None
        if found.kind == "type_alias":
            return self.reader.speller(module).annotation(value)
        try:
            literal = ast.literal_eval(parsed(value))
        except (ValueError, TypeError, SyntaxError):
            return None
        return repr(literal)

    def _operators(self, found: Found) -> tuple[str, ...]:
        if found.helper:
            return ()
        if found.kind == "builtin":
            name = self.builtins.operator_name(found.value)
            return (name,) if name else ()
        return self.calls.operators(found.value) if found.kind == "function" else ()


def _is_private_c(cls: type) -> bool:
    """Tell whether this is one of torch's C++ classes that no program names, or stands in for one."""
    return cls.__module__ in ("torch._C", "torch._utils") and cls.__name__.startswith("_")


def _says_nothing(signature: Signature) -> bool:
    kinds = [item.kind for item in signature.parameters]
    return kinds == ["var_positional", "var_keyword"] and not any(
        item.annotation for item in signature.parameters
    )
