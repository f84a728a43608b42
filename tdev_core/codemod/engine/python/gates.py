"""Follows the answers of questions that stay CUDA's: what is true, or false, on CUDA alone, and what only that leads to.

An answer is kept by a variable, an attribute of an object or a module's name, given back by a function, and asked again
elsewhere: ``self.use_cuda``, which nothing but such a question sets. A class may switch itself off instead, ``self.enabled =
False`` where there is another device, and a program may refuse a flag there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import Literal, cast

from tdev_core.codemod.engine.python.elsewhere import Others
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.statements import is_self
from tdev_core.codemod.engine.python.tree import PythonTree

Answer = Literal["yes", "no"]
"""The answer that only CUDA gives: something is true there alone, or false."""

_OTHER: dict[Answer | None, Answer | None] = {"yes": "no", "no": "yes", None: None}
_Key = tuple[ast.AST, str]
"""A variable by the function, class or module that it is of; an attribute of whatever object by the module, with a dot."""
_Bound = tuple[ast.expr | None, ast.AST]
"""A value, where one is bound, and the node that it is bound to."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_DEFINITIONS, ast.Lambda, ast.ClassDef, ast.Module)
_Decorated = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Choice = ast.If | ast.While | ast.IfExp | ast.BoolOp | ast.Assert
_CHOICES = frozenset({ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.Assert})
_BINDERS = frozenset(
    {ast.Name, ast.Attribute, ast.arg, ast.alias, ast.ExceptHandler, *_DEFINITIONS, ast.ClassDef}
)
"""What may bind a name, by the very type: most nodes of a file are none of these, and are asked for no more."""
_WORD = re.compile(r"cuda(?::\d+)?\Z")
_TEST = re.compile(r"test(?=_|[A-Z])")
_FOR_EACH = re.compile(r"parametri[sz]e|\bexpand\b|\bgiven\b|\bfixture\b")
"""What gives a test its parameters."""
_ALWAYS = (*_DEFINITIONS, ast.Module, ast.With, ast.Try)
_CUDAS = re.compile(r"\bcuda\.\w+\Z|\A(?:int|float|str|len|max|min)\Z")
_ANSWERS = ("property", "cached_property", "staticmethod", "classmethod", "lru_cache", "cache")
_SKIPS = re.compile(r"\bskip_?(if|unless)\Z", re.IGNORECASE)
_STREAM = re.compile(r"\bcuda\.(?:streams\.)?Stream\b")
_PROSE = re.compile(r"\s(?:cuda|gpus?|nvidia)\b|\b(?:cuda|gpus?|nvidia)\s", re.IGNORECASE)
_ENDS = re.compile(
    r"(?:sys\.|os\.|\w*parser\.)?_?exit|pytest\.(?:skip|fail|exit)|self\.(?:skipTest|fail)|skip|fail"
)


