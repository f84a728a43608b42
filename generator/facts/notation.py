"""One notation for annotations and values, whatever Python wrote them.

``Optional[X]``, ``Union[X, None]`` and ``"X | None"`` all become ``X | None``; ``typing.List``
becomes ``list``; names become dotted paths. Two sources are read: expressions (source text and
stubs, the usual case) and live objects (what ``dataclass`` and ``namedtuple`` made at run time).
"""

from __future__ import annotations

import ast
import enum
import types
import typing
from collections.abc import Callable

from generator.facts.text import one_line, parsed

Resolve = Callable[[str], str]  # dotted text as written -> canonical dotted path

# PEP 585 homes of the typing names, and typing's own home of what typing_extensions back-ports to
# nothing older than the oldest Python supported here (3.10).
_BUILTIN = {"List": "list", "Dict": "dict", "Tuple": "tuple", "Set": "set", "Type": "type"}
_ABC = (
    "AsyncIterable AsyncIterator Awaitable ByteString Callable Collection Container Coroutine "
    "Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping "
    "MutableSequence MutableSet Reversible Sequence Sized ValuesView"
).split()
HOMES = {
    **{f"typing.{old}": new for old, new in _BUILTIN.items()},
    **{f"typing.{name}": f"collections.abc.{name}" for name in _ABC},
    "typing.FrozenSet": "frozenset",
    "typing.AbstractSet": "collections.abc.Set",
    "typing.OrderedDict": "collections.OrderedDict",
    "typing.DefaultDict": "collections.defaultdict",
    "typing.Counter": "collections.Counter",
    "typing.Deque": "collections.deque",
    "typing.ContextManager": "contextlib.AbstractContextManager",
    "typing.AsyncContextManager": "contextlib.AbstractAsyncContextManager",
    "typing.Pattern": "re.Pattern",
    "typing.Match": "re.Match",
    "typing.Text": "str",
}
_TYPING_310 = frozenset(
    "Annotated Any Callable ClassVar Concatenate Final Generic Literal NamedTuple NewType NoReturn "
    "Optional ParamSpec ParamSpecArgs ParamSpecKwargs Protocol SupportsIndex TYPE_CHECKING "
    "TypeAlias TypeGuard TypeVar TypedDict Union cast final get_args get_origin get_type_hints "
    "is_typeddict no_type_check overload runtime_checkable".split()
)

# What typing gained after 3.10: `from typing import *` takes more from a newer Python.
TYPING_SINCE_311 = frozenset(
    "LiteralString Never NoDefault NotRequired ReadOnly Required Self TypeAliasType TypeIs "
    "TypeVarTuple Unpack assert_never assert_type clear_overloads dataclass_transform "
    "evaluate_forward_ref get_overloads get_protocol_members is_protocol override "
    "reveal_type".split()
)


def home(path: str) -> str:
    """Return the one path used here for a name that the standard library has in several places."""
    module, _, name = path.rpartition(".")
    if module == "typing_extensions" and (
        name in _TYPING_310 or name in _ABC or name in _BUILTIN or f"typing.{name}" in HOMES
    ):
        path = f"typing.{name}"
    if module == "builtins":
        return name
    return HOMES.get(path, path)


