"""Signatures of live functions and classes, as their source text has them."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from generator.facts import notation
from generator.facts.model import Parameter, ParameterKind, Signature
from generator.facts.origins import ROOTS, Origins
from generator.facts.sources import FunctionNode, ModuleSource

_KINDS: dict[Any, ParameterKind] = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional_or_keyword",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword_only",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}
_WRAPPERS = 20  # longest chain of __wrapped__ that is followed


def is_torch(value: object) -> bool:
    """Whether an object says that a torch module defined it."""
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in ROOTS


def unwrap(value: object) -> types.FunctionType | None:
    """The Python function whose signature ``inspect`` would report, if there is one."""
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
    """Whether this ``__new__`` is what ``@deprecated`` puts around ``object``'s own."""
    wrapper = constructor.__func__ if isinstance(constructor, staticmethod) else constructor
    return getattr(wrapper, "__wrapped__", None) is object.__new__


class Reader:
    """Reads signatures; remembers which file each code object came from."""

    def __init__(self, origins: Origins) -> None:
        self.origins = origins
        self._siblings: dict[int, dict[str, list[FunctionNode]]] = {}

    def node(self, function: types.FunctionType) -> tuple[ModuleSource, FunctionNode] | None:
        """The ``def`` that made a function, with the file it stands in."""
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
        resolve = self.resolver(source.name)
        nodes = [node, *self._overloads(source, node)]
        return tuple(self.signature(item, source, resolve, bound) for item in nodes)

    def resolver(self, module: str) -> Callable[[str], str]:
        """A ``Resolve`` for text that is written in ``module``."""
        return functools.partial(self.origins.resolve_in, module)

    def signature(
        self,
        node: FunctionNode,
        source: ModuleSource,
        resolve: notation.Resolve,
        bound: bool = False,
    ) -> Signature:
        """Turn a ``def`` into a signature."""
        parameters = list(_parameters(node.args, source, resolve))
        static = any(
            isinstance(item, ast.Name) and item.id == "staticmethod" for item in node.decorator_list
        )
        if bound and not static and parameters and parameters[0].kind != "var_positional":
            parameters = parameters[1:]
        returns = notation.from_node(node.returns, resolve) if node.returns else None
        return Signature(tuple(parameters), returns)

    def _overloads(self, source: ModuleSource, node: FunctionNode) -> list[FunctionNode]:
        groups = self._siblings.get(id(source))
        if groups is None:
            groups = self._siblings[id(source)] = {}
            for (_, name), item in sorted(source.by_line.items(), key=lambda pair: pair[0]):
                if any(_is_overload(decorator) for decorator in item.decorator_list):
                    groups.setdefault(name, []).append(item)
        candidates = groups.get(node.name, [])
        if not candidates or node in candidates:
            return []
        # Overloads stand directly before their implementation, in the same column; the one before
        # them belongs to another class if something else of that name comes in between.
        implementations = sorted(
            item.lineno for (_, name), item in source.by_line.items() if name == node.name
        )
        overload_lines = {item.lineno for item in candidates}
        previous = max(
            (line for line in implementations if line < node.lineno and line not in overload_lines),
            default=0,
        )
        return [
            item
            for item in candidates
            if previous < item.lineno < node.lineno and item.col_offset == node.col_offset
        ]

    def constructor(self, cls: type) -> tuple[Signature, ...] | type:
        """How Python code makes instances of ``cls``.

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
        resolve = self.resolver(module) if isinstance(module, str) else self.origins.resolve
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
            node = _class_node(source, base.__qualname__) if source else None
            if source is None or node is None:
                continue
            resolve = self.resolver(source.name)
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    annotation = notation.from_node(item.annotation, resolve)
                    default, expression = _field_default(item.value, source, resolve)
                    fields[item.target.id] = Parameter(
                        item.target.id,
                        "positional_or_keyword",
                        default,
                        (
                            annotation.removeprefix("dataclasses.InitVar[").removesuffix("]")
                            if annotation.startswith("dataclasses.InitVar[")
                            else annotation
                        ),
                        expression,
                    )
        return fields


def _parameters(
    args: ast.arguments, source: ModuleSource, resolve: notation.Resolve
) -> Iterator[Parameter]:
    def one(arg: ast.arg, kind: ParameterKind, default: ast.expr | None) -> Parameter:
        annotation = notation.from_node(arg.annotation, resolve) if arg.annotation else None
        return Parameter(arg.arg, kind, *_texts(default, annotation, source, resolve))

    positional = [*args.posonlyargs, *args.args]
    padding: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    for index, (arg, default) in enumerate(
        zip(positional, [*padding, *args.defaults], strict=True)
    ):
        only = index < len(args.posonlyargs)
        yield one(arg, "positional_only" if only else "positional_or_keyword", default)
    if args.vararg:
        yield one(args.vararg, "var_positional", None)
    for arg, keyword_default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield one(arg, "keyword_only", keyword_default)
    if args.kwarg:
        yield one(args.kwarg, "var_keyword", None)


def _texts(
    default: ast.expr | None,
    annotation: str | None,
    source: ModuleSource,
    resolve: notation.Resolve,
) -> tuple[str | None, str | None, str | None]:
    if default is None:
        return None, annotation, None
    text = source.segment(default)
    return text, annotation, notation.default_node(default, text, resolve)


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


def _field_default(
    value: ast.expr | None, source: ModuleSource, resolve: notation.Resolve
) -> tuple[str | None, str | None]:
    if value is None:
        return None, None
    text = source.segment(value)
    if isinstance(value, ast.Call) and notation.dotted(value.func) in (
        "field",
        "dataclasses.field",
    ):
        for keyword in value.keywords:
            if keyword.arg == "default":
                value, text = keyword.value, source.segment(keyword.value)
                break
            if keyword.arg == "default_factory":
                path = notation.dotted(keyword.value)
                return (f"{path}()", f"{resolve(path)}()") if path else ("...", "...")
        else:
            return None, None
    return text, notation.default_node(value, text, resolve)


def _class_node(source: ModuleSource, qualname: str) -> ast.ClassDef | None:
    head, *rest = qualname.split(".")
    node = source.classes.get(head)
    for part in rest:
        if node is None:
            return None
        node = next(
            (item for item in node.body if isinstance(item, ast.ClassDef) and item.name == part),
            None,
        )
    return node


def _is_overload(node: ast.expr) -> bool:
    return (notation.dotted(node) or "").rpartition(".")[2] == "overload"
