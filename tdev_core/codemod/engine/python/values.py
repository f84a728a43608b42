"""Follows values through a file: whether what an expression gives is certainly of a kind, whichever way it has come.

Each way in which Python moves a value is here once, for all kinds of them: names and what binds them, unpacking, loops and
comprehensions, lists and dictionaries with what is put into them, functions and what they return, a class's attributes.
What makes a tensor, or a device, is known to the heirs of :class:`Values`.

All that may have given an expression its value has to be of the kind: what is not to be seen is not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tdev_core.codemod.engine.asked import EACH, OBJECT, TENSOR, VALUE, Asked, Step, Want
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.lines import Lines
from tdev_core.codemod.engine.python.statements import (
    BINDERS,
    COMPREHENSIONS,
    FUNCTIONS,
    add_children,
    always_gives,
    bound_by,
    declared_elsewhere,
    full_name,
    holds,
    is_before,
    is_self,
    names_of,
    parameters,
    parts_of,
    plain_parameters,
    puts_into,
    sets_by_name,
    stores,
    within,
)
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.python.uses import Use, is_handed_on, use_of
from tdev_core.codemod.engine.vocabulary import renamed

DEEP = 20
"""The steps that a value is followed back."""
_LONGEST = 3
"""The steps into a value that are followed: `x = x[0]` in a loop would have no end."""
_MOST = 400
"""The expressions that are looked at for one question."""

_Part = tuple[ast.expr, Want]
# What nothing can be put into, or what is gone once it is read.
_NEVER_FILLED = (ast.Tuple, ast.GeneratorExp)
_Function = ast.FunctionDef | ast.AsyncFunctionDef

# Python's own functions that give what is in what they are given.
_OF_ITERABLES = frozenset("list tuple set frozenset sorted reversed iter enumerate zip".split())

# Methods that put something into what they are called of: which argument, and whether its items.
_PUTS: dict[str, tuple[int, tuple[Step, ...]]] = {
    "append": (0, ()),
    "add": (0, ()),
    "insert": (1, ()),
    "extend": (0, (EACH,)),
    "setdefault": (1, ()),
}


class _Put(NamedTuple):
    """A value, or a part of it, that is put into a list or a dictionary under a key."""

    key: Step
    value: ast.expr
    steps: tuple[Step, ...] = ()
    whole: bool = False
    """Whether all that it holds goes to where it was there: ``options.update(more)``."""

    def part(self, want: Want) -> _Part | None:
        """Return what has to hold of it where the whole is to be what is wanted; None where another item is."""
        if self.whole:
            return self.value, want
        if self.key in (EACH, want.path[0]) or want.path[0] in (EACH, VALUE):
            return self.value, want.inner.under(*self.steps)
        return None


@dataclass
class Kept:
    """All that a class does to one of its attributes."""

    given: list[tuple[ast.expr, tuple[Step, ...]]] = field(default_factory=list)
    """What is assigned to it, as a part of which value."""
    said: list[tuple[ast.expr, ast.expr | None, bool]] = field(default_factory=list)
    """The annotations, the value beside each, and whether it is a field."""
    methods: list[_Function] = field(default_factory=list)
    registered: bool = False
    """Whether it is a buffer or a parameter of a module's."""
    put: list[_Put] = field(default_factory=list)
    """What is put into it."""


