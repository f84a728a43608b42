"""Follows a value on its way: who takes what an expression gives, and what it decides where it is the test of a choice.

The other direction of :mod:`.values`, by the same bindings: through variables, attributes, entries of dictionaries,
parameters and results of the file's own functions. Where the way is not to be seen, somebody unknown takes it; who asks
must then assume anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from tdev_core.codemod.engine.python.devices import Devices
from tdev_core.codemod.engine.python.statements import (
    FUNCTIONS,
    declared_elsewhere,
    full_name,
    is_self,
    plain_parameters,
)
from tdev_core.codemod.engine.python.tree import PythonTree

_MOST = 200
"""The expressions on the way of one value that are looked at."""

Kind = Literal["package", "torch", "profiler", "told", "open", "unknown"]


class Taker(NamedTuple):
    """One who takes a value.

    - ``package``: a callable that is imported from a package beside torch and the program, ``by`` its full name;
    - ``profiler``: the methods of torch's memory profiler that are told a device by its name;
    - ``torch``: torch, or a method that moves tensors; ``told``: a message, a log, an error that is raised, or a call
      ``by`` which an arm of a choice tells something;
    - ``open``: nobody in this file, but others may read where it is kept;
    - ``unknown``: whoever it is, or something that is no mere value depends on it.
    """

    kind: Kind
    by: str = ""
    parameter: str = ""
    """The name by which it is given, if by one: of an entry of a dictionary its key."""
    given: ast.expr | None = None
    """The expression that is given."""
    made: bool = False
    """Whether it is a ``torch.device`` by then, and no word or number."""
    beside: frozenset[str] = frozenset()
    """All keywords of the call."""
    whole: bool = False
    """Whether it is an entry of a dictionary that is given as it is."""


_UNKNOWN = Taker("unknown")

# Python's own functions whose result says no more than what they are given.
_SAME = frozenset(
    "bool int str float repr format max min abs len sum any all list tuple set sorted".split()
)
_TELLING = frozenset(
    "debug info warn warning error critical exception log warning_once info_once".split()
)
_LOGS = re.compile(r"(?i)\b\w*log(?:ger|ging)?\b|\bwarnings\b|\bconsole\b")
_PRINTS = frozenset({"print", "pprint", "rprint", "click.echo", "tqdm.write", "warnings.warn"})
_MOVES = frozenset({"to", "cuda", "to_empty"})
_TORCH = frozenset({"torch", "tdev"})
_PROFILES = re.compile(r"_coalesce_timeline|export_memory_timeline(?:_\w+)?")


class Takers:
    """Finds who takes the values of one file.

    Args:
        own: the packages of the program itself.
        alone: whether no other file reads what is set at the margin: it is a notebook, or a test that nobody imports.
    """

    def __init__(
        self,
        tree: PythonTree,
        source: str,
        values: Devices,
        own: frozenset[str],
        alone: bool = False,
    ) -> None:
        self._tree = tree
        self._source = source
        self._values = values
        self._own = own
        self.alone = alone
        self._imported, self._defined = tree.names
        self._found: list[Taker] = []
        self._seen: set[tuple[int, bool]] = set()
        self.words: set[str] = set()
        """The texts that the last question chose between."""
        self.makes = False
        """Whether it chose what is made a device at once."""
        self.parsed = False
        """Whether a part of it is read, or a number."""

    def of(self, node: ast.expr) -> list[Taker]:
        """Return all who take the value of an expression, or what it chooses; none where nobody reads it."""
        self._found, self._seen, self.words = [], set(), set()
        self.makes = self.parsed = False
        if isinstance(self._parent(node), ast.Expr):
            return [_UNKNOWN]
        self._value(node)
        return list(dict.fromkeys(self._found))

    def _parent(self, node: ast.AST) -> ast.AST | None:
        return next(self._tree.ancestors(node), None)

    # -- one step up --------------------------------------------------------------------------------

    def _value(self, node: ast.expr, made: bool = False) -> None:
        """Follow what an expression gives; ``made``: a device by now."""
        if (id(node), made) in self._seen:
            return
        self._seen.add((id(node), made))
        if len(self._seen) > _MOST:
            self._found.append(_UNKNOWN)
            return
        parent = self._parent(node)
        match parent:
            case ast.IfExp(test=test, body=body, orelse=rest) if test is node:
                forms = [self._form(body), self._form(rest)]
                if None in forms:
                    self._found.append(_UNKNOWN)  # and whoever certainly refuses it
                else:
                    self.makes = self.makes or "made" in forms
                self._value(parent, "made" in forms)
            case ast.IfExp() | ast.BoolOp() | ast.BinOp() | ast.UnaryOp():
                self._value(parent, made)
            case ast.FormattedValue() | ast.JoinedStr() | ast.Compare():
                self._value(parent)
            case ast.NamedExpr(target=named):
                self._bound(parent, named, made)
                self._value(parent, made)
            case ast.keyword(arg=name):
                call = self._parent(parent)
                if isinstance(call, ast.Call) and name is not None:
                    self._passed(call, name, node, made)
                else:
                    self._found.append(_UNKNOWN)
            case ast.Call(func=func) if func is not node:
                self._passed(parent, "", node, made)
            case ast.Dict(keys=keys, values=values):
                at = next((n for n, each in enumerate(values) if each is node), None)
                key = keys[at] if at is not None else None
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    self._entry(parent, key.value, node, made)
                else:
                    self._found.append(_UNKNOWN)
            case ast.Tuple() | ast.List() | ast.Set():
                self._one_of(parent, node, made)
            case ast.Subscript(value=value, slice=at):
                literal = at is node and isinstance(value, (ast.Dict, ast.Tuple, ast.List))
                if literal and self._form(value) != "plain":
                    self._found.append(_UNKNOWN)
                elif literal or value is node:
                    self.parsed = self.parsed or value is node
                    self._value(parent)
                else:
                    self._found.append(_UNKNOWN)
            case ast.Attribute(value=value):
                self.parsed = True
                called = self._parent(parent)
                if isinstance(called, ast.Call) and called.func is parent:
                    self._value(called)  # a method of the value's own: `word.upper()`
                else:
                    self._value(parent)
            case ast.Assign(targets=targets):
                for target in targets:
                    self._bound(parent, target, made)
            case ast.AnnAssign(target=kept):
                self._bound(parent, kept, made)
            case ast.Return():
                self._returned(parent, made)
            case ast.If(test=test) if test is node:
                self._opens(parent)
            case ast.Raise():
                self._found.append(Taker("told"))
            case ast.Expr():
                pass
            case _:
                self._found.append(_UNKNOWN)

    def _one_of(self, several: ast.Tuple | ast.List | ast.Set, node: ast.expr, made: bool) -> None:
        """Follow one of several values."""
        parent = self._parent(several)
        match parent:
            case ast.Assign(targets=[ast.Tuple(elts=targets)]) if isinstance(several, ast.Tuple):
                if len(targets) == len(several.elts) and not any(
                    isinstance(each, ast.Starred) for each in (*targets, *several.elts)
                ):
                    self._bound(parent, targets[several.elts.index(node)], made)
                    return
            case ast.BinOp(left=ast.Constant(value=str())):  # `"%s, %s" % (a, b)`
                self._value(parent)
                return
            case ast.Call() | ast.keyword():
                self._value(several, made)
                return
            case _:
                pass
        self._found.append(_UNKNOWN)

    # -- what a choice gives --------------------------------------------------------------------------

    def _form(self, node: ast.expr) -> Literal["plain", "made"] | None:
        """Tell whether an arm of a choice is a plain value or a ``torch.device``; None where it is code that runs."""
        match node:
            case ast.Constant(value=value):
                if isinstance(value, str):
                    self.words.add(value)
                return "plain"
            case ast.Name(id=name):
                return None if name in self._imported or name in self._defined else "plain"
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                return self._form(value)
            case ast.UnaryOp(operand=operand):
                return self._form(operand)
            case ast.BinOp(left=left, right=right):
                return self._form_of([left, right])
            case ast.IfExp(body=left, orelse=right):
                return self._form_of([left, right])
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
                return self._form_of(parts)
            case ast.Dict(values=parts):
                return self._form_of(parts)
            case ast.JoinedStr(values=parts):
                inner = [p.value if isinstance(p, ast.FormattedValue) else p for p in parts]
                return self._form_of(inner)
            case ast.Compare(left=left, comparators=others):
                return self._form_of([left, *others])
            case ast.Call(func=func, args=args, keywords=keywords):
                name = self._full(func)
                if name in ("torch.device", "tdev.device"):
                    for each in args:
                        self._form(each)
                    return "made"
                if name.partition(".")[0] in _TORCH:
                    asks = name.rpartition(".")[2] in ("device_count", "is_available")
                    return "plain" if asks else None
                if name in _SAME or name in ("os.cpu_count", "os.environ.get", "os.getenv"):
                    parts = [*args, *(each.value for each in keywords)]
                    return "plain" if self._form_of(parts) is not None else None
                return None
            case _:
                return None

    def _form_of(self, parts: Iterable[ast.expr]) -> Literal["plain", "made"] | None:
        forms = [self._form(each) for each in parts]
        return None if None in forms else "made" if "made" in forms else "plain"

    def _opens(self, choice: ast.If) -> None:
        """Follow what an ``if`` does: the values that its arms set; anything else is code that runs."""
        leaves = [False]
        for arm in (choice.body, choice.orelse):
            for statement in arm:
                self._does(statement, leaves)
        block = self._tree.block(choice)
        later = block[block.index(choice) + 1 :] if choice in block else []
        if leaves[0]:
            for statement in later:
                if isinstance(statement, ast.Return) or _is_text(statement):
                    self._does(statement, leaves)
                else:
                    self._found.append(_UNKNOWN)

    def _does(self, statement: ast.stmt, leaves: list[bool]) -> None:
        match statement:
            case ast.Assign(targets=targets, value=value):
                if (form := self._form(value)) is None:
                    self._found.append(_UNKNOWN)
                    return
                for target in targets:
                    self._bound(statement, target, form == "made")
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                if (form := self._form(value)) is None:
                    self._found.append(_UNKNOWN)
                    return
                self._bound(statement, target, form == "made")
            case ast.Return(value=ast.expr() as value):
                leaves[0] = True
                if (form := self._form(value)) is None:
                    self._found.append(_UNKNOWN)
                else:
                    self._returned(statement, form == "made")
            case ast.If(body=body, orelse=rest):
                for each in (*body, *rest):
                    self._does(each, leaves)
            case ast.Expr(value=ast.Call(func=func)) if self._tells(func):
                self._found.append(Taker("told", ast.unparse(func)))
            case ast.Pass():
                pass
            case _ if _is_text(statement):
                pass
            case _:
                self._found.append(_UNKNOWN)

    # -- where it is kept -------------------------------------------------------------------------------

    def _bound(self, part: ast.AST, target: ast.expr, made: bool) -> None:
        """Follow what a statement or expression gives a target."""
        match target:
            case ast.Name(id=name):
                around = (
                    p
                    for p in self._tree.ancestors(part)
                    if isinstance(p, (*FUNCTIONS, ast.ClassDef))
                )
                home = next(around, None)
                if isinstance(home, ast.ClassDef):
                    self._attribute(name, made)
                    return
                if home is not None and any(map(_may_read_all, ast.walk(home))):
                    self._found.append(Taker("open"))
                if name in declared_elsewhere(self._source):
                    self._found.append(_UNKNOWN)
                    return
                if self._is_public(part):
                    self._found.append(Taker("open"))
                for use in self._values.reads(part, name):
                    self._value(use, made)
            case ast.Attribute(attr=attr):
                self._attribute(attr, made)
            case ast.Subscript(value=owner, slice=ast.Constant(value=str() as key)):
                self._entry_of(owner, key, made)
            case _:
                self._found.append(_UNKNOWN)

    def _is_public(self, part: ast.AST) -> bool:
        """Tell whether other files may read what a statement at the margin of a module sets."""
        if self.alone:
            return False
        for parent in self._tree.ancestors(part):
            if isinstance(parent, FUNCTIONS):
                return False
            if isinstance(parent, ast.If) and "__main__" in ast.unparse(parent.test):
                return False
        return True

    def _attribute(self, attr: str, made: bool) -> None:
        """Follow what is kept in an attribute, by whatever the object is called that is asked for it."""
        self._found.append(Taker("open"))
        for use in self._attributes(attr):
            self._value(use, made)

    def _attributes(self, attr: str) -> Iterator[ast.Attribute]:
        for each in self._tree.everything:
            if isinstance(each, ast.Attribute) and each.attr == attr:
                if isinstance(each.ctx, ast.Load):
                    yield each

    def _entry(self, table: ast.Dict | ast.Call, key: str, given: ast.expr, made: bool) -> None:
        """Follow the entry of a dictionary that is written out."""
        parent = self._parent(table)
        match parent:
            case ast.keyword(arg=None):
                call = self._parent(parent)
                if isinstance(call, ast.Call):
                    self._passed(call, key, given, made)
                    return
            case ast.Dict(keys=keys, values=values):
                if any(k is None and v is table for k, v in zip(keys, values, strict=True)):
                    self._entry(parent, key, given, made)
                    return
            case ast.keyword() | ast.Call():
                call = parent if isinstance(parent, ast.Call) else self._parent(parent)
                if isinstance(call, ast.Call) and call.func is not table:
                    self._passed(call, key, given, made, whole=True)
                    return
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as owner]):
                self._entry_of(owner, key, made)
                return
            case ast.AnnAssign(target=(ast.Name() | ast.Attribute()) as owner):
                self._entry_of(owner, key, made)
                return
            case _:
                pass
        self._found.append(_UNKNOWN)

    def _entry_of(self, owner: ast.expr, key: str, made: bool) -> None:
        """Follow the entry of a dictionary by the uses of what it is kept in."""
        uses: list[ast.expr]
        if isinstance(owner, ast.Name):
            uses = list(self._values.uses(owner, owner.id))
        elif isinstance(owner, ast.Attribute):
            self._found.append(Taker("open"))
            uses = list(self._attributes(owner.attr))
        else:
            self._found.append(_UNKNOWN)
            return
        if isinstance(owner, ast.Name) and (
            self._is_public(owner) or not self._values.is_table_made_here(owner, owner.id)
        ):
            self._found.append(Taker("open"))  # another file, or whoever made it, may read it
        for use in uses:
            if use is not owner:
                self._of_table(use, key, made)

    def _of_table(self, use: ast.expr, key: str, made: bool) -> None:
        """Follow an entry through one use of the dictionary that it is in."""
        parent = self._parent(use)
        match parent:
            case ast.keyword(arg=None):
                call = self._parent(parent)
                if isinstance(call, ast.Call):
                    self._passed(call, key, use, made)
            case ast.Subscript(slice=ast.Constant(value=str() as asked), ctx=ctx):
                if asked == key and isinstance(ctx, ast.Load):
                    self._value(parent, made)
            case ast.Subscript():
                self._found.append(_UNKNOWN)
            case ast.Attribute(attr="get" | "pop" | "setdefault"):
                call = self._parent(parent)
                match call:
                    case ast.Call(args=[ast.Constant(value=str() as asked), *_]):
                        if asked == key:
                            self._value(call, made)
                    case _:
                        self._found.append(_UNKNOWN)
            case ast.Attribute(attr="update"):
                pass
            case ast.Compare():
                pass  # `"gpus" in kwargs`
            case ast.Call() if parent.func is not use:
                self._passed(parent, key, use, made, whole=True)
            case ast.keyword():
                call = self._parent(parent)
                if isinstance(call, ast.Call):
                    self._passed(call, key, use, made, whole=True)
            case _:
                self._found.append(_UNKNOWN)

    def _returned(self, statement: ast.Return, made: bool) -> None:
        """Follow what a function returns to the calls of it in the file."""
        home = next((p for p in self._tree.ancestors(statement) if isinstance(p, FUNCTIONS)), None)
        if home is None or isinstance(home, ast.Lambda):
            self._found.append(_UNKNOWN)
            return
        decorators = [ast.unparse(each) for each in home.decorator_list]
        if any(each.endswith("property") for each in decorators):
            self._attribute(home.name, made)
            return
        if any("fixture" in each or "." in each for each in decorators):
            self._found.append(_UNKNOWN)
            return
        self._found.append(Taker("open"))
        for each in self._tree.everything:
            named = isinstance(each, ast.Name) and each.id == home.name
            if named or isinstance(each, ast.Attribute) and each.attr == home.name:
                call = self._parent(each)
                if isinstance(call, ast.Call) and call.func is each:
                    self._value(call, made)
                else:
                    self._found.append(_UNKNOWN)

    # -- who takes it --------------------------------------------------------------------------------------

    def _full(self, func: ast.expr) -> str:
        """Return the full name of a callable that starts at an import, or what stands there."""
        return full_name(func, self._imported)

    def _tells(self, func: ast.expr) -> bool:
        """Tell whether a callable writes a message."""
        name = self._full(func)
        if name in _PRINTS or name in ("logging", "warnings"):
            return True
        if not isinstance(func, ast.Attribute) or func.attr not in _TELLING:
            return False
        return _LOGS.search(ast.unparse(func.value)) is not None

    def _passed(
        self, call: ast.Call, name: str, node: ast.expr, made: bool, whole: bool = False
    ) -> None:
        """Follow an argument: of this name, or at its place; ``whole``: the dictionary is one that has an entry so called."""
        func = call.func
        full = self._full(func)
        if self._decorates(call):
            self._found.append(_UNKNOWN)
            return
        if _PROFILES.fullmatch(ast.unparse(func).rpartition(".")[2]):
            self._found.append(Taker("profiler"))
            return
        if full in ("functools.partial", "partial") and call.args:
            func, full = call.args[0], self._full(call.args[0])
            if func is node:
                self._found.append(_UNKNOWN)
                return
        if full in ("torch.device", "tdev.device"):
            self._value(call, True)
        elif full == "dict" and name and not whole:
            self._entry(call, name, node, made)
        elif full in _SAME and not whole:
            self.parsed = self.parsed or full not in ("str", "repr")
            self._value(call)
        elif self._tells(func) or isinstance(self._parent(call), ast.Raise):
            self._found.append(Taker("told"))
        elif isinstance(func, ast.Attribute) and func.attr in ("format", "join") and not whole:
            self._value(call)
        elif _is_otherwise(call, node):
            self._value(call, made)
        elif isinstance(func, ast.Attribute) and func.attr in _MOVES:
            self._found.append(Taker("torch"))
        elif (top := full.partition(".")[0]) in _TORCH:
            self._found.append(Taker("torch", full))
        elif (package := self._package(func)) is not None:
            more = _keywords(call)
            self._found.append(
                Taker("package", package, name, given=node, made=made, beside=more, whole=whole)
            )
        elif top in self._defined and full == top:
            self._given_to(self._defined[top], call, name, node, made, whole)
        elif self._is_super(func):
            around = (p for p in self._tree.ancestors(call) if isinstance(p, ast.ClassDef))
            home = next(around, None)
            self._to_bases(home, call, name, node, made, whole)
        elif isinstance(func, ast.Attribute) and is_self(func.value) and func.attr in self._defined:
            self._given_to(self._defined[func.attr], call, name, node, made, whole)
        else:
            more = _keywords(call)
            self._found.append(Taker("unknown", full, name, made=made, beside=more, whole=whole))

    def _decorates(self, call: ast.Call) -> bool:
        """Tell whether a call is a decorator: what it is told decides about a function."""
        home = self._parent(call)
        return isinstance(home, (*FUNCTIONS, ast.ClassDef)) and call in getattr(
            home, "decorator_list", ()
        )

    def _is_super(self, func: ast.expr) -> bool:
        return isinstance(func, ast.Attribute) and ast.unparse(func.value).startswith("super(")

    def _to_bases(
        self,
        home: ast.ClassDef | None,
        call: ast.Call,
        name: str,
        node: ast.expr,
        made: bool,
        whole: bool,
    ) -> None:
        """Follow what a class hands to the ones that it inherits from."""
        for base in home.bases if home is not None else ():
            package = self._package(base)
            if package is not None:
                self._found.append(Taker("package", package, name, given=node, made=made))
            elif (own := self._defined.get(ast.unparse(base))) is not None:
                self._given_to(own, call, name, node, made, whole)
            else:
                self._found.append(_UNKNOWN)
        if home is None or not home.bases:
            self._found.append(_UNKNOWN)

    def _package(self, func: ast.expr) -> str | None:
        """Return the full name of a callable of a package beside torch and the program, or of an object that one has made."""
        root = func
        while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
            root = root.func if isinstance(root, ast.Call) else root.value
        if not isinstance(root, ast.Name):
            return None
        full = self._imported.get(root.id, "")
        top = full.partition(".")[0]
        if not top or top in self._own or top in _TORCH:
            return None
        return full + ast.unparse(func)[len(root.id) :].partition("(")[0]

    def _given_to(
        self,
        function: ast.stmt,
        call: ast.Call,
        name: str,
        node: ast.expr,
        made: bool,
        whole: bool,
    ) -> None:
        """Follow an argument into a function, or a class, of the file."""
        if isinstance(function, ast.ClassDef):
            made_by = (
                each
                for each in function.body
                if isinstance(each, ast.FunctionDef) and each.name == "__init__"
            )
            made_of = next(made_by, None)
            if made_of is None:
                self._to_bases(function, call, name, node, made, whole)
                return
            function = made_of
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or whole:
            self._found.append(_UNKNOWN)
            return
        plain = [each.arg for each in plain_parameters(function)]
        if not name:
            at = next((n for n, each in enumerate(call.args) if each is node), None)
            places = plain[1:] if plain[:1] in (["self"], ["cls"]) else plain
            if (
                at is None
                or at >= len(places)
                or any(isinstance(each, ast.Starred) for each in call.args)
            ):
                self._found.append(_UNKNOWN)
                return
            name = places[at]
        if name in plain:
            for use in self._values.uses(function, name):
                self._value(use, made)
        elif function.args.kwarg is not None:
            caught = function.args.kwarg.arg
            for use in self._values.uses(function, caught):
                self._of_table(use, name, made)
        else:
            self._found.append(_UNKNOWN)


def _keywords(call: ast.Call) -> frozenset[str]:
    return frozenset(each.arg for each in call.keywords if each.arg is not None)


def _may_read_all(node: ast.AST) -> bool:
    """Tell whether something asks for all variables, or stands for code that an example leaves out: ``locals()``, ``...``."""
    match node:
        case ast.Call(func=ast.Name(id="locals" | "vars" | "eval" | "exec")):
            return True
        case ast.Expr(value=ast.Constant(value=value)):
            return value is ...
        case _:
            return False


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_otherwise(call: ast.Call, node: ast.expr) -> bool:
    """Tell whether a call gives one of its arguments where it finds nothing else: ``options.get("gpus", 1)``."""
    match call:
        case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[_, last]):
            return last is node
        case ast.Call(func=ast.Name(id="getattr"), args=[_, _, last]):
            return last is node
        case _:
            return False
