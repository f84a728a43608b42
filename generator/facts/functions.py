"""Read of one ``def`` what the facts need: its head as source text, and the calls that may be operators.

Text instead of syntax trees: it is small, can be handed from one process to another, and most
functions of a file are never asked about.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from generator.facts import notation
from generator.facts.model import ParameterKind
from generator.facts.text import Text

__all__ = ["BINDINGS", "NAMESPACES", "Argument", "Function", "FunctionNode", "read_function"]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# Where torch's Python code finds its operators.
BINDINGS = frozenset({"torch", "_VF", "torch._VF", "torch._C._nn", "torch._C._VariableFunctions"})
NAMESPACES = ("fft", "linalg", "special")  # operators there carry the module's name in theirs
_PREFIXES = BINDINGS | {
    f"{start}{name}" for name in NAMESPACES for start in ("torch.", "torch._C._")
}
_GAP = r"[\s\\]*"  # a path may go on in the next line
_MAY_CALL = re.compile(
    rf"\b(?:torch|_VF){_GAP}\.(?:{_GAP}(?:_VF|_C|_nn|_VariableFunctions|_?(?:{'|'.join(NAMESPACES)})){_GAP}\.)*"
    rf"{_GAP}\w+{_GAP}\("
)


class Argument(NamedTuple):
    """One parameter; annotation and default as they are written (see ``text.parsed``)."""

    name: str
    kind: ParameterKind
    annotation: str | None
    default: str | None


class Function(NamedTuple):
    """A ``def``. ``decorators`` and ``calls`` are dotted paths, ``""`` for a decorator that is none.

    ``calls`` holds what is called under the names of torch's operator modules and as methods of
    ``tensors``.
    """

    name: str
    line: int
    column: int
    arguments: tuple[Argument, ...]
    returns: str | None
    decorators: tuple[str, ...]
    calls: tuple[str, ...]

    @property
    def tensors(self) -> frozenset[str]:
        """Parameters that are annotated as tensors, or called ``input`` without annotation."""
        return _tensors(self.arguments)


def read_function(node: FunctionNode, text: Text) -> Function:
    """Reduce a ``def`` to what the facts need."""
    arguments = tuple(_arguments(node.args, text))
    return Function(
        node.name,
        node.lineno,
        node.col_offset,
        arguments,
        text.of(node.returns) if node.returns else None,
        tuple(notation.dotted(item) or "" for item in node.decorator_list),
        _calls(node, text, _tensors(arguments)),
    )


def _arguments(args: ast.arguments, text: Text) -> Iterator[Argument]:
    def one(arg: ast.arg, kind: ParameterKind, default: ast.expr | None) -> Argument:
        return Argument(
            arg.arg,
            kind,
            text.of(arg.annotation) if arg.annotation else None,
            text.of(default) if default else None,
        )

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


def _tensors(arguments: Iterable[Argument]) -> frozenset[str]:
    return frozenset(item.name for item in arguments if _is_tensor(item))


def _is_tensor(argument: Argument) -> bool:
    if argument.kind.startswith("var_"):
        return False
    if argument.annotation is None:
        return argument.name == "input"
    return argument.annotation in ("Tensor", "torch.Tensor")


def _calls(node: FunctionNode, text: Text, tensors: frozenset[str]) -> tuple[str, ...]:
    # Reading a body costs more than parsing it did, and most bodies call nothing of the kind.
    if not _may_call(text.lines(node), tensors):
        return ()
    found: set[str] = set()
    stack: list[ast.AST] = [node.args, *node.body]
    while stack:
        item = stack.pop()
        if isinstance(item, ast.Call):
            path = notation.dotted(item.func)
            prefix = path.rpartition(".")[0] if path else ""
            if path and (prefix in _PREFIXES or prefix in tensors):
                found.add(path)
        for name in item._fields:
            value = getattr(item, name, None)
            if isinstance(value, ast.AST):
                stack.append(value)
            elif isinstance(value, list):
                stack += [part for part in value if isinstance(part, ast.AST)]
    return tuple(sorted(found))


def _may_call(text: str, tensors: frozenset[str]) -> bool:
    if _MAY_CALL.search(text):
        return True
    return bool(tensors) and bool(re.search(rf"\b(?:{'|'.join(sorted(tensors))}){_GAP}\.", text))
