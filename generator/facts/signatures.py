"""Signatures of live functions and classes, as their source text has them."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import types
from typing import Any

from generator.facts import notation
from generator.facts.functions import Argument, Function
from generator.facts.model import Parameter, ParameterKind, Signature
from generator.facts.origins import Origins
from generator.facts.sources import ROOTS, Class, ModuleSource
from generator.facts.text import one_line, parsed, within

_KINDS: dict[Any, ParameterKind] = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional_or_keyword",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword_only",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}
_WRAPPERS = 20  # longest chain of __wrapped__ that is followed


def is_torch(value: object) -> bool:
    """Tell whether an object says that a torch module defined it."""
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in ROOTS


def unwrap(value: object) -> types.FunctionType | None:
    """Return the Python function whose signature ``inspect`` would report, if there is one."""
    for _ in range(_WRAPPERS):
        if isinstance(value, (staticmethod, classmethod, types.MethodType)):
            value = value.__func__
        elif isinstance(value, functools.partial):
            return None
        elif "__signature__" in getattr(value, "__dict__", {}):
            return None
        elif hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        else:
            return value if isinstance(value, types.FunctionType) else None
    return None


def _only_warns(constructor: object) -> bool:
    """Tell whether this ``__new__`` is what ``@deprecated`` puts around ``object``'s own."""
    wrapper = constructor.__func__ if isinstance(constructor, staticmethod) else constructor
    return getattr(wrapper, "__wrapped__", None) is object.__new__


class Speller:
    """Writes the expressions of one file in the notation of the facts; most of them come again."""

    def __init__(self, resolve: notation.Resolve) -> None:
        self.resolve: notation.Resolve = functools.cache(resolve)
        self._annotations: dict[str, str] = {}
        self._defaults: dict[str, str] = {}

    def annotation(self, text: str) -> str:
        """Return an annotation, given as it is written."""
        if text not in self._annotations:
            self._annotations[text] = notation.from_text(text, self.resolve)
        return self._annotations[text]

    def default(self, text: str) -> str:
        """Return a default, given as it is written."""
        if text not in self._defaults:
            self._defaults[text] = notation.default_text(text, self.resolve)
        return self._defaults[text]

    def signature(self, function: Function, bound: bool = False) -> Signature:
        """Return the signature of a ``def``; ``bound`` leaves out its first parameter."""
        parameters = [self._parameter(item) for item in function.arguments]
        static = "staticmethod" in function.decorators
        if bound and not static and parameters and parameters[0].kind != "var_positional":
            parameters = parameters[1:]
        returns = self.annotation(function.returns) if function.returns is not None else None
        return Signature(tuple(parameters), returns)

    def _parameter(self, item: Argument) -> Parameter:
        annotation = self.annotation(item.annotation) if item.annotation is not None else None
        if item.default is None:
            return Parameter(item.name, item.kind, None, annotation)
        default, expression = one_line(item.default), self.default(item.default)
        return Parameter(item.name, item.kind, default, annotation, expression)