def dotted(node: ast.expr) -> str | None:
    """``a.b.c`` for a chain of attributes on a name; ``None`` for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def from_text(text: str, resolve: Resolve) -> str:
    """Canonical form of an annotation given as text; text that does not parse stays as it is."""
    try:
        return from_node(parsed(text), resolve)
    except SyntaxError:
        return " ".join(text.split())


def from_node(node: ast.expr, resolve: Resolve) -> str:
    """Canonical form of an annotation given as syntax tree."""
    match node:
        case ast.Constant(value=str() as text):
            return from_text(text, resolve)
        case ast.Constant(value=value):
            return "..." if value is ... else repr(value)
        case ast.Name() | ast.Attribute():
            path = dotted(node)
            return home(resolve(path)) if path else ast.unparse(node)
        case ast.BinOp(op=ast.BitOr()):
            return union([from_node(node.left, resolve), from_node(node.right, resolve)])
        case ast.Subscript():
            return _subscript(node, resolve)
        case ast.Tuple() | ast.List():
            inner = ", ".join(from_node(item, resolve) for item in node.elts)
            return f"[{inner}]" if isinstance(node, ast.List) else f"({inner})"
        case ast.Starred():
            return f"*{from_node(node.value, resolve)}"
        case _:
            return expression(node, resolve)


def _subscript(node: ast.Subscript, resolve: Resolve) -> str:
    base = from_node(node.value, resolve)
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if base in ("typing.Literal", "typing_extensions.Literal"):
        return f"typing.Literal[{', '.join(_literal(item, resolve) for item in items)}]"
    if base == "typing.Annotated":
        rest = [expression(item, resolve) for item in items[1:]]
        return f"{base}[{', '.join([from_node(items[0], resolve), *rest])}]"
    texts = [from_node(item, resolve) for item in items]
    if base == "typing.Optional":
        return union([*texts, "None"])
    if base == "typing.Union":
        return union(texts)
    return f"{base}[{', '.join(texts) or '()'}]"


def _literal(node: ast.expr, resolve: Resolve) -> str:
    return repr(node.value) if isinstance(node, ast.Constant) else expression(node, resolve)


def union(parts: list[str]) -> str:
    """Join with ``|``, each member once, in the order given."""
    flat: list[str] = []
    for part in parts:
        for item in split_top(part, " | "):
            if item not in flat:
                flat.append(item)
    return " | ".join(flat)


def split_top(text: str, separator: str) -> list[str]:
    """Split at a separator that is outside of brackets and quotes."""
    if separator not in text:
        return [text]
    parts: list[str] = []
    depth, start, position, quote = 0, 0, 0, ""
    while position < len(text):
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif depth == 0 and text.startswith(separator, position):
            parts.append(text[start:position])
            position += len(separator)
            start = position
            continue
        position += 1
    return [*parts, text[start:]]


class _Qualify(ast.NodeTransformer):
    def __init__(self, resolve: Resolve, bound: frozenset[str]) -> None:
        self.resolve, self.bound = resolve, bound

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return node if node.id in self.bound else self._path(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        path = dotted(node)
        if path is None or path.partition(".")[0] in self.bound:
            return typing.cast(ast.expr, self.generic_visit(node))
        return self._path(path)

    def _path(self, path: str) -> ast.expr:
        # No `home` here: a value has to stay the object it is (`typing.List` is not `list`).
        return ast.Name(self.resolve(path), ast.Load())


def expression(node: ast.expr, resolve: Resolve) -> str:
    """Return a value expression with its free names written as dotted paths."""
    bound = {item.arg for item in ast.walk(node) if isinstance(item, ast.arg)} | {
        item.id
        for item in ast.walk(node)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    }
    return ast.unparse(_Qualify(resolve, frozenset(bound)).visit(_copy(node)))


def _copy(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def from_object(value: object, resolve: Resolve) -> str | None:
    """Canonical form of a live annotation; ``None`` where it has none that every machine shares."""
    match value:
        case None | types.NoneType:
            return "None"
        case builtin if builtin is Ellipsis:
            return "..."
        case str():
            return from_text(value, resolve)
        case typing.ForwardRef():
            return from_text(value.__forward_arg__, resolve)
        case list():
            inner = [from_object(item, resolve) for item in value]
            return f"[{', '.join(text or '...' for text in inner)}]"
        case _:
            pass  # a class or a typing construct
    origin = typing.get_origin(value)
    if origin is not None:
        return _generic(value, origin, resolve)
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    # Special forms such as Any and Self keep their name elsewhere in older Pythons.
    name = name or getattr(value, "__name__", None) or getattr(value, "_name", None)
    if not isinstance(module, str) or not isinstance(name, str) or "<" in name:
        return None
    return home(resolve(f"{module}.{name}"))


def _generic(value: object, origin: object, resolve: Resolve) -> str | None:
    arguments = typing.get_args(value)
    if origin is typing.Literal:
        shown = [value_text(item, resolve) for item in arguments]
        return f"typing.Literal[{', '.join(text or '...' for text in shown)}]"
    if origin is typing.Annotated:
        return from_object(arguments[0], resolve)
    texts = [from_object(item, resolve) or "typing.Any" for item in arguments]
    if origin in (typing.Union, types.UnionType):
        return union(texts)
    base = from_object(origin, resolve)
    return f"{base}[{', '.join(texts) or '()'}]" if base else None


def value_text(value: object, resolve: Resolve) -> str | None:
    """Source text for a default that is only known as an object; ``None`` if there is none."""
    match value:
        case enum.Enum():
            return resolve(f"{type(value).__module__}.{type(value).__qualname__}.{value.name}")
        case None | bool() | int() | str() | bytes():
            return repr(value)
        case float() | complex():
            return repr(value) if value == value and abs(value) != float("inf") else None
        case tuple() | list():
            texts = [value_text(item, resolve) for item in value]
            if any(text is None for text in texts):
                return None
            inner = ", ".join(text for text in texts if text is not None)
            if isinstance(value, list):
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case _:
            pass
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        return from_object(value, resolve)
    if type(value).__module__ == "torch" and type(value).__name__ in (
        "dtype",
        "layout",
        "memory_format",
        "qscheme",
    ):
        return repr(value)
    return None


def is_alias(value: object) -> bool:
    """Tell whether an object is a typing construct and not a class or function.

    Asked before ``isinstance(value, type)``, which Python 3.10 answers with True for ``list[int]``.
    """
    kind = type(value)  # never isinstance: some objects run code when asked for their class
    if issubclass(kind, (types.UnionType, types.GenericAlias)):
        return True
    return kind.__module__ in ("typing", "typing_extensions") and not issubclass(kind, type)


def default_text(text: str, resolve: Resolve) -> str:
    """Return a default given as text, with its free names written as dotted paths."""
    try:
        node = parsed(text)
    except SyntaxError:
        return one_line(text)
    if not any(isinstance(item, ast.Name) for item in ast.walk(node)):
        return one_line(text)
    path = dotted(node)
    return resolve(path) if path else expression(node, resolve)
