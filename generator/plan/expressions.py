"""Expressions of the routes and annotations of the facts, made fit for an emitted module."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping

from generator.errors import GenerationError
from generator.plan.core import Core

_TYPING = frozenset({"Any"})
_KNOWN_TYPES = frozenset(
    {
        "torch.Tensor",
        "torch.device",
        "torch.dtype",
        "torch.layout",
        "torch.Generator",
        "torch.types.Device",
    }
)
_BUILTIN_TYPES = frozenset({"None", "bool", "bytes", "float", "int", "object", "str"})


class Rewritten:
    """An expression with its names bound: source text and what has to be imported for it.

    ``modules`` are dotted paths below ``tdev_core``; ``mlx`` says whether it uses ``mlx.core``.
    """

    def __init__(self, text: str, modules: frozenset[str], mlx: bool) -> None:
        self.text = text
        self.modules = modules
        self.mlx = mlx


def bind(
    expression: str,
    *,
    parameters: frozenset[str],
    renames: Mapping[str, str],
    core: Core,
    where: str,
) -> Rewritten:
    """Bind the free names of ``expression``.

    Canonical parameters become what ``renames`` says or stay themselves; modules of ``tdev_core``
    get a leading underscore, so that they never shadow a torch name in the emitted module.

    Raises:
        GenerationError: a name is neither a parameter, nor torch, nor a module of ``tdev_core``.
    """
    tree = ast.parse(expression, mode="eval")
    used: set[str] = set()

    class Binder(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            name = node.id
            if name in local:
                return node
            if name in renames:
                return ast.parse(renames[name], mode="eval").body
            if name in parameters:
                return node
            if node in owners and (name in core or name == "mx"):
                used.add(name)
                return ast.copy_location(ast.Name("_" + name, node.ctx), node)
            if name == "torch" or hasattr(builtins, name):
                return node
            raise GenerationError(
                f"{where}: {expression!r} uses {name!r}, which is neither a parameter of the "
                f"function ({', '.join(sorted(parameters)) or 'it has none'}) nor torch, mx or a "
                f"module of tdev_core. Where the spelling has another name for it, or none, say so: "
                f'spellings."…" = {{ {name} = "None" }}.'
            )

    # A module is no value: `backend` by itself is a parameter that this torch's function does not have.
    owners = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    local = {
        argument.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        for argument in node.args.args
    }
    bound = ast.fix_missing_locations(Binder().visit(tree))
    modules = frozenset(core.find(name, where) for name in used - {"mx"})
    return Rewritten(ast.unparse(bound), modules, mlx="mx" in used)


def handed_on(
    expression: str, parameters: frozenset[str], renames: Mapping[str, str]
) -> tuple[str, set[str]]:
    """Return ``expression`` without the parameters that it hands on by their names and torch's function lacks.

    ``weights_only=weights_only`` is for the torches whose function has it. The second part of the result are the
    parameters that were left out.
    """
    tree = ast.parse(expression, mode="eval")
    known = parameters | renames.keys()
    lacking: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            absent = {
                keyword.arg
                for keyword in node.keywords
                if isinstance(keyword.value, ast.Name)
                and keyword.arg == keyword.value.id
                and keyword.arg not in known
            }
            node.keywords = [one for one in node.keywords if one.arg not in absent]
            lacking |= {name for name in absent if name}
    return (ast.unparse(tree) if lacking else expression), lacking


def annotation(text: str | None) -> str:
    """``text`` if every name in it can be resolved in an emitted module, else ``Any``."""
    if text is None:
        return "Any"
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return "Any"
    return text if _simple(tree) else "Any"


def _simple(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name):
            return name in _BUILTIN_TYPES or name in _TYPING
        case ast.Attribute():
            return ast.unparse(node) in _KNOWN_TYPES
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _simple(left) and _simple(right)
        case ast.Subscript(value=ast.Name(id="list" | "dict" | "tuple" | "set"), slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return all(
                _simple(part) or (isinstance(part, ast.Constant) and part.value is ...)
                for part in parts
            )
        case _:
            return False


def literal_default(text: str | None) -> str | None:
    """``text`` if it is a literal or a dotted torch name that an emitted module can evaluate."""
    if text is None:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, (ast.Call, ast.Lambda)):
            return None
        if isinstance(node, ast.Name) and node.id != "torch":
            return None
    return text
