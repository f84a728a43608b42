"""Answers what statements of Python bind, give and hold, as they are written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)

_DECLARED = tuple(re.compile(rf"{word}(?<!\w{word})\b([^\n]*)") for word in ("global", "nonlocal"))


def fixtures_call(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
    """Return the decorator that makes a function a fixture of pytest's."""
    for each in function.decorator_list:
        head = ast.unparse(each.func if isinstance(each, ast.Call) else each)
        if head.rpartition(".")[2] == "fixture":
            return each
    return None


def listed_above(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[ast.expr]:
    """Yield what ``@pytest.mark.parametrize`` lists for a parameter; nothing is said of one among several."""
    for each in function.decorator_list:
        if isinstance(each, ast.Call) and ast.unparse(each.func).endswith("parametrize"):
            match each.args:
                case [ast.Constant(value=str(names)), values] if name in re.split(r"[\s,]+", names):
                    yield values if names.strip() == name else ast.Constant(value=names)
                case [ast.List() | ast.Tuple() as names, *_] if name in ast.unparse(names):
                    yield names
                case _:
                    pass


@lru_cache(maxsize=64)
def declared_elsewhere(source: str) -> frozenset[str]:
    """Return the words that follow ``global`` or ``nonlocal`` on a line of a text."""
    return frozenset(
        word
        for pattern in _DECLARED
        for rest in pattern.findall(source)
        for word in re.findall(r"\w+", rest)
    )


def plain_parameters(home: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    return [*home.args.posonlyargs, *home.args.args, *home.args.kwonlyargs]


def parameters(home: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> dict[str, ast.arg]:
    """Return the parameters of a function by their names, those that collect others too."""
    collecting = [arg for arg in (home.args.vararg, home.args.kwarg) if arg is not None]
    return {arg.arg: arg for arg in (*plain_parameters(home), *collecting)}


def default_of(
    home: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str
) -> ast.expr | None:
    """Return what a parameter holds where nothing is given to it."""
    plain = [*home.args.posonlyargs, *home.args.args]
    for arg, default in zip(reversed(plain), reversed(home.args.defaults), strict=False):
        if arg.arg == name:
            return default
    keyed = zip(home.args.kwonlyargs, home.args.kw_defaults, strict=True)
    return next((default for arg, default in keyed if arg.arg == name), None)


def argument_of(call: ast.Call, name: str, at: int) -> ast.expr | None:
    """Return what a call gives a parameter by its name, or by its place; None where that is not to be seen."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if any(isinstance(each, ast.Starred) for each in call.args[: at + 1]):
        return None
    return call.args[at] if at < len(call.args) else None


def within(home: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a function, but not what stands in functions inside it."""
    todo = list(getattr(home, "body", ())) if not isinstance(home, ast.Lambda) else [home.body]
    while todo:
        node = todo.pop()
        yield node
        if type(node) not in _SCOPES:
            add_children(node, todo)


_SCOPES = frozenset((*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS))


# The fields of a node that hold what is no node of its own: names, numbers, or the one object of all that add.
_NO_NODES = frozenset(
    "ctx op ops id attr arg name asname level module kind type_comment simple is_async conversion rest "
    "kwd_attrs tag lineno".split()
)


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        fields = self[kind] = tuple(f for f in kind._fields if f not in _NO_NODES)
        return fields


FIELDS = _Fields({ast.Constant: (), ast.alias: ()})
"""The fields of each kind of node in which there may be others."""


def add_children(node: ast.AST, found: list[ast.AST]) -> None:
    """Add what stands right below a node, all but operators and the ``ctx`` of a name."""
    for name in FIELDS[type(node)]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            for each in value:
                if isinstance(each, ast.AST):
                    found.append(each)
        elif isinstance(value, ast.AST):
            found.append(value)


def is_before(one: ast.AST, other: ast.AST) -> bool:
    at = (getattr(one, "lineno", 0), getattr(one, "col_offset", 0))
    return at < (getattr(other, "lineno", 0), getattr(other, "col_offset", 0))


def always_gives(statement: ast.stmt, name: str) -> bool:
    """Tell whether a statement assigns to a name, or an ``if`` in each of its arms."""
    match statement:
        case ast.Assign(targets=targets):
            return any(name in names_of(target) for target in targets)
        case ast.AnnAssign(target=target):
            return name in names_of(target)
        case ast.If(body=body, orelse=rest):
            return all(any(always_gives(each, name) for each in arm) for arm in (body, rest))
        case _:
            return False


def leaves(body: list[ast.stmt]) -> bool:
    """Tell whether each way through statements leaves the block by a ``return`` or an error."""
    match body[-1] if body else None:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=arm, orelse=rest):
            return leaves(arm) and leaves(rest)
        case _:
            return False


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def holds(loop: ast.For | ast.While, later: ast.AST) -> bool:
    """Tell whether what stands later than something in a loop stands in the loop as well."""
    end = (loop.end_lineno or 0, loop.end_col_offset or 0)
    return (getattr(later, "lineno", 0), getattr(later, "col_offset", 0)) < end


def names_of(target: ast.expr) -> set[str]:
    """Return the names that a target binds; of ``found[i], rest`` the second alone."""
    return set(stored(target))


def read_by(value: ast.expr) -> set[str]:
    """Return the names that are handed on as they are, alone or beside others."""
    several = value.elts if isinstance(value, ast.Tuple) else [value]
    return {each.id for each in several if isinstance(each, ast.Name)}


def last_name(node: ast.expr) -> str:
    """Return the last of a dotted name, ``Trainer`` of ``pkg.Trainer[Config]``; empty for what is no name."""
    while isinstance(node, ast.Subscript):
        node = node.value
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def full_name(node: ast.expr, imported: Mapping[str, str]) -> str:
    """Return the full name of an attribute chain by what its first name was imported as; nothing for no such chain."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([imported.get(node.id, node.id), *reversed(parts)])


def bound_by(part: ast.AST) -> Iterator[str]:
    """Yield the names that a statement, a pattern or an expression binds in the function that it stands in."""
    match part:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            for target in targets:
                yield from stored(target)
        case (
            ast.AnnAssign(target=target)
            | ast.AugAssign(target=target)
            | ast.NamedExpr(target=target)
        ):
            yield from stored(target)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from stored(target)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield from stored(item.optional_vars)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case _ if isinstance(part, COMPREHENSIONS):
            # What is named inside is named around it.
            for each in ast.walk(part):
                if isinstance(each, ast.NamedExpr):
                    yield from stored(each.target)
        case _:
            pass


# What `bound_by` has an answer for.
BINDERS = frozenset(
    {
        ast.Assign,
        ast.Delete,
        ast.AnnAssign,
        ast.AugAssign,
        ast.NamedExpr,
        ast.For,
        ast.AsyncFor,
        ast.With,
        ast.AsyncWith,
        ast.Import,
        ast.ImportFrom,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.ExceptHandler,
        ast.MatchAs,
        ast.MatchStar,
        ast.MatchMapping,
        *COMPREHENSIONS,
    }
)


def stored(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        if not isinstance(target.ctx, ast.Load):
            yield target.id
        return
    for part in ast.walk(target):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id


def asks_for_type(statement: ast.stmt, name: str) -> bool:
    """Tell whether a plain statement, or the test of an ``if``, asks a variable for its type whatever comes."""
    asked: ast.AST = statement.test if isinstance(statement, ast.If) else statement
    if isinstance(asked, ast.stmt) and not isinstance(asked, (ast.Assign, ast.Expr)):
        return False
    parts = list(ast.walk(asked))
    if any(isinstance(part, _MAY_NOT_RUN) for part in parts):
        return False
    return any(
        isinstance(part, ast.Attribute)
        and part.attr == "type"
        and isinstance(part.value, ast.Name)
        and part.value.id == name
        for part in parts
    )


_MAY_NOT_RUN = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.comprehension)


def parts_of(
    target: ast.expr, steps: tuple[int, ...] = ()
) -> Iterator[tuple[ast.expr, tuple[int | str | None, ...]]]:
    """Yield what a target binds, each with the places by which it is found in the value; after a star counted from the end."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, steps
        return
    back = False
    for at, each in enumerate(target.elts):
        yield from parts_of(each, (*steps, at - len(target.elts) if back else at))
        back = back or isinstance(each, ast.Starred)


def stores(statement: ast.stmt, name: str) -> bool:
    """Tell whether something in a statement gives a name, or an attribute ``args.device``, a value."""
    owner, _, attr = name.rpartition(".")
    todo: list[ast.AST] = [statement]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Name):
            if not owner and part.id == name and isinstance(part.ctx, ast.Store):
                return True
            continue
        if isinstance(part, ast.Attribute) and part.attr == attr and owner:
            if isinstance(part.ctx, ast.Store) and ast.unparse(part.value) == owner:
                return True
        add_children(part, todo)
    return False


def puts_into(statement: ast.stmt, name: str) -> bool:
    """Tell whether something in a statement changes an item of a list or a dictionary."""
    return any(
        isinstance(part, ast.Subscript)
        and not isinstance(part.ctx, ast.Load)
        and isinstance(part.value, ast.Name)
        and part.value.id == name
        for part in ast.walk(statement)
    )


def sets_by_name(statement: ast.stmt, owner: str) -> bool:
    """Tell whether a statement sets attributes of an object by their names: ``setattr(args, key, value)``."""
    return (
        re.search(
            rf"\b(?:setattr|vars|update)\(\s*{owner}\b|\b{owner}\.__dict__", ast.unparse(statement)
        )
        is not None
    )