class Values:
    """Answers for expressions of one tree; ``source`` is the text of its whole file, ``above`` what it imports."""

    def __init__(
        self,
        tree: PythonTree,
        source: str,
        known: Known | None = None,
        above: Sequence[ast.stmt] = (),
    ) -> None:
        self._tree = tree
        self._source = source
        self._known = known or Known()
        self._bound_parts: dict[ast.AST, dict[str, list[ast.AST]]] = {}
        self._put_parts: dict[ast.AST, dict[str, list[_Put]]] = {}
        self._use_parts: dict[ast.AST, dict[str, list[ast.Name]]] = {}
        self._kept_parts: dict[ast.ClassDef, dict[str, Kept]] = {}
        self._open: set[tuple[ast.AST, Want]] = set()
        self._found: dict[tuple[ast.AST, Want], bool] = {}
        self._imported: dict[str, str] = {}
        for node in (*above, *tree.imports):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.split(".")[0]
                    self._imported[bound] = alias.name if alias.asname else bound
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    self._imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    # -- what the heirs know --------------------------------------------------------------------

    def _is(self, node: ast.expr, want: Want, deep: int) -> bool:
        """Tell whether an expression is of a kind, or has such a part, by what it says itself."""
        raise NotImplementedError

    def _is_never(self, node: ast.expr, want: Want) -> bool:
        """Tell whether nothing that is known of an expression makes it what is wanted."""
        return False

    def promises(self, said: ast.expr | None, want: Want) -> bool:
        """Tell whether an annotation promises what is wanted."""
        raise NotImplementedError

    def _is_imported(self, part: ast.Import | ast.ImportFrom, name: str, want: Want) -> bool:
        return False

    def _of_module(self, name: str, want: Want) -> bool | None:
        """Tell whether a module's variable is what is wanted; None where its text alone does not say so."""
        return None

    def _is_given(self, home: _Function, name: str, want: Want) -> bool:
        """Tell whether all who call a function give what is wanted as one of its parameters."""
        raise NotImplementedError

    def _nothing_counts(self, want: Want) -> bool:
        """Tell whether ``None`` is as good as what is wanted, and not only beside the point."""
        return False

    def _says_nothing(self, node: ast.expr, want: Want) -> bool:
        """Tell whether a value that a function may return says nothing of what else it returns: a constant."""
        return isinstance(node, ast.Constant)

    # -- expressions ----------------------------------------------------------------------------

    def holds(self, node: ast.expr | None, want: Want, deep: int = DEEP) -> bool:
        """Tell whether an expression certainly is what is wanted, or has it as the part that is wanted."""
        if node is None or deep < 0 or len(want.path) > _LONGEST or len(self._found) > _MOST:
            return False
        asked = node, want
        if asked in self._open:
            return True  # it gets its own value, which says nothing against it
        if (known := self._found.get(asked)) is not None:
            return known
        self._open.add(asked)
        try:
            found = not self._is_never(node, want) and (
                self._is(node, want, deep) or self._comes_as(node, want, deep - 1)
            )
        finally:
            self._open.discard(asked)
            if not self._open:
                self._found.clear()
        if self._open:
            self._found[asked] = found
        return found

    def _all(self, parts: Sequence[_Part], deep: int) -> bool:
        """Answer for all of several; ``None`` among them says nothing of what else there is."""
        left = [p for p in parts if not self._is_nothing(*p)]
        return bool(left) and all(self.holds(node, want, deep) for node, want in left)

    def _is_nothing(self, node: ast.expr, want: Want) -> bool:
        """Tell whether an expression is ``None``, or a list or a dictionary that nothing is in yet."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            node = node.left  # `[None] * n`
        match node:
            case ast.Constant(value=None):
                return not self._nothing_counts(want)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return bool(want.path) and all(self._is_nothing(each, want.inner) for each in items)
            case ast.Dict(keys=keys):
                return bool(want.path) and not keys
            case ast.Call(func=ast.Name(id="list" | "dict" | "set"), args=[], keywords=[]):
                return bool(want.path)
            case _:
                return False

    def _comes_as(self, node: ast.expr, want: Want, deep: int) -> bool:
        """Follow an expression to those that its value comes from."""
        if want.path and (parts := self._items(node, want)) is not None:
            return self._all(parts, deep)
        match node:
            case ast.Name():
                return self._bound(node, want, deep)
            case ast.NamedExpr(value=value):
                return self.holds(value, want, deep)
            case ast.IfExp(body=left, orelse=right):
                return self._all([(left, want), (right, want)], deep)
            case ast.BoolOp(op=ast.Or(), values=values):
                return self._all([(each, want) for each in values], deep)
            case ast.Attribute(value=value, attr=attr):
                return self._of_object(node, value, attr, want, deep)
            case ast.Subscript(value=value, slice=at):
                return self._taken(value, at, want, deep)
            case ast.Call():
                return self._called(node, want, deep)
            case _:
                return False

    def _items(self, node: ast.expr, want: Want) -> list[_Part] | None:
        """Return what the wanted part of an expression is made of; None where it does not say what it holds."""
        step, rest = want.path[0], want.inner
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return _chosen(items, step, rest)
            case ast.Dict(keys=keys, values=values):
                if step is EACH or any(key is None for key in keys):
                    return []
                named = [k.value if isinstance(k, ast.Constant) else ... for k in keys]
                found = [v for k, v in zip(named, values, strict=True) if step in (VALUE, k)]
                return [(each, rest) for each in found] if ... not in named else []
            case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item) | ast.SetComp(elt=item):
                return [] if isinstance(step, str) else [(item, rest)]
            case ast.DictComp(value=item):
                return [(item, rest)] if isinstance(step, str) else []
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return [(left, rest.under(EACH)), (right, rest.under(EACH))]
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
                named = [each.arg for each in keywords]
                if None in named or step is EACH:
                    return []
                return [(each.value, rest) for each in keywords if step in (VALUE, each.arg)]
            case ast.Call(func=ast.Name(id=name), args=args) if name in _OF_ITERABLES:
                return self._items_of(name, args, want)
            case ast.Call(func=ast.Attribute(attr="values", value=value), args=[]):
                return [(value, rest.under(VALUE))]
            case ast.Call(func=ast.Attribute(attr="items", value=value), args=[]):
                further = want.path[1:2] == (1,)
                return [(value, rest.inner.under(VALUE))] if further else []
            case ast.Call(func=ast.Attribute(attr="fromkeys"), args=[value, *_]):
                return [(value, rest.under(EACH))] if step is EACH else None
            case _:
                return None

    @staticmethod
    def _items_of(name: str, args: list[ast.expr], want: Want) -> list[_Part] | None:
        """Answer for what Python's own functions make of iterables."""
        step, rest = want.path[0], want.inner
        at = want.path[1] if len(want.path) > 1 else None
        if any(isinstance(each, ast.Starred) for each in args):
            return []
        match name, args:
            case "enumerate", [inner, *_]:
                return [(inner, rest.inner.under(EACH))] if at == 1 else []
            case "zip", _:
                if isinstance(at, int) and at < len(args):
                    return [(args[at], rest.inner.under(EACH))]
                return []
            case "list" | "tuple" | "iter", [inner]:
                return [(inner, rest.under(step))]
            case _, [inner, *_]:
                return [(inner, rest.under(EACH))]
            case _:
                return None

    def _taken(self, value: ast.expr, at: ast.expr, want: Want, deep: int) -> bool:
        """Follow ``value[at]``."""
        key = at.value if isinstance(at, ast.Constant) else None
        if isinstance(key, str):
            if (given := self._given_before(value, f"[{key!r}]", want)) is not None:
                return self.holds(given, want, deep)
        match at:
            case ast.Constant(value=int() | str() as key):
                return self.holds(value, want.under(key), deep)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as back)):
                return self.holds(value, want.under(-back), deep)
            case ast.Slice():
                return bool(want.path) and self.holds(value, want.inner.under(EACH), deep)
            case _:
                return self.holds(value, want.under(EACH), deep) or self.holds(
                    value, want.under(VALUE), deep
                )

    def _called(self, node: ast.Call, want: Want, deep: int) -> bool:
        """Follow what a call gives."""
        match node.func, node.args:
            case ast.Name(id="next"), [inner, *otherwise]:
                given = [(inner, want.under(EACH)), *((each, want) for each in otherwise)]
                return self._all(given, deep)
            case ast.Attribute(attr="pop" | "popleft", value=value), args:
                key = args[0].value if args and isinstance(args[0], ast.Constant) else EACH
                step = key if isinstance(key, str) else EACH
                return self._all(
                    [(value, want.under(step)), *((each, want) for each in args[1:])], deep
                )
            case (
                ast.Attribute(attr="get", value=value),
                [ast.Constant(value=str() as key), *otherwise],
            ):
                given = [(value, want.under(key)), *((each, want) for each in otherwise)]
                return self._all(given, deep)
            case ast.Attribute(attr="copy", value=value), [] if want.path:
                return self.holds(value, want, deep)
            case ((ast.Name(id="copy" | "deepcopy") | ast.Attribute(attr="deepcopy")), [value, *_]):
                return self.holds(value, want, deep)
            case ((ast.Name(id="cast") | ast.Attribute(attr="cast")), [said, value]):
                return self.promises(said, want) or self.holds(value, want, deep)
            case ast.Name(id="getattr"), [owner, ast.Constant(value=str() as attr), *otherwise]:
                return self._of_object(node, owner, attr, want, deep) and all(
                    self._is_nothing(each, want) or self.holds(each, want, deep)
                    for each in otherwise
                )
            case _:
                pass
        homes = self._functions_of(node.func)
        if homes and all(self.gives(home, want, deep) for home in homes):
            if self._is_heirs_too(node.func, homes, want):
                return True
        if isinstance(node.func, ast.Name) and len(homes) == 1:
            if self._all([(each, want) for each in self._handed_back(node, homes[0])], deep):
                return True
        if isinstance(node.func, ast.Attribute) and (kind := self.class_of(node.func.value)):
            if self._known.told(Asked("method", kind, node.func.attr, want)):
                return True
        last = self._function_by_name(node.func, want)
        if want == OBJECT:
            want = TENSOR  # by more than the name that another file's function has for it
        return bool(last) and self._known.told(Asked("gives", last, want=want))

    def _handed_back(self, call: ast.Call, function: _Function) -> list[ast.expr]:
        """Return those of its arguments which a function gives back, where it gives nothing else: ``default(device, x.device)``."""
        if function.decorator_list or not isinstance(function, ast.FunctionDef):
            return []
        given = _arguments(call, function)
        todo = [each.value for each in within(function) if isinstance(each, ast.Return)]
        found: list[ast.expr] = []
        while todo:
            match todo.pop():
                case ast.IfExp(body=left, orelse=right):
                    todo += [left, right]
                case ast.BoolOp(values=values):
                    todo += values
                case ast.Name(id=name) if name in given and name not in self._bound_in(function):
                    found.append(given[name])
                case _:
                    return []
        return found

    def _is_heirs_too(self, func: ast.expr, homes: list[_Function], want: Want) -> bool:
        """Tell whether a method gives what is wanted of whatever heir of its class it is called."""
        owner = self._class_around(func)
        if not isinstance(func, ast.Attribute) or owner is None:
            return True
        return self._do_heirs_give(owner, func.attr, homes, want)

    def _do_heirs_give(
        self, owner: ast.ClassDef, attr: str, methods: list[_Function], want: Want
    ) -> bool:
        """Tell whether the heirs of a class give what is wanted, too; what a method promises binds them."""
        if want.kind != "device" or any(self.promises(each.returns, want) for each in methods):
            return True
        return self._known.told(Asked("heirs", owner.name, attr, want))

    def _function_by_name(self, func: ast.expr, want: Want) -> str:
        """Return by which name a call means a function of the tree's; nothing for a method of an object of unknown class.

        But for one of several things that it gives, ``jacobians, outputs = self.backend.jacobians(x)``: those are no settings.
        """
        match func:
            case ast.Name(id=name):
                return renamed(self._source).get(name, name)
            case ast.Attribute(value=owner, attr=name):
                plain = isinstance(owner, ast.Name) and (
                    is_self(owner) or owner.id in self._imported
                )
                of_base = isinstance(owner, ast.Call) and ast.unparse(owner.func) == "super"
                several = bool(want.path) and want.kind != "device"
                return name if plain or of_base or several or "device" in name else ""
            case _:
                return ""

    def _functions_of(self, func: ast.expr) -> list[_Function]:
        """Return the functions of this tree that a call means, by a plain name or of the object itself."""
        match func:
            case ast.Name(id=name):
                found = self._functions.get(name, [])
                bound = self._bindings(func, name) if found else []
                return found if bound and all(part in found for part in bound) else []
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                return self._functions.get(name, [])
            case _:
                return []

    @cached_property
    def _functions(self) -> dict[str, list[_Function]]:
        found: dict[str, list[_Function]] = {}
        for each in self._tree.statements:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.setdefault(each.name, []).append(each)
        return found

    def gives(self, function: ast.AST, want: Want, deep: int = DEEP) -> bool:
        """Tell whether a function promises what is wanted, or returns nothing else."""
        if not isinstance(function, ast.FunctionDef) or any(
            last not in _LEAVE_THE_RESULT for last in map(_decorator, function.decorator_list)
        ):
            return False
        if self.promises(function.returns, want):
            return True
        returned: list[ast.expr] = []
        yields = False
        for each in within(function):
            if isinstance(each, ast.Return) and each.value is not None:
                returned.append(each.value)
            elif isinstance(each, (ast.Yield, ast.YieldFrom)):
                yields = True
                if each.value is None or isinstance(each, ast.YieldFrom):
                    return False
                returned.append(each.value)
        if yields:
            if not want.path or want.path[0] is not EACH:
                return False
            want = want.inner
        plain = [
            r for r in returned if not (self._says_nothing(r, want) or _calls(r, function.name))
        ]
        return bool(plain) and self._all([(each, want) for each in returned], deep - 1)

    def _of_object(self, node: ast.expr, owner: ast.expr, attr: str, want: Want, deep: int) -> bool:
        """Follow ``owner.attr``: of the object itself by its class, of another one by its class or by what it was just given."""
        if is_self(owner):
            around = self._class_around(node)
            return around is not None and self._is_kept(around, attr, want, deep)
        if (given := self._given_before(owner, f".{attr}", want)) is not None:
            return self.holds(given, want, deep)
        kind = self.class_of(owner)
        if kind and want.kind != "device" and (here := self._classes.get(kind)) is not None:
            return self._is_kept(here, attr, want, deep)
        if isinstance(owner, ast.Name) and owner.id == "ctx":
            # What torch's functions keep for their way back.
            return self._all([(v, want.under(*s)) for v, s in self._of_context.get(attr, ())], deep)
        return bool(kind) and self._known.told(Asked("named", kind, attr, want))

    @cached_property
    def _of_context(self) -> dict[str, list[tuple[ast.expr, tuple[Step, ...]]]]:
        found: dict[str, list[tuple[ast.expr, tuple[Step, ...]]]] = {}
        for each in self._tree.statements:
            if isinstance(each, ast.Assign):
                for target in each.targets:
                    for part, steps in parts_of(target):
                        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                            if part.value.id == "ctx":
                                found.setdefault(part.attr, []).append((each.value, steps))
        return found

    def _given_before(self, owner: ast.expr, part: str, want: Want) -> ast.expr | None:
        """Return what an attribute, or an item, of a variable was given by the last plain statement of a block around.

        A call that gets the object in between may have given it another device.
        """
        if not isinstance(owner, ast.Name) or is_self(owner):
            return None
        name = f"{owner.id}{part}"
        if part[0] == "." and f"{name} =" not in self._source and f"{name}=" not in self._source:
            return None
        if f"{owner.id}{part[0]}" not in self._source or self._is_bound_around(owner, owner.id):
            return None
        for statement in self._statements_before(owner):
            if isinstance(statement, ast.Assign) and name in map(ast.unparse, statement.targets):
                # A loop around what is asked alone comes by what stands later in it.
                around = (
                    p
                    for p in self._tree.ancestors(owner)
                    if isinstance(p, (ast.For, ast.While)) and is_before(statement, p)
                )
                again = want.kind == "device" and any(
                    self._may_change(each, owner.id, part, want) for each in around
                )
                return None if again else statement.value
            if self._may_change(statement, owner.id, part, want):
                return None
        return None

    def _may_change(self, statement: ast.stmt, owner: str, part: str, want: Want) -> bool:
        """Tell whether something in a statement may give an attribute, or an item, of a variable another value."""
        return (
            stores(statement, f"{owner}{part}")
            or stores(statement, owner)
            or sets_by_name(statement, owner)
            or part[0] == "["
            and puts_into(statement, owner)
            or want.kind == "device"
            and is_handed_on(self._tree, statement, owner)
        )

    def _is_bound_around(self, node: ast.AST, name: str) -> bool:
        """Tell whether a loop, a ``with`` or a comprehension around something binds a name for it."""
        for parent in self._tree.ancestors(node):
            if isinstance(parent, FUNCTIONS):
                return False
            if isinstance(parent, COMPREHENSIONS):
                if any(name in names_of(loop.target) for loop in parent.generators):
                    return True
            elif name in bound_by(parent):
                return True
        return False

    def class_of(self, node: ast.expr) -> str:
        """Return the name of the class that an expression is an object of, or nothing."""
        return ""

    def _class_around(self, node: ast.AST) -> ast.ClassDef | None:
        return next((p for p in self._tree.ancestors(node) if isinstance(p, ast.ClassDef)), None)

    @cached_property
    def _classes(self) -> dict[str, ast.ClassDef]:
        return {
            part.name: part for part in self._tree.module.body if isinstance(part, ast.ClassDef)
        }

    # -- names ----------------------------------------------------------------------------------

    def _bound(self, node: ast.Name, want: Want, deep: int) -> bool:
        """Tell whether all that may have given a name its value gave it what is wanted."""
        name = node.id
        below: ast.AST = node
        seen_from: ast.comprehension | None = None
        for parent in self._tree.ancestors(node):
            if isinstance(parent, ast.comprehension) and parent.iter is below:
                seen_from = parent
            elif isinstance(parent, COMPREHENSIONS):
                loops = parent.generators
                if seen_from is not None:
                    loops = loops[: loops.index(seen_from)]
                    seen_from = None
                for loop in reversed(loops):
                    if name in names_of(loop.target):
                        given = _to(loop.target, loop.iter, name, want, (EACH,))
                        return self._all(given, deep) if given is not None else False
            elif isinstance(parent, FUNCTIONS):
                break
            elif isinstance(parent, ast.ClassDef) and self._bound_in(parent).get(name):
                return False
            below = parent
        return self._bound_around(node, name, want, deep)

    def _bound_around(self, node: ast.AST, name: str, want: Want, deep: int) -> bool:
        """Answer for a name that is read at ``node``, or by the function that starts there."""
        home = self._home(node) or self._tree.module
        if isinstance(home, ast.Module) and (known := self._of_module(name, want)) is not None:
            return known
        if name in declared_elsewhere(self._source):
            if isinstance(home, ast.Module) or name not in parameters(home):
                return self._is_module_wide(home, name, want, deep)
        reaching = list(self._reaching(node, home, name))
        answers = [a for part in reaching for a in self._binding(part, name, want, deep)]
        if want.path and reaching:
            put = (each.part(want) for each in self._put_in(home).get(name, ()))
            answers += [self.holds(*part, deep) for part in put if part is not None]
            if want.kind == "device" and not self._is_seen_whole(node, home, name, want, reaching):
                return False
        if not isinstance(home, ast.Module) and self._last_plain(node, name) is None:
            if name in parameters(home):
                answers.append(self._parameter(home, name, want))
            elif not answers:
                return self._bound_around(home, name, want, deep)
        return bool(answers) and all(answers)

    def _is_module_wide(self, home: ast.AST, name: str, want: Want, deep: int) -> bool:
        """Answer for a name that some function declares as one around it: of the module's, for all who set it there."""
        around = [home, *(p for p in self._tree.ancestors(home) if isinstance(p, FUNCTIONS))]
        if any(
            (name in parameters(each) or name in self._bound_in(each)) and not _declares(each, name)
            for each in around
            if isinstance(each, FUNCTIONS)
        ):
            return False  # a local of one of them, which another sets
        return self._whole is not None and self._whole.is_set_to(name, want, deep)

    def is_set_to(self, name: str, want: Want, deep: int = DEEP) -> bool:
        """Tell whether whoever sets a variable of the module sets it to what is wanted, functions with ``global`` too."""
        parts = list(self._bound_in(self._tree.module).get(name, ()))
        if name in declared_elsewhere(self._source):
            for each in self._tree.statements:
                if isinstance(each, FUNCTIONS) and _declares(each, name):
                    parts += self._bound_in(each).get(name, ())
        answers = [a for part in parts for a in self._binding(part, name, want, deep)]
        return bool(answers) and all(answers)

    @cached_property
    def _whole(self) -> Values | None:
        """The same for the whole file, where this is a part of it; None where Python's parser does not take that."""
        if self._tree.is_of(self._source):
            return self
        try:
            tree = PythonTree(Lines(self._source))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return type(self)(tree, self._source, self._known)

    def _reaching(self, node: ast.AST, home: ast.AST, name: str) -> Iterator[ast.AST]:
        """Yield what may have bound a name that is read at ``node``, in the function around it."""
        parts = self._bound_in(home).get(name)
        if not parts:
            return
        since = self._last_plain(node, name)
        loops = [p for p in self._tree.ancestors(node) if isinstance(p, (ast.For, ast.While))]
        own = next((p for p in self._tree.ancestors(node) if isinstance(p, ast.stmt)), None)
        # A function may be called after all that is around it.
        runs_now = not isinstance(node, FUNCTIONS)
        for part in parts:
            if since is not None and part is not since and is_before(part, since):
                continue
            if part is own and not loops and isinstance(part, (ast.Assign, ast.AnnAssign)):
                continue  # `x = x.sum()`: the name on the right is the one before
            # What stands later runs before, in the round before of a loop around both.
            if runs_now and is_before(node, part) and not any(holds(loop, part) for loop in loops):
                continue
            yield part

    def _binding(self, part: ast.AST, name: str, want: Want, deep: int) -> list[bool]:
        """Answer for each way in which a statement or expression binds a name."""
        given: list[_Part] | None = []
        match part:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    more = _to(target, value, name, want)
                    given = None if more is None or given is None else [*given, *more]
            case ast.AnnAssign(target=ast.Name(), annotation=said, value=value):
                return [self.promises(said, want) or self.holds(value, want, deep)]
            case ast.AugAssign(target=ast.Name()):
                return [] if want.path or not self._nothing_counts(want) else [False]
            case ast.NamedExpr(value=value):
                given = [(value, want)]
            case ast.For(target=target, iter=loop):
                given = _to(target, loop, name, want, (EACH,))
            case ast.Import() | ast.ImportFrom():
                return [self._is_imported(part, name, want)]
            case ast.Delete():
                return []
            case _ if isinstance(part, COMPREHENSIONS):
                walrus = [e for e in ast.walk(part) if isinstance(e, ast.NamedExpr)]
                given = [(e.value, want) for e in walrus if name in names_of(e.target)]
            case _:
                return [False]
        if given is None:
            return [False]
        return [self.holds(node, of, deep) for node, of in given if not self._is_nothing(node, of)]

    def _parameter(self, home: ast.AST, name: str, want: Want) -> bool:
        """Tell whether a parameter says that it is what is wanted, or everybody gives it that."""
        assert isinstance(home, FUNCTIONS)
        given = parameters(home)[name]
        if given is home.args.vararg:  # `*tensors: Tensor`
            return bool(want.path) and self.promises(given.annotation, want.inner)
        if isinstance(home, ast.Lambda) or given not in plain_parameters(home):
            return False
        return self._is_given(home, name, want)

    def _put_in(self, home: ast.AST) -> dict[str, list[_Put]]:
        """Return what is put into each list or dictionary of a function, under which key where there is one.

        By the functions in it, too: those of a module fill what it has.
        """
        found = self._put_parts.get(home)
        if found is None:
            found = self._put_parts[home] = {}
            used = self._use_parts[home] = {}
            for part, own in self._below(home):
                if type(part) is ast.Name:
                    if type(part.ctx) is ast.Load and part.id not in own:
                        used.setdefault(part.id, []).append(part)
                elif type(part) in _PUTTING:
                    for owner, put in _put_by(part):
                        if isinstance(owner, ast.Name) and owner.id not in own:
                            found.setdefault(owner.id, []).append(put)
        return found

    def _below(self, home: ast.AST) -> Iterator[tuple[ast.AST, frozenset[str]]]:
        """Yield all that stands in a function, or in functions in it, with the names that those have for themselves."""
        todo: list[tuple[ast.AST, frozenset[str]]] = [(home, frozenset())]
        while todo:
            node, own = todo.pop()
            if node is not home:
                yield node, own
                if isinstance(node, FUNCTIONS):
                    own |= (parameters(node).keys() | self._bound_in(node).keys()) - (
                        declared_elsewhere(self._source)
                    )
            children: list[ast.AST] = []
            add_children(node, children)
            todo += [(each, own) for each in children]

    def _is_seen_whole(
        self, node: ast.AST, home: ast.AST, name: str, want: Want, given: list[ast.AST]
    ) -> bool:
        """Tell whether all that may have filled a list or a dictionary before ``node`` is seen: nobody else has it."""
        values = [part.value for part in given if isinstance(part, (ast.Assign, ast.AnnAssign))]
        if len(values) == len(given) and all(isinstance(v, _NEVER_FILLED) for v in values):
            return True
        if isinstance(home, ast.Module) and name[0] != "_" and "pytest" not in self._source:
            return False  # another file may fill it, `module.OPTIONS["device"] = word`, but for a test's
        # A function may be called after all that is around it.
        loops = [p for p in self._tree.ancestors(node) if isinstance(p, (ast.For, ast.While))]
        runs_now = not isinstance(node, FUNCTIONS)
        used = [
            use
            for use in self._uses_in(home, name)
            if use is not node
            and not (
                runs_now and is_before(node, use) and not any(holds(loop, use) for loop in loops)
            )
        ]
        return all(self._is_plain_use(use, len(want.path), home) for use in used)

    def reads(self, part: ast.AST, name: str) -> list[ast.Name]:
        """Return where a name may have the value that a statement or expression gives it."""
        home = self._scope(part, name)
        return [
            use
            for use in self._uses_in(home, name)
            # A function inside may be called after all that is around it.
            if (self._home(use) or self._tree.module) is not home
            or part in self._reaching(use, home, name)
        ]

    def uses(self, node: ast.AST, name: str) -> list[ast.Name]:
        """Return where a name is read that means at ``node`` what it means there; or one of a function's own."""
        home = node if isinstance(node, FUNCTIONS) else self._scope(node, name)
        return self._uses_in(home, name)

    def is_table_made_here(self, node: ast.AST, name: str) -> bool:
        """Tell whether a name means a dictionary that its function has made, or collects keywords in: nobody else has it yet."""
        home = self._scope(node, name)
        if isinstance(home, FUNCTIONS) and name in parameters(home):
            caught = home.args.kwarg
            return caught is not None and caught.arg == name
        given = self._bound_in(home).get(name, [])
        values = [each.value for each in given if isinstance(each, (ast.Assign, ast.AnnAssign))]
        return 0 < len(values) == len(given) and all(
            isinstance(each, ast.Dict)
            or isinstance(each, ast.Call)
            and isinstance(each.func, ast.Name)
            and each.func.id == "dict"
            for each in values
        )

    def _scope(self, node: ast.AST, name: str) -> ast.AST:
        """Return the function, or the module, whose variable a name is that stands at ``node``."""
        home = self._home(node)
        while home is not None and not (name in parameters(home) or name in self._bound_in(home)):
            home = self._home(home)
        return home or self._tree.module

    def _uses_in(self, home: ast.AST, name: str) -> list[ast.Name]:
        self._put_in(home)
        return self._use_parts[home].get(name, [])

    def _is_plain_use(self, use: ast.expr, deep: int, home: ast.AST) -> bool:
        """Tell whether something is only read, or filled in a way that is followed."""
        how, end = use_of(self._tree, use, deep)
        if how is Use.NAMED and isinstance(end, ast.Name):
            return self.only_reads(home, end.id, deep)
        return how is not Use.UNKNOWN

    def only_reads(self, home: ast.AST, name: str, deep: int) -> bool:
        """Tell whether a function does nothing but read what one of its variables holds."""
        return all(
            use_of(self._tree, use, deep, kept=True)[0] is Use.READ
            for use in self._uses_in(home, name)
        ) and not any(isinstance(p, ast.AugAssign) for p in self._bound_in(home).get(name, ()))

    def _bindings(self, node: ast.AST, name: str) -> list[ast.AST]:
        """Return what may bind a name in the function around ``node``, or in the one around that, and so on."""
        home = self._home(node) or self._tree.module
        here: list[ast.AST] = []
        if isinstance(home, FUNCTIONS) and name in parameters(home):
            here.append(home)
        here += self._bound_in(home).get(name, ())
        return here if here or isinstance(home, ast.Module) else self._bindings(home, name)

    def _statements_before(self, node: ast.AST) -> Iterator[ast.stmt]:
        """Yield the statements of its function that are certainly carried out before something, the last one first."""
        below: ast.AST = node
        for parent in self._tree.ancestors(node):
            if isinstance(below, FUNCTIONS) and below is not node:
                return
            if isinstance(below, ast.stmt):
                block = self._tree.block(below)
                yield from reversed(block[: block.index(below)] if below in block else [])
            below = parent

    def _last_plain(self, node: ast.AST, name: str) -> ast.stmt | None:
        """Return the last statement that certainly gives a name its value before ``node``, whichever arm is taken."""
        return next(
            (each for each in self._statements_before(node) if always_gives(each, name)), None
        )

    def _bound_in(self, home: ast.AST) -> dict[str, list[ast.AST]]:
        """Return what binds each name of a function, a class or a module, but its parameters."""
        found = self._bound_parts.get(home)
        if found is None:
            found = self._bound_parts[home] = {}
            for part in within(home):
                if type(part) in BINDERS:
                    for name in set(bound_by(part)):
                        found.setdefault(name, []).append(part)
        return found

    def is_variable(self, node: ast.Name) -> bool:
        """Tell whether a name is one of a function's own: a parameter, or what it assigns."""
        home = self._home(node)
        while home is not None:
            plain = (
                part
                for part in self._bound_in(home).get(node.id, ())
                if not isinstance(part, (ast.Import, ast.ImportFrom, *FUNCTIONS))
            )
            if node.id in parameters(home) or next(plain, None) is not None:
                return True
            home = self._home(home)
        return False

    def _home(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        for parent in self._tree.ancestors(node):
            if isinstance(parent, FUNCTIONS):
                return parent
        return None

    def _around(self, node: ast.AST) -> str:
        home = self._home(node)
        return self._source if home is None else self._tree.source(home)

    def _name(self, node: ast.expr) -> str:
        """Return the full name of an attribute chain that starts at an import, else what stands there."""
        return full_name(node, self._imported)

    # -- classes --------------------------------------------------------------------------------

    def _kept_in(self, owner: ast.ClassDef) -> dict[str, Kept]:
        """Return what a class does to each of its attributes."""
        found = self._kept_parts.get(owner)
        if found is not None:
            return found
        found = self._kept_parts[owner] = {}
        members = set(owner.body)
        for part in ast.walk(owner):
            if type(part) not in _KEEPING:
                continue
            match part:
                case ast.Assign(targets=targets, value=value):
                    for goal, (each, steps) in ((t, p) for t in targets for p in parts_of(t)):
                        attr = ""
                        if isinstance(each, ast.Attribute) and is_self(each.value):
                            attr = each.attr
                        elif isinstance(each, ast.Name) and part in members:
                            attr = each.id
                        if attr:
                            steps = from_the_end(goal, value, steps)
                            found.setdefault(attr, Kept()).given.append((value, steps))
                case ast.AnnAssign(target=ast.Attribute(attr=attr) as target) if is_self(
                    target.value
                ):
                    kept = found.setdefault(attr, Kept())
                    kept.said.append((part.annotation, part.value, False))
                case ast.AnnAssign(target=ast.Name(id=attr)) if part in members:
                    kept = found.setdefault(attr, Kept())
                    kept.said.append((part.annotation, part.value, True))
                case ast.FunctionDef(name=name) if part in members:
                    found.setdefault(name, Kept()).methods.append(part)
                case ast.Call(func=ast.Attribute(attr=called)) if called in _REGISTERS or (
                    called == "add_state" and _holds_a_tensor(part)
                ):
                    named = [k.value for k in part.keywords if k.arg == "name"]
                    match [*part.args, *named]:
                        case [ast.Constant(value=str() as name), *_]:
                            found.setdefault(name, Kept()).registered = True
                        case _:
                            pass
                case _:
                    pass
            for of, put in _put_by(part) if type(part) in _PUTTING else ():
                if isinstance(of, ast.Attribute) and is_self(of.value):
                    found.setdefault(of.attr, Kept()).put.append(put)
        return found

    def _is_kept(self, owner: ast.ClassDef, attr: str, want: Want, deep: int) -> bool:
        """Tell whether a class, or the first that it inherits from and that has it, keeps what is wanted in an attribute."""
        inherits, seen = owner, set[str]()
        while inherits.name not in seen:
            seen.add(inherits.name)
            kept = self._kept_in(inherits).get(attr)
            if kept is not None and (kept.given or kept.said or kept.methods or kept.registered):
                return not self._has_another_from(inherits, attr, want) and self._keeps(
                    inherits, attr, kept, want, deep
                )
            inherits = self._base_here(inherits) or inherits
        return self._inherits(owner, attr, want)

    def _keeps(self, owner: ast.ClassDef, attr: str, kept: Kept, want: Want, deep: int) -> bool:
        """Tell whether all that a class does to an attribute makes it what is wanted."""
        answers = [self.promises(said, want) for said, _, _ in kept.said]
        answers += [self.gives(method, want, deep) for method in kept.methods]
        if kept.registered:
            answers.append(want.kind != "device")
        made = self._made_last(owner, attr, want)
        given = [] if made is not None else [(v, want.under(*s)) for v, s in kept.given]
        answers += [self.holds(*part, deep) for part in given if not self._is_nothing(*part)]
        if want.path:
            parts = (put.part(want) for put in kept.put)
            answers += [self.holds(*part, deep) for part in parts if part is not None]
        if not answers or not all(answers):
            return False
        if kept.methods:
            return self._do_heirs_give(owner, attr, kept.methods, want)
        if want.path and want.kind == "device":
            return self._known.told(Asked("filled", owner.name, attr, want))
        return True

    def _made_last(self, owner: ast.ClassDef, attr: str, want: Want) -> ast.stmt | None:
        """Return the statement with which ``__init__`` always sets the wanted item, whatever a dictionary held before."""
        if not want.path or not isinstance(want.path[0], str):
            return None
        wanted = f"self.{attr}[{want.path[0]!r}]"
        for method in self._kept_in(owner).get("__init__", Kept()).methods:
            for statement in reversed(method.body):
                if isinstance(statement, ast.Assign):
                    targets = [ast.unparse(target) for target in statement.targets]
                    if wanted in targets:
                        return statement
                    if f"self.{attr}" in targets:
                        return None
        return None

    def _has_another_from(self, owner: ast.ClassDef, attr: str, want: Want) -> bool:
        """Tell whether a base class elsewhere sets the same attribute to something else, in a method of its own."""
        return False

    def _inherits(self, owner: ast.ClassDef, attr: str, want: Want) -> bool:
        """Tell whether what a class does not set itself is what is wanted by a base class elsewhere."""
        return False

    def _base_here(self, owner: ast.ClassDef) -> ast.ClassDef | None:
        """Return the first class of this tree that one inherits from."""
        for base in owner.bases:
            named = base.attr if isinstance(base, ast.Attribute) else ast.unparse(base)
            if (found := self._classes.get(named.partition("[")[0])) is not None:
                return found
        return None


# Decorators under which a call gives what the function returns.
_LEAVE_THE_RESULT = frozenset(
    "staticmethod classmethod property cached_property abstractmethod override overload final cache lru_cache "
    "no_grad inference_mode enable_grad typechecked beartype jaxtyped compile disable ignore unused export".split()
)


_REGISTERS = ("register_buffer", "register_parameter")


def _holds_a_tensor(call: ast.Call) -> bool:
    """Tell whether a state of a metric of torchmetrics' is a tensor by its default, and no list: ``add_state("hits", torch.zeros(3))``."""
    given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "default")]
    return any(
        isinstance(each, ast.Call) and ast.unparse(each.func).startswith("torch.") for each in given
    )