class Gates:
    """The knowledge of a file of being on CUDA.

    Args:
        asked: the questions that stay, by their places, and whether each asks for another device instead.
        stays: what only CUDA reaches, as far as it is known.
        classes: those whose objects are made on CUDA alone.
        others: the other files, which may set what this one keeps.
    """

    def __init__(
        self,
        tree: PythonTree,
        asked: Iterable[tuple[Span, bool]],
        stays: Iterable[Span],
        classes: Collection[str],
        others: Others,
    ) -> None:
        self._tree = tree
        self._classes = classes
        self.others = others
        self.stays = list(stays)
        self._known: dict[_Key, Answer | None] = {}
        self._refused: dict[_Key, int] = {}
        self._looked_at: set[_Key] = set()
        self._switched_at: dict[tuple[_Key, ast.AST | None], Answer | None] = {}
        self._nodes = tree.everything
        self._scopes: dict[ast.AST, tuple[ast.AST, ...]] = {}
        self._all: dict[_Key, list[_Bound]] = {}
        self._families: dict[ast.ClassDef, list[ast.ClassDef]] = {}
        self._asked = self._answers(asked)

    def _answers(self, asked: Iterable[tuple[Span, bool]]) -> dict[ast.AST, Answer]:
        found: dict[ast.AST, Answer] = {}
        for span, denied in asked:
            node = self._tree.at(span)
            above = next(self._tree.ancestors(node), None) if node is not None else None
            if isinstance(above, ast.Call) and above.func is node:
                node = above
            if node is not None:
                found[node] = "no" if denied else "yes"
        return found

    def opened(self) -> list[tuple[Span, ast.expr]]:
        """Return what nothing but these answers opens, once more of what stays is known, and the tests before it."""
        self._known.clear()
        self._switched_at.clear()
        self._refused = self._find_refused()
        found: list[tuple[Span, ast.expr]] = []
        for node in self._choices:
            found += self._opens(node)
        for test in self._decorated:
            found += self._lets_run(test)
        for of_one in self._streams:
            found += self._of_a_stream(of_one)
        return [each for each in found if not self._inside(each[0][0], each[0][1])]

    def switched(self) -> set[ast.AST]:
        """Return the classes that keep in an attribute, and say, that they are of no use without CUDA: ``self.enabled = False``."""
        return {
            owner
            for (owner, _), bindings in self._bindings.items()
            if isinstance(owner, ast.ClassDef)
            and any(
                bound[0] is not None
                and _is_false(bound[0])
                and (switch := self._switch(bound)) is not None
                and _says_cuda(switch)
                for bound in bindings
            )
        }

    def is_asked(self, node: ast.expr) -> bool:
        """Tell whether a test is one of the questions themselves, or holds one."""
        return any(part in self._asked for part in ast.walk(node))

    def is_given_by(self, name: str) -> bool:
        """Tell whether a function of the file gives a true answer on CUDA alone."""
        return self._given_by(ast.Name(name, ast.Load())) == "yes"

    def is_unset(self, attribute: ast.Attribute) -> bool:
        """Tell whether no file of the tree sets an attribute of ``self``, as far as its class is known."""
        if self._key(attribute) is not None or attribute.attr in self._foreign:
            return False
        scopes = self._scopes_of(attribute)
        owners = [each for each in scopes if isinstance(each, ast.ClassDef)]
        return bool(owners) and not self.others.set(attribute.attr, [owners[0].name])

    def supposing(self, asked: Iterable[Span]) -> Gates:
        """Return what would be known if more questions stayed."""
        more = Gates(self._tree, (), self.stays, self._classes, self.others)
        more._asked.update(self._asked)
        more._asked.update(self._answers((span, False) for span in asked))
        for name in (
            *(
                "_choices",
                "_decorated",
                "_streams",
                "_stores",
                "_bindings",
                "_foreign",
                "_functions",
            ),
            *("_classes_by_name", "_bases", "_scopes", "_all", "_families"),
        ):
            more.__dict__[name] = getattr(self, name)
        return more

    def keeps_for_cuda(self, arm: Span) -> bool:
        """Tell whether all that an arm does is to keep what it asks CUDA for, and others read that where only CUDA comes."""
        kept: set[_Key | str] = set()
        read = False
        for node in self._nodes:
            if isinstance(node, ast.stmt) and arm[0] <= self._tree.span(node)[0] < arm[1]:
                if not isinstance(node, ast.Assign) or len(node.targets) > 1:
                    return False
                calls = (call for call in ast.walk(node) if isinstance(call, ast.Call))
                key = self._read_as(node.targets[0])
                if key is None or not all(_CUDAS.search(ast.unparse(call.func)) for call in calls):
                    return False
                kept.add(key)
        for node in self._nodes if kept else ():
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                if self._read_as(node) in kept and not arm[0] <= self._tree.span(node)[0] < arm[1]:
                    read = True
                    if not self.is_left(node):
                        return False
        return read

    def _read_as(self, node: ast.expr) -> _Key | str | None:
        """Return what is read and set by this expression: an attribute by its name alone, for others read it, too."""
        if isinstance(node, ast.Attribute):
            return node.attr
        return self._key(node) if isinstance(node, ast.Name) else None

    def is_an_arm(self, span: Span, test: ast.expr) -> bool:
        """Tell whether what a test opens is one of its arms, and not what follows."""
        choice = next(self._tree.ancestors(test), None)
        return isinstance(choice, (ast.stmt, ast.expr)) and span[1] <= self._tree.span(choice)[1]

    @cached_property
    def _choices(self) -> list[_Choice]:
        return [cast(_Choice, node) for node in self._nodes if type(node) in _CHOICES]

    @cached_property
    def _decorated(self) -> list[_Decorated]:
        found = (node for node in self._nodes if isinstance(node, (*_DEFINITIONS, ast.ClassDef)))
        return [node for node in found if node.decorator_list]

    @cached_property
    def _streams(self) -> list[ast.Call | ast.AnnAssign]:
        """The calls that make a stream the current one, and the variables that are annotated as streams."""
        return [
            node
            for node in self._nodes
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "stream"
            or isinstance(node, ast.AnnAssign)
            and _STREAM.search(ast.unparse(node.annotation))
        ]

    def _inside(self, start: int, end: int) -> bool:
        return any(low <= start and end <= high for low, high in self.stays)

    def is_left(self, node: ast.AST) -> bool:
        """Tell whether only CUDA comes to a node."""
        if not isinstance(node, (ast.stmt, ast.expr)):
            return False
        start, end = self._tree.span(node)
        return self._inside(start, end)

    # -- what an answer opens -----------------------------------------------------------------

    def _opens(self, node: _Choice) -> Iterator[tuple[Span, ast.expr]]:
        match node:
            case ast.BoolOp(op=op, values=values):
                wanted: Answer = "yes" if isinstance(op, ast.And) else "no"
                for at, each in enumerate(values[:-1]):
                    if self.truth(each) == wanted:
                        yield self._span(values[at + 1 :]), each
                        return
            case ast.IfExp(test=test, body=body, orelse=rest):
                if (answer := self.truth(test)) is not None:
                    yield self._span([body if answer == "yes" else rest]), test
                    if isinstance(body, ast.Constant) and isinstance(rest, ast.Constant):
                        # Who is given the word gets CUDA's from nothing else.
                        given = next(self._tree.ancestors(node), None)
                        if isinstance(given, ast.keyword):
                            given = next(self._tree.ancestors(given))
                        if isinstance(given, ast.Call):
                            yield self._span([given.func]), test
            case ast.Assert(test=test):
                later = self._after(node)
                if later and self.truth(test) == "yes":
                    yield self._span(later), test
            case (
                ast.If(test=test, body=body, orelse=rest)
                | ast.While(test=test, body=body, orelse=rest)
            ):
                answer = self.truth(test)
                if answer is None:
                    return
                arm, other = (body, rest) if answer == "yes" else (rest, body)
                if arm:
                    yield self._span(arm), test
                later = self._after(node)
                if later and other and isinstance(node, ast.If) and _leaves(other):
                    yield self._span(self._all_of_a_test(node) or later), test

    def _lets_run(self, test: _Decorated) -> Iterator[tuple[Span, ast.expr]]:
        """Yield a test that is skipped off CUDA: ``@skipif(not has_cuda())``, by a name for that, too; ``@requires_cuda``."""
        for mark in test.decorator_list:
            if self._asked.get(mark) == "yes":
                yield self._span(list[ast.stmt]([test])), mark
                return
            if isinstance(mark, ast.Name) and (key := self._key(mark)) is not None:
                (value, _), *more = self._all_of(key)
                mark = value if value is not None and not more else mark
            match mark:
                case ast.Call(func=func, args=[asked, *_]) if skips := _SKIPS.search(
                    ast.unparse(func)
                ):
                    wanted: Answer = "no" if skips[1].lower() == "if" else "yes"
                    if self.truth(asked) == wanted:
                        yield self._span(list[ast.stmt]([test])), asked
                        return

    def _of_a_stream(self, node: ast.Call | ast.AnnAssign) -> Iterator[tuple[Span, ast.expr]]:
        """Yield what is about a stream that there is on CUDA alone: ``torch.cuda.stream(None)`` does nothing."""
        match node:
            case ast.Call(func=func, args=[stream]) if self.truth(stream) == "yes":
                yield self._tree.span(func), stream
            case ast.AnnAssign(annotation=said, value=ast.expr() as value) if (
                self.truth(value) == "yes"
            ):
                yield self._tree.span(said), value

    def _span(self, nodes: list[ast.stmt] | list[ast.expr]) -> Span:
        start, end = self._tree.span(nodes[0])[0], self._tree.span(nodes[-1])[1]
        decorators = getattr(nodes[0], "decorator_list", None)
        if decorators:
            start = min(start, self._tree.span(decorators[0])[0])
        return start, end

    def _all_of_a_test(self, first: ast.stmt) -> list[ast.stmt]:
        """Return the test that a statement begins, with the values that it is given; none where it stands elsewhere."""
        home = next(self._tree.ancestors(first), None)
        if not isinstance(home, _DEFINITIONS) or _TEST.match(home.name) is None:
            return []
        before = home.body[: home.body.index(first)] if first in home.body else [home]
        return [home] if all(map(_is_prose, before)) else []

    def _after(self, statement: ast.stmt) -> list[ast.stmt]:
        block = self._tree.block(statement)
        return block[block.index(statement) + 1 :] if statement in block else []

    # -- what is true on CUDA alone -----------------------------------------------------------

    def truth(self, node: ast.expr) -> Answer | None:
        """Tell which answer of an expression only CUDA gives, if one is."""
        if (answer := self._asked.get(node)) is not None:
            return answer
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return _OTHER[self.truth(inner)]
            case ast.BoolOp(op=op, values=values):
                one: Answer = "yes" if isinstance(op, ast.And) else "no"
                answers = [self.truth(each) for each in values]
                if one in answers:
                    return one
                return answers[0] if len(set(answers)) == 1 else None
            case ast.IfExp(test=test, body=body, orelse=rest):
                asked = self.truth(test)
                if asked == "yes" and _is_false(rest) or asked == "no" and _is_false(body):
                    return "yes"
                return None
            case ast.NamedExpr(value=value):
                return self.truth(value)
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=None)]):
                if not self._is_none_otherwise(left):
                    return None
                answer = self.truth(left)
                return answer if isinstance(op, (ast.IsNot, ast.NotEq)) else _OTHER[answer]
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=str(word))]):
                if _WORD.match(word) is None or not isinstance(op, (ast.Eq, ast.NotEq)):
                    return None
                told = self._told_by(left)
                return told if isinstance(op, ast.Eq) else _OTHER[told]
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=value)]):
                return self._compared(self.truth(left), op, value)
            case ast.Call(func=func, args=args):
                return self._called(func, args)
            case ast.Name() | ast.Attribute():
                return self._kept(node)
            case _:
                return None

    def _told_by(self, node: ast.expr) -> Answer | None:
        """Tell whether only CUDA has its own word kept in a variable: ``"cuda" if there else "cpu"``, and nothing else."""
        key = self._key(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        bound = self._all_of(key) if key is not None else []
        chosen = [(value, at) for value, at in bound if isinstance(value, ast.IfExp)]
        if not chosen or any(self.truth(value.test) != "yes" for value, _ in chosen):
            return None
        replaced = any(self._replaces(at, node) for _, at in chosen)
        for value, at in bound:
            if replaced and isinstance(at, ast.arg):
                continue
            other = value.orelse if isinstance(value, ast.IfExp) else value
            if not isinstance(other, ast.Constant) or _WORD.match(str(other.value)) is not None:
                return None
        return "yes"

    def _replaces(self, target: ast.AST, node: ast.expr) -> bool:
        """Tell whether what a function binds comes before a node of it, whatever has been given to the function."""
        statement, home, *_ = [*self._tree.ancestors(target), None, None]
        if not isinstance(home, _DEFINITIONS) or not isinstance(statement, ast.stmt):
            return False
        return statement in home.body and statement.lineno < node.lineno

    def _compared(self, answer: Answer | None, op: ast.cmpop, value: object) -> Answer | None:
        match op, value:
            case (ast.Gt(), int()) | (ast.NotEq() | ast.IsNot(), 0) | (ast.Is(), True):
                return answer
            case (ast.GtE() | ast.Eq(), int() as least) if least > 0:
                return answer
            case (ast.Eq() | ast.Is(), 0) | (ast.LtE(), 0) | (ast.Lt(), 1):
                return _OTHER[answer]
            case _:
                return None

    def _is_none_otherwise(self, node: ast.expr) -> bool:
        """Tell whether a variable is None where it is false."""
        key = self._key(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        return key is not None and all(
            value is not None and self._is_none_or_true(value) or self.is_left(node)
            for value, node in self._all_of(key)
        )

    def _is_none_or_true(self, value: ast.expr) -> bool:
        """Tell whether a value that is false is None: ``GradScaler() if there else None``."""
        if isinstance(value, ast.IfExp):
            return self._is_none_or_true(value.body) and self._is_none_or_true(value.orelse)
        if isinstance(value, ast.Constant):
            return value.value is None or bool(value.value)
        return not isinstance(value, (ast.BoolOp, ast.Compare, ast.UnaryOp)) and not _is_false(
            value
        )

    def _called(self, func: ast.expr, args: list[ast.expr]) -> Answer | None:
        name = func.id if isinstance(func, ast.Name) else ""
        match name, args:
            case (("all" | "any" | "bool"), [inner]):
                if isinstance(inner, (ast.GeneratorExp, ast.ListComp)):
                    inner = inner.elt
                return self.truth(inner)
            case "isinstance", [_, kind] if self._classes:
                several = kind.elts if isinstance(kind, ast.Tuple) else [kind]
                names = {ast.unparse(each).rpartition(".")[2] for each in several}
                return "yes" if names <= set(self._classes) else None
            case _:
                return self._given_by(func)

    def _given_by(self, func: ast.expr, *, called: bool = True) -> Answer | None:
        """Answer for a function of the file that gives a true answer on CUDA alone."""
        name = func.id if isinstance(func, ast.Name) else ""
        if isinstance(func, ast.Attribute) and is_self(func.value):
            name = func.attr
        defined = self._functions.get(name, [])
        if len(defined) != 1 or isinstance(func, ast.Name) and self._is_method(defined[0]):
            return None
        (function,) = defined
        heads = [ast.unparse(d).partition("(")[0] for d in function.decorator_list]
        names = {head.rpartition(".")[2] for head in heads}
        if not names <= set(_ANSWERS) or called is not names.isdisjoint(_ANSWERS[:2]):
            return None
        if self.others.set(name, self.family_of(function)):
            return None
        key: _Key = function, "()"
        if key not in self._known:
            self._known[key] = None  # while it is asked
            returned = [r for r in ast.walk(function) if isinstance(r, ast.Return)]
            values = [r for r in returned if r.value is not None and not _is_false(r.value)]
            real = all(
                self.is_left(each) or each.value is not None and self.truth(each.value) == "yes"
                for each in values
            )
            nested = any(
                isinstance(each, (*_DEFINITIONS, ast.Yield, ast.YieldFrom))
                for each in ast.walk(function)
                if each is not function
            )
            self._known[key] = "yes" if values and real and not nested else None
        return self._known[key]

    @cached_property
    def _functions(self) -> dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]]:
        found: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        for node in self._nodes:
            if isinstance(node, _DEFINITIONS):
                found.setdefault(node.name, []).append(node)
        return found

    def family_of(self, method: ast.AST) -> list[str]:
        """Return the names of the class that a method is of and of its heirs; none of another function."""
        owner = next(self._tree.ancestors(method), None)
        if not isinstance(owner, ast.ClassDef):
            return []
        return [owner.name, *(heir.name for heir in self._heirs(owner))]

    def _is_method(self, function: ast.AST) -> bool:
        return isinstance(next(self._tree.ancestors(function), None), ast.ClassDef)

    # -- what keeps an answer -----------------------------------------------------------------

    def _kept(self, node: ast.Name | ast.Attribute) -> Answer | None:
        if isinstance(node, ast.Attribute):
            said = ast.unparse(node) if self._refused else ""
            if any(
                node.lineno > self._refused.get((s, said), node.lineno)
                for s in self._scopes_of(node)
            ):
                return "yes"
            if is_self(node.value) and (given := self._given_by(node, called=False)) is not None:
                return given
        key = self._key(node)
        if key is None:
            return None
        refused = self._refused.get(key)
        if refused is not None and refused < node.lineno:
            return "yes"
        if key not in self._known:
            self._known[key] = None  # while it is asked
            self._known[key] = self._of_bindings(self._all_of(key))
        if self._known[key] is not None or key in self._looked_at:
            return self._known[key]
        place = key, None if isinstance(key[0], ast.ClassDef) else node
        if place not in self._switched_at:
            self._looked_at.add(key)
            self._switched_at[place] = self._switched(key, node)
            self._looked_at.discard(key)
        return self._switched_at[place]

    def _of_bindings(self, bindings: list[_Bound]) -> Answer | None:
        """Tell which answer of what is bound so only CUDA gives."""
        ways: tuple[tuple[Answer, Callable[[ast.expr], bool]], ...]
        ways = ("yes", _is_false), ("no", _is_true)
        for answer, constant in ways:
            said = False
            for value, node in bindings:
                if value is not None and constant(value):
                    continue
                left = self.is_left(node)
                if not left and (value is None or self.truth(value) != answer):
                    break
                said = said or answer == "yes" or not left
            else:
                if said:
                    return answer
        return None

    def _switched(self, key: _Key, node: ast.expr) -> Answer | None:
        """Tell whether a variable is false wherever its home has found another device than CUDA."""
        bindings = self._all_of(key)
        switches = [found for each in bindings if (found := self._switch(each)) is not None]
        if not switches:
            return None
        if isinstance(key[0], ast.ClassDef):
            # Set when it is made, and switched off there or later; who says so is of no use before either.
            if not any(self._is_made(key[0], each) or _says_cuda(each) for each in switches):
                return None
            late = (
                each
                for each in bindings
                if not (each[0] is not None and _is_false(each[0]))
                and not (self.is_left(each[1]) or self._switch(each) is not None)
                and not self._is_made(key[0], each[1])
            )
            return "yes" if not any(late) else None
        first = min(each.lineno for each in switches)
        around = {id(s) for each in switches for s in self._after(each)}
        here = any(id(parent) in around for parent in (node, *self._tree.ancestors(node)))
        before = all(
            getattr(bound, "lineno", first + 1) <= first or value is not None and _is_false(value)
            for value, bound in bindings
        )
        return "yes" if here and before else None

    def _is_made(self, owner: ast.ClassDef, node: ast.AST) -> bool:
        """Tell whether an attribute is set by the class's body, or where its objects are made."""
        above = (p for p in self._tree.ancestors(node) if isinstance(p, _SCOPES))
        home = next(above, None)
        return home is owner or isinstance(home, ast.FunctionDef) and home.name == "__init__"

    def _switch(self, bound: _Bound) -> ast.stmt | None:
        """Return what makes something false on whatever is not CUDA, whenever its function is called.

        ``if not there: self.enabled = False``, or ``self.enabled = self.enabled and there``.
        """
        value, node = bound
        if value is None:
            return None
        statement, choice, above = [*self._tree.ancestors(node), None, None, None][:3]
        if not _is_false(value):
            if not isinstance(statement, ast.Assign) or not isinstance(choice, _ALWAYS):
                return None
            return statement if self.truth(value) == "yes" else None
        if not isinstance(choice, ast.If) or not isinstance(above, _ALWAYS):
            return None
        answer = self.truth(choice.test)
        arm = choice.body if answer == "no" else choice.orelse if answer == "yes" else []
        return choice if statement in arm else None

    def _find_refused(self) -> dict[_Key, int]:
        """Return the flags that a program refuses off CUDA, and on which lines: ``if flag and not there: raise``."""
        found: dict[_Key, int] = {}
        for node in self._choices:
            if not isinstance(node, ast.If) or not isinstance(node.body[-1], ast.Raise):
                continue
            match node.test:
                case ast.BoolOp(op=ast.And(), values=[flag, asked] | [asked, flag]) if (
                    self.truth(asked) == "no"
                ):
                    pass
                case ast.BoolOp(op=ast.And(), values=[asked, flag]) if self.truth(asked) == "no":
                    pass
                case _ if self.truth(node.test) == "no":
                    above = next(self._tree.ancestors(node), None)
                    if not isinstance(above, ast.If) or node not in above.body:
                        continue
                    flag = above.test
                case _:
                    continue
            if isinstance(flag, ast.Name) and (key := self._key(flag)) is not None:
                bindings = self._all_of(key)
                found[key] = node.lineno
                if len(bindings) == 1 and isinstance(bindings[0][0], ast.Attribute):
                    flag = bindings[0][0]
            if isinstance(flag, ast.Attribute):
                home = next(s for s in self._scopes_of(node) if not isinstance(s, ast.ClassDef))
                found[home, ast.unparse(flag)] = node.lineno
        return found

    # -- names --------------------------------------------------------------------------------

    def _key(self, node: ast.Name | ast.Attribute) -> _Key | None:
        """Return the variable that a name is, or an attribute of ``self``."""
        if isinstance(node, ast.Attribute) and not is_self(node.value):
            return None
        scopes = self._scopes_of(node)
        if isinstance(node, ast.Attribute):
            owner = next((s for s in scopes if isinstance(s, ast.ClassDef)), None)
            while owner is not None and (owner, node.attr) not in self._bindings:
                bases = (self._class_called(base) for base in owner.bases)
                owner = next((base for base in bases if base not in (None, owner)), None)
            return (owner, node.attr) if owner is not None else None
        for at, scope in enumerate(scopes):
            if isinstance(scope, ast.ClassDef) and at:
                continue
            if (scope, node.id) in self._bindings:
                return scope, node.id
        return None

    def _scopes_of(self, node: ast.AST) -> tuple[ast.AST, ...]:
        """Return the functions, classes and the module around a node, nearest first."""
        way: list[ast.AST] = []
        found: tuple[ast.AST, ...] = ()
        for above in self._tree.ancestors(node):
            if above in self._scopes:
                found = self._scopes[above]
                break
            way.append(above)
        for above in reversed(way):
            if isinstance(above, _SCOPES):
                found = (above, *found)
            self._scopes[above] = found
        return found

    def _class_called(self, base: ast.expr) -> ast.ClassDef | None:
        return self._classes_by_name.get(ast.unparse(base).rpartition(".")[2])

    @cached_property
    def _classes_by_name(self) -> dict[str, ast.ClassDef]:
        return {node.name: node for node in reversed(list(self._bases))}

    @cached_property
    def _bases(self) -> dict[ast.ClassDef, list[str]]:
        """The last names of the bases of each class."""
        return {
            node: [ast.unparse(base).rpartition(".")[2] for base in node.bases]
            for node in self._nodes
            if isinstance(node, ast.ClassDef)
        }

    def _all_of(self, key: _Key) -> list[_Bound]:
        """Return what is bound to a variable: to an attribute also by the heirs of its class, and from outside.

        What another file binds is nowhere to be seen: the module stands for its place.
        """
        owner, name = key
        if not isinstance(owner, (ast.ClassDef, ast.Module)):
            return self._bindings.get(key, [])
        if key not in self._all:
            found = self._bindings.get(key, [])
            family = [owner, *self._heirs(owner)] if isinstance(owner, ast.ClassDef) else []
            if family:
                found = found + self._foreign.get(name, [])
            for heir in family[1:]:
                found = found + self._bindings.get((heir, name), [])
            if self.others.set(name, [each.name for each in family]):
                found = [*found, (None, self._tree.module)]
            self._all[key] = found
        return self._all[key]

    def _heirs(self, owner: ast.ClassDef) -> list[ast.ClassDef]:
        if owner not in self._families:
            family, todo = [owner], [owner.name]
            while todo:
                name = todo.pop()
                for node, bases in self._bases.items():
                    if name in bases and node not in family:
                        family.append(node)
                        todo.append(node.name)
            self._families[owner] = family[1:]
        return self._families[owner]

    @cached_property
    def _foreign(self) -> dict[str, list[_Bound]]:
        """All that is bound to attributes of other objects than ``self``."""
        found: dict[str, list[_Bound]] = {}
        for target, value in self._stores:
            if isinstance(target, ast.Attribute) and not is_self(target.value):
                found.setdefault(target.attr, []).append((value, target))
        return found

    @cached_property
    def _bindings(self) -> dict[_Key, list[_Bound]]:
        found: dict[_Key, list[_Bound]] = {}
        elsewhere: dict[_Key, bool] = {}
        for node in self._nodes:
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                scope = next(p for p in self._tree.ancestors(node) if isinstance(p, _SCOPES))
                for name in node.names:
                    elsewhere[scope, name] = isinstance(node, ast.Global)
        for target, value in self._stores:
            if isinstance(target, ast.Attribute) and not is_self(target.value):
                continue
            scopes = self._scopes_of(target)
            if isinstance(target, ast.Attribute):
                owner = next((s for s in scopes if isinstance(s, ast.ClassDef)), None)
                if owner is not None:
                    found.setdefault((owner, target.attr), []).append((value, target))
                continue
            name = _name_of(target)
            home = scopes[0]
            if (is_global := elsewhere.get((home, name))) is not None:
                outer = [s for s in scopes[1:] if not isinstance(s, ast.ClassDef)]
                home = self._tree.module if is_global or not outer else outer[0]
            given = None
            if isinstance(target, ast.arg) and isinstance(home, _DEFINITIONS):
                given = self._given_to(home, name)
            found.setdefault((home, name), []).extend(given or [(value, target)])
        return found

    def _given_to(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str
    ) -> list[_Bound] | None:
        """Return what a private function of the file is given as a parameter, if it is only called.

        A test is called by who runs it, too, without what has a default.
        """
        is_test = _TEST.match(function.name) is not None
        if not is_test and (not function.name.startswith("_") or function.name.startswith("__")):
            return None
        if len(self._functions[function.name]) > 1:
            return None
        told = [ast.unparse(each) for each in function.decorator_list]
        if told and not is_test or any(_FOR_EACH.search(each) for each in told):
            return None
        if self.others.call(function.name, self.family_of(function)):
            return None
        args = function.args
        names = [each.arg for each in (*args.posonlyargs, *args.args)]
        late = dict(zip((each.arg for each in args.kwonlyargs), args.kw_defaults, strict=True))
        defaults = {**dict(zip(reversed(names), reversed(args.defaults), strict=False)), **late}
        found: list[_Bound] = []
        if is_test:
            if (usual := defaults.get(name)) is None:
                return None
            found.append((usual, function))
        for use in self._uses.get(function.name, ()):
            call = next(self._tree.ancestors(use), None)
            if not isinstance(call, ast.Call) or call.func is not use:
                return None
            at = names.index(name) if name in names else -1
            at -= isinstance(use, ast.Attribute) and self._is_method(function)
            by_name = [each.value for each in call.keywords if each.arg == name]
            several = any(isinstance(each, ast.Starred) for each in call.args)
            if several or any(each.arg is None for each in call.keywords):
                return None
            if by_name:
                value: ast.expr | None = by_name[0]
            elif told and call.args:
                return None  # a decorator may give some before them
            elif 0 <= at < len(call.args):
                value = call.args[at]
            else:
                value = defaults.get(name)
            if value is None:
                return None
            found.append((value, call))
        return found

    @cached_property
    def _uses(self) -> dict[str, list[ast.expr]]:
        """The private functions of the file where they are named, but for their definitions."""
        found: dict[str, list[ast.expr]] = {}
        for node in self._nodes:
            name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
            if isinstance(node, (ast.Name, ast.Attribute)) and name in self._functions:
                found.setdefault(name, []).append(node)
        return found

    @cached_property
    def _stores(self) -> list[tuple[ast.AST, ast.expr | None]]:
        """All that binds a name or an attribute, with the value where it is one of its own."""
        values: dict[ast.AST, ast.expr] = {}
        found: list[ast.AST] = []
        declared: set[ast.AST] = set()
        for node in self._nodes:
            match node:
                case _ if type(node) in _BINDERS:
                    if isinstance(node, (ast.Name, ast.Attribute)):
                        if isinstance(node.ctx, ast.Store):
                            found.append(node)
                    elif not isinstance(node, ast.ExceptHandler) or node.name is not None:
                        found.append(node)
                case ast.Assign(targets=targets, value=value):
                    values.update(dict.fromkeys(targets, value))
                case ast.AnnAssign(target=target, value=None):
                    declared.add(target)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    values[target] = value
                case ast.NamedExpr(target=target, value=value):
                    values[target] = value
                case _:
                    pass
        # What makes an object of a dataclass may give it its fields.
        fields = {node for node in declared | set(values) if self._is_field(node)}
        return [
            (node, None if node in fields else values.get(node))
            for node in found
            if node in fields or node not in declared
        ]

    def _is_field(self, node: ast.AST) -> bool:
        statement, home = [*self._tree.ancestors(node), None, None][:2]
        return (
            isinstance(statement, ast.AnnAssign)
            and isinstance(home, ast.ClassDef)
            and bool(home.decorator_list or home.bases)
        )


def _name_of(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
            return name
        case ast.alias(name=name, asname=other):
            return other or name.partition(".")[0]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case _:
            return ""


def _is_prose(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_false(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return not value
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            return True
        case _:
            return False


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _says_cuda(switch: ast.stmt) -> bool:
    """Tell whether what switches something off says for what: ``warnings.warn("this works on CUDA alone")``."""
    return any(
        isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and _PROSE.search(part.value) is not None
        for part in ast.walk(switch)
    )


def _leaves(arm: list[ast.stmt]) -> bool:
    """Tell whether what follows an arm in its block is not reached through it."""
    match arm[-1]:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return _ENDS.fullmatch(ast.unparse(func)) is not None
        case _:
            return False