class Reader:
    """Reads signatures; remembers which file each code object came from."""

    def __init__(self, origins: Origins) -> None:
        self.origins = origins
        self._siblings: dict[str, dict[str, list[Function]]] = {}
        self._spellers: dict[str, Speller] = {}

    def node(self, function: types.FunctionType) -> tuple[ModuleSource, Function] | None:
        """Return the ``def`` that made a function, with the file it stands in."""
        # __globals__ names the module that holds the text, also for functions that were copied.
        module = function.__globals__.get("__name__")
        source = self.origins.source(module) if isinstance(module, str) else None
        if source is None:
            return None
        code = function.__code__
        if code.co_filename.startswith("<"):  # made by exec: dataclass, namedtuple
            return None
        node = source.by_line.get((code.co_firstlineno, code.co_name))
        return (source, node) if node else None

    def function(self, value: object, bound: bool = False) -> tuple[Signature, ...]:
        """Signature of a function and its ``@overload`` declarations; ``()`` for none.

        ``bound`` leaves out the first parameter.
        """
        bound = bound or isinstance(value, types.MethodType)
        function = unwrap(value)
        if function is None:
            return self._inspected(value, bound)
        found = self.node(function)
        if found is None:
            return self._inspected(function, bound)
        source, node = found
        speller = self.speller(source.name)
        nodes = [node, *self._overloads(source, node)]
        return tuple(speller.signature(item, bound) for item in nodes)

    def speller(self, module: str) -> Speller:
        """Return a ``Speller`` for text that is written in ``module``."""
        if module not in self._spellers:
            resolve = functools.partial(self.origins.resolve_in, module)
            self._spellers[module] = Speller(resolve)
        return self._spellers[module]

    def _overloads(self, source: ModuleSource, node: Function) -> list[Function]:
        groups = self._siblings.get(source.name)
        if groups is None:
            groups = self._siblings[source.name] = {}
            for (_, name), item in sorted(source.by_line.items(), key=lambda pair: pair[0]):
                if any(path.rpartition(".")[2] == "overload" for path in item.decorators):
                    groups.setdefault(name, []).append(item)
        candidates = groups.get(node.name, [])
        if not candidates or node in candidates:
            return []
        # Overloads stand directly before their implementation, in the same column; the one before
        # them belongs to another class if something else of that name comes in between.
        implementations = sorted(
            item.line for (_, name), item in source.by_line.items() if name == node.name
        )
        overload_lines = {item.line for item in candidates}
        previous = max(
            (line for line in implementations if line < node.line and line not in overload_lines),
            default=0,
        )
        return [
            item
            for item in candidates
            if previous < item.line < node.line and item.column == node.column
        ]

    def constructor(self, cls: type) -> tuple[Signature, ...] | type:
        """Tell how Python code makes instances of ``cls``.

        Returns signatures, or the class that has to be looked up in a stub because its constructor
        is written in C++. ``()`` where the standard library defines it: its parameters are Python's
        and differ between Pythons.
        """
        if issubclass(cls, (enum.Enum, tuple)) and not hasattr(cls, "_fields"):
            return ()
        if hasattr(cls, "_fields") and issubclass(cls, tuple):
            return self._generated(cls, getattr(cls, "__new__"))  # noqa: B009
        for base in cls.__mro__:
            for name in ("__new__", "__init__"):
                made = vars(base).get(name)
                if made is None:
                    continue
                if not is_torch(base):
                    return ()
                if _only_warns(made):
                    continue
                function = unwrap(made)
                if function is None:
                    return base
                if self.node(function) is None:
                    return self._generated(cls, function)
                return self.function(made, bound=True)
        return ()

    def _inspected(self, value: object, bound: bool) -> tuple[Signature, ...]:
        if isinstance(value, types.BuiltinFunctionType) and not value.__doc__:
            return ()  # Python 3.13 makes parameters up from the number that C says
        try:
            live = inspect.signature(value, follow_wrapped=False)  # type: ignore[arg-type]
        except (TypeError, ValueError, AttributeError, RuntimeError):
            return ()
        module = getattr(value, "__module__", None)
        resolve: notation.Resolve = self.origins.resolve
        if isinstance(module, str):
            resolve = self.speller(module).resolve
        parameters = [
            Parameter(
                item.name,
                _KINDS[item.kind],
                *_live_default(item, resolve),
            )
            for item in live.parameters.values()
        ]
        if bound and isinstance(value, types.FunctionType):
            parameters = parameters[1:]
        returns = None
        if live.return_annotation is not inspect.Signature.empty:
            returns = notation.from_object(live.return_annotation, resolve)
        return (Signature(tuple(parameters), returns),)

    def _generated(self, cls: type, function: object) -> tuple[Signature, ...]:
        """Signature of a constructor that ``dataclass`` or ``NamedTuple`` generated."""
        if getattr(cls, "_is_protocol", False):
            return ()
        found = self._inspected(unwrap(function) or function, bound=True)
        if not found:
            return ()
        fields = self._fields(cls)
        parameters = tuple(fields.get(item.name, item) for item in found[0].parameters)
        kinds = {item.name: item.kind for item in found[0].parameters}
        return (
            Signature(
                tuple(dataclasses.replace(item, kind=kinds[item.name]) for item in parameters),
                "None",
            ),
        )

    def _fields(self, cls: type) -> dict[str, Parameter]:
        fields: dict[str, Parameter] = {}
        for base in reversed(cls.__mro__):
            source = self.origins.source(base.__module__)
            found = _class(source, base.__qualname__) if source else None
            if source is None or found is None:
                continue
            speller = self.speller(source.name)
            for item in found.fields:
                annotation = speller.annotation(item.annotation)
                if annotation.startswith("dataclasses.InitVar["):
                    annotation = annotation.removeprefix("dataclasses.InitVar[").removesuffix("]")
                default, expression = _field_default(item.value, speller)
                fields[item.name] = Parameter(
                    item.name, "positional_or_keyword", default, annotation, expression
                )
        return fields


def _live_default(
    item: inspect.Parameter, resolve: notation.Resolve
) -> tuple[str | None, str | None, str | None]:
    annotation = None
    if item.annotation is not inspect.Parameter.empty:
        annotation = notation.from_object(item.annotation, resolve)
    if item.default is inspect.Parameter.empty:
        return None, annotation, None
    # An object without text of its own still is a default: "..." says so, as in a stub.
    text = notation.value_text(item.default, resolve) or "..."
    return text, annotation, text


def _field_default(value: str | None, speller: Speller) -> tuple[str | None, str | None]:
    if value is None:
        return None, None
    node = parsed(value)
    if isinstance(node, ast.Call) and notation.dotted(node.func) in ("field", "dataclasses.field"):
        for keyword in node.keywords:
            if keyword.arg == "default":
                value = within(value, keyword.value)
                break
            if keyword.arg == "default_factory":
                path = notation.dotted(keyword.value)
                return (f"{path}()", f"{speller.resolve(path)}()") if path else ("...", "...")
        else:
            return None, None
    return one_line(value), speller.default(value)


def _class(source: ModuleSource, qualname: str) -> Class | None:
    head, *rest = qualname.split(".")
    found = source.classes.get(head)
    for part in rest:
        found = found.classes.get(part) if found else None
    return found