def _arguments(call: ast.Call, function: ast.FunctionDef) -> dict[str, ast.expr]:
    """Return what a call gives each of a function's parameters; nothing where that is not to be seen."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if any(isinstance(each, ast.Starred) for each in call.args) or len(call.args) > len(names):
        return {}
    if any(each.arg is None for each in call.keywords):
        return {}
    found = dict(zip(names, call.args, strict=False))
    return found | {each.arg: each.value for each in call.keywords if each.arg is not None}


def _declares(function: ast.AST, name: str) -> bool:
    """Tell whether a function says that a name is one of the module's."""
    return any(isinstance(each, ast.Global) and name in each.names for each in within(function))


def _decorator(node: ast.expr) -> str:
    """Return the last name of a decorator."""
    head = node.func if isinstance(node, ast.Call) else node
    return head.attr if isinstance(head, ast.Attribute) else getattr(head, "id", "")


def _calls(node: ast.expr, name: str) -> bool:
    """Tell whether an expression is a call of a function by its name, which hands on its own answer."""
    match node:
        case ast.Call(func=ast.Name(id=called)):
            return called == name
        case _:
            return False


def _chosen(items: list[ast.expr], step: Step, rest: Want) -> list[_Part]:
    """Return which of the items of a tuple, or a list, a step leads to."""
    stars = [at for at, each in enumerate(items) if isinstance(each, ast.Starred)]
    if isinstance(step, int):
        first, after = (stars[0], len(items) - stars[-1] - 1) if stars else (len(items),) * 2
        if 0 <= step < first or 0 < -step <= after:
            return [(items[step], rest)]
        if not stars:
            return []
    if isinstance(step, str):
        return []
    return [
        (each.value, rest.under(EACH)) if isinstance(each, ast.Starred) else (each, rest)
        for each in items
    ]


def _to(
    target: ast.expr, value: ast.expr, name: str, want: Want, looped: tuple[Step, ...] = ()
) -> list[_Part] | None:
    """Return what a target that is given a value, or each item of it, gives a name; None where that is not to be seen."""
    found: list[_Part] = []
    for part, steps in parts_of(target):
        if isinstance(part, ast.Starred):
            # `first, *rest = items`: which of them an item of the rest is does not matter.
            if not isinstance(part.value, ast.Name) or part.value.id != name:
                continue
            if not want.path:
                return None
            found.append((value, want.inner.under(*looped, *steps[:-1], EACH)))
        elif isinstance(part, ast.Name) and part.id == name:
            found.append((value, want.under(*looped, *from_the_end(target, value, steps))))
    return found


def from_the_end(target: ast.expr, value: ast.expr, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return a place counted from the end where the values before it are not: ``n, device = *x.shape, x.device``."""
    if not steps or not isinstance(value, ast.Tuple) or not isinstance(target, ast.Tuple):
        return steps
    first, *more = steps
    star = next((at for at, e in enumerate(value.elts) if isinstance(e, ast.Starred)), None)
    if star is not None and isinstance(first, int) and first >= star:
        return (first - len(target.elts), *more)
    return steps


# What puts something into a list or a dictionary, and what may give an attribute its value, by the very type.
_PUTTING = frozenset({ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Call})
_KEEPING = _PUTTING | {ast.FunctionDef}


def _put_by(part: ast.AST) -> Iterator[tuple[ast.expr, _Put]]:
    """Yield the list or dictionary that something is put into, and what it is."""
    match part:
        case ast.Assign(targets=targets, value=value):
            for each, steps in (p for target in targets for p in parts_of(target)):
                if isinstance(each, ast.Subscript):
                    at = each.slice.value if isinstance(each.slice, ast.Constant) else EACH
                    sliced = (EACH,) if isinstance(each.slice, ast.Slice) else ()
                    key = at if isinstance(at, (int, str)) else EACH
                    yield each.value, _Put(key, value, (*sliced, *steps))
        case ast.AnnAssign(target=ast.Subscript(value=owner), value=ast.expr() as value):
            yield owner, _Put(EACH, value)
        case ast.Call(func=ast.Attribute(attr=attr, value=owner), args=args) if attr in _PUTS:
            place, steps = _PUTS[attr]
            if place < len(args):
                yield owner, _Put(EACH, args[place], steps)
        case ast.Call(func=ast.Attribute(attr="update", value=owner), args=args):
            yield from ((owner, _Put(EACH, each, whole=True)) for each in args)
            yield from ((owner, _Put(each.arg or EACH, each.value)) for each in part.keywords)
        case ast.AugAssign(target=(ast.Name() | ast.Attribute()) as owner, value=value):
            yield owner, _Put(EACH, value, whole=True)
        case _:
            pass
