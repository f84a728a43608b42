"""Finds the names of a file that stand for what only CUDA has, and where they are used: one answer for all rules.

What is imported from a package for CUDA or a module of kernels, also by a function that imports on demand, is CUDA's;
so are the variables that hold such a thing, and the functions that call one whatever happens.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.survey import GUARDED

# RAPIDS beside them, and operators that are compiled for CUDA and few others.
_PACKAGE = re.compile(rf"(?:{GUARDED}|cucim|cudf|cuml|pylibcugraph(?:ops)?|mmcv\.ops)(?:\.|\Z)")
# NVIDIA's bindings of CUDA itself: what calls them has nothing to call elsewhere.
_BINDINGS = re.compile(r"cuda(?:\.|\Z)")
# Private to torch, with kernels for CUDA alone; `torch.nn.SyncBatchNorm` itself is tdev's elsewhere.
_OF_TORCH = frozenset({("torch.nn.modules._functions", "SyncBatchNorm")})
# A call that imports what its first argument names: `cp, has_cp = optional_import("cupy")`.
_BUILT = r"\w[\w.]*\._C|_ext"
_ON_DEMAND = re.compile(
    rf"[\w.]+\(\s*[\"']((?:{GUARDED}|cucim|cudf|cuml)(?:\.[\w.]+)?|{_BUILT})[\"']"
)
_LOADED_ON_DEMAND = re.compile(
    rf"^[ \t]*\(?([\w, \t]+?)\)?[ \t]*=[ \t]*{_ON_DEMAND.pattern}", re.MULTILINE
)
# What each of those holds, looked for first: that takes a hundredth of the time.
_NAMED_ON_DEMAND = re.compile(rf"[\"'](?:(?:{GUARDED}|cucim|cudf|cuml)\b|(?:{_BUILT})[\"'])")
ASKS_OR_MOVES = r"\w*(?:is|use|has|to|on|no|using|answers)_cuda"
"""A name that ends in CUDA's and asks about it, or moves something there: ``use_cuda``, ``move_to_cuda``."""
_EXTENSION = re.compile(rf"_C\Z|(?!{ASKS_OR_MOVES}\Z)\w+_cuda\Z")
_PLAIN_EXTENSION = re.compile(r"(?:fused_\w+|\w+_cuda)\Z")
_KERNELS = re.compile(r"(?:\w+_)?kernels?\Z")
_OPERATORS = re.compile(r"_C\w*\Z|\w*kernels?\w*\Z|\w*cuda\w*\Z")
# What stands in most files is looked for by itself.
_COMMON = "kernel"
# Each by a word that it holds, and from a word, which `re` looks for many times faster than for a choice of all.
_MAY_HAVE = tuple(
    (word, re.compile(pattern))
    for word, pattern in (
        *((name.replace("\\", ""), rf"{name}(?<!\w{name})\b") for name in GUARDED.split("|")),
        *((name, rf"{name}(?<!\w{name})\b") for name in ("cucim", "cudf", "cuml", "numba", "_C")),
        ("pylibcugraph", r"pylibcugraph"),
        ("mmcv.ops", r"mmcv\.ops\b"),
        ("._functions", r"modules\._functions\b"),
        ("_cuda", r"_cuda\b"),
        ("cuda", r"from(?<!\wfrom)[ \t]+cuda\b"),
        ("cuda", r"import(?<!\wimport)[ \t]+cuda\b"),
        ("torch.ops.", r"torch(?<!\wtorch)\.ops\."),
        ("fused_", r"import(?<!\wimport)[ \t]+fused_"),
        ("_ext", r"[\"']_ext[\"']"),
    )
)
_IF_CUDA = re.compile(r"if(?<!\wif) _?is_cuda\b")
# What is imported only there: `if _is_cuda: from ops import accept`.
_FOR_CUDA = re.compile(r"_?(?:is|IS)_(?:cuda|CUDA)(?:\(\))?\Z")
_IMPORTED_FOR_CUDA = re.compile(r"\nif[ \t]+_?(?:is|IS)_(?:cuda|CUDA)(?:\(\))?:")
_NOT_COMPILED = frozenset({"torch", "torchvision", "torchaudio", "torchtext"})


@dataclass
class _Home:
    """A function, or the module itself, with the names that it binds."""

    node: ast.AST
    around: _Home | None
    name: str = ""
    owner: str = ""
    """The class that it is a method of."""
    binds: set[str] = field(default_factory=set)
    cudas: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Use:
    name: str
    node: ast.expr
    home: _Home
    sure: bool
    """Whether it is reached whenever its function runs."""


class Cudas:
    """The uses of CUDA's own in one file.

    ``known`` are the modules of the tree that hold kernels, or cannot be imported without CUDA; ``answered`` the packages that something else answers for,
    and ``pointed`` where single imports begin for which that is so.
    """

    def __init__(
        self,
        python: PythonTree,
        source: str,
        filename: str,
        known: frozenset[str],
        answered: frozenset[str],
        pointed: frozenset[int] = frozenset(),
    ) -> None:
        self._python = python
        self._pointed = pointed
        self._folders = PurePath(filename).parts[:-1]
        self._known = known
        self._answered = answered
        self._at: list[int] = []
        self._sure_at: list[int] = []
        self._named_at: list[int] = []
        self.launches: list[int] = []
        """Where a compiled extension is used by its function whatever happens."""
        self.choosers: set[str] = set()
        """Functions and classes of the file in which such a name stands at all, and attributes that hold one."""
        if known or _COMMON in source or _may_have(source):
            self._find(source)

    def within(self, span: Span, *, sure: bool = False, named: bool = False) -> bool:
        """Tell whether something of CUDA's is used in a span.

        Args:
            sure: whatever is chosen there.
            named: by more than the name of the module that it comes from.
        """
        return _has(self._sure_at if sure else self._named_at if named else self._at, span)

    # -- what is CUDA's ------------------------------------------------------------------------------

    def _find(self, source: str) -> None:
        module = _Home(self._python.module, None)
        self._uses: dict[str, list[_Use]] = {}
        self._homes = [module]
        self._compiled: set[str] = set()
        self._guessed: set[str] = set()
        """What comes from a module that is called after kernels, of which nothing else is known."""
        self._imports: list[tuple[ast.stmt, _Home]] = []
        self._assigned: list[tuple[ast.expr, ast.expr, _Home]] = []
        loaded: dict[int, tuple[str, str]] = {}
        for named in _NAMED_ON_DEMAND.finditer(source):
            # Of a call whose parenthesis stands right before the name: its line.
            start = source.rfind("\n", 0, len(source[: named.start()].rstrip())) + 1
            if (found := _LOADED_ON_DEMAND.match(source, start)) is not None:
                loaded[source.count("\n", 0, found.start(1)) + 1] = found[1], found[2]
        if not (loaded or "torch.ops." in source or _IMPORTED_FOR_CUDA.search("\n" + source)):
            if not self._imports_some():
                return
        self._block(self._python.module.body, module, True)
        for statement, home in self._imports:
            self._imported(statement, home)
        for target, _, home in self._assigned:
            if target.lineno in loaded:
                names, of = loaded[target.lineno]
                if of.partition(".")[0] not in self._answered:
                    each = {name.strip() for name in names.split(",")} - {"_", ""}
                    home.cudas |= each
                    self._compiled |= each if of.endswith(("._C", "_ext")) else set()
        self._spread()

    def _imports_some(self) -> bool:
        for statement in self._python.imports:
            for module, name, _ in _named(statement):
                if self._of_cuda(module, name, margin=False):
                    return True
        return False

    def _of_cuda(self, module: str, name: str, *, margin: bool) -> str:
        """Tell what an import of ``name`` out of ``module`` gives: ``compiled``, ``package``, ``guessed`` or nothing."""
        parts = [part for part in module.split(".") if part]
        top = parts[0] if parts and not module.startswith(".") else ""
        if top in self._answered:
            return ""
        if _PACKAGE.match(module) or module == "numba" and name == "cuda":
            return "package"
        if (module, name) in _OF_TORCH:
            return "package"
        if _BINDINGS.match(module):
            return "compiled"
        if top not in _NOT_COMPILED:
            if _EXTENSION.match(name or (parts[-1] if parts else "")):
                return "compiled"
            if not name and len(parts) == 1 and _PLAIN_EXTENSION.match(module):
                return "compiled"
        if parts and self._is_known(module, name):
            return "package"
        if name and any(map(_KERNELS.match, parts)) and top not in _NOT_COMPILED:
            # A class of a module of this name may be a function of two points: `gpytorch.kernels.RBFKernel`.
            return "guessed" if not margin or name.islower() else ""
        return ""

    def _is_known(self, module: str, name: str) -> bool:
        if not module.startswith("."):
            return not self._known.isdisjoint((module, f"{module}.{name}"))
        level = len(module) - len(module.lstrip("."))
        base = [*self._folders[: len(self._folders) - level + 1], *module.lstrip(".").split(".")]
        for parts in (base, [*base, name]):
            full = ".".join(filter(None, parts))
            # The folders are those that were given: more than the package's, or fewer.
            if full.count(".") and any(
                f".{full}".endswith(f".{each}") or each.endswith(f".{full}") for each in self._known
            ):
                return True
        return False

    def _imported(self, statement: ast.stmt, home: _Home) -> None:
        if self._python.span(statement)[0] in self._pointed:
            return
        margin = home.around is None and statement in self._python.module.body
        for module, name, bound in _named(statement):
            what = self._of_cuda(module, name, margin=margin)
            if not what:
                continue
            home.cudas.add(bound)
            if what == "compiled":
                self._compiled.add(bound)
            elif what == "guessed":
                self._guessed.add(bound)
            if not margin:
                at = self._python.span(statement)[0]
                self._at.append(at)

    def _spread(self) -> None:
        """Follow what holds, or calls, something of CUDA's until nothing is added."""
        done: set[int] = set()
        sure: set[int] = set()
        compiled: set[int] = set()
        grown = True
        while grown:
            grown = False
            for target, value, home in self._assigned:
                name = _root(value)
                if name and self._is_cudas(name, home) and (bound := _bound(target)):
                    where = self._homes[0] if bound.startswith("self.") else home
                    if bound not in where.cudas:
                        where.cudas.add(bound)
                        grown = True
            for name, uses in self._uses.items():
                for use in uses:
                    if id(use) in done or not self._is_cudas(name, use.home):
                        continue
                    done.add(id(use))
                    start = self._python.span(use.node)[0]
                    self._at.append(start)
                    made = name in self._compiled or name == _OPS
                    if name not in self._guessed:
                        self._named_at.append(start)
                    if use.sure and name not in self._guessed:
                        sure.add(start)
                        if made:
                            compiled.add(start)
                    grown |= self._calls(use, made)
        for target, value, _ in self._assigned:
            if _root(value) in self.choosers and (bound := _bound(target)):
                self.choosers.add(bound)
        self._at.sort()
        self._named_at.sort()
        self._sure_at = sorted(sure)
        self.launches = sorted(compiled)

    def _calls(self, use: _Use, made: bool) -> bool:
        """Take the function around a use into account, and tell whether it is new."""
        home: _Home | None = use.home
        while home is not None and home.around is not None and home.around.around is not None:
            home = home.around  # what is defined in a function is handed on by it
        if home is None or home.around is None:
            return False
        name = f"self.{home.name}" if home.owner else home.name
        self.choosers |= {name, home.owner} - {""}
        if not use.sure or home.name in ("__init__", "setup"):
            return False
        module = self._homes[0]
        new = {name}
        if home.owner and home.name in ("forward", "__call__", "apply"):
            new.add(home.owner)
        if use.name in self._guessed:
            self._guessed |= new
        if made and _hands_on(home.node):
            self._compiled |= new
        if new <= module.cudas:
            return False
        module.cudas |= new
        return True

    def _is_cudas(self, name: str, home: _Home) -> bool:
        if name == _OPS:
            return True
        here: _Home | None = home
        while here is not None:
            if name in here.cudas:
                return True
            if name in here.binds and here.around is not None:
                return False
            here = here.around
        return False

    # -- one walk over the file ----------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt], home: _Home, sure: bool, owner: str = "") -> None:
        for statement in statements:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    home.binds.add(statement.name)
                    inner = _Home(statement, home, statement.name, owner)
                    arguments = statement.args
                    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
                    inner.binds.update(each.arg for each in every)
                    self._homes.append(inner)
                    for decorator in statement.decorator_list:
                        self._expression(decorator, home, sure)
                    self._block(statement.body, inner, True)
                case ast.ClassDef():
                    self._block(statement.body, home, sure, statement.name)
                case ast.If():
                    if _FOR_CUDA.match(ast.unparse(statement.test)):
                        given = _imported_in(statement.body) - _imported_in(statement.orelse)
                        home.cudas |= given
                        self._guessed |= given
                    self._expression(statement.test, home, sure)
                    self._arms(statement, home, sure, owner)
                    if _leaves(statement.body):
                        sure = False
                case ast.Try():
                    self._block(statement.body, home, sure and not statement.handlers, owner)
                    for handler in statement.handlers:
                        self._block(handler.body, home, False, owner)
                    self._block(statement.orelse, home, False, owner)
                    self._block(statement.finalbody, home, sure, owner)
                case ast.Import() | ast.ImportFrom():
                    self._imports.append((statement, home))
                case ast.Match():
                    self._expression(statement.subject, home, sure)
                    for case in statement.cases:
                        self._block(case.body, home, False, owner)
                case _:
                    self._statement(statement, home, sure, owner)

    def _arms(self, choice: ast.If, home: _Home, sure: bool, owner: str) -> None:
        """Take the arms of an ``if`` into account: what both of them use is reached whichever is taken."""
        if not (sure and choice.orelse):
            self._block(choice.body, home, False, owner)
            self._block(choice.orelse, home, False, owner)
            return
        every, arms = self._uses, list[dict[str, list[_Use]]]()
        for body in (choice.body, choice.orelse):
            self._uses = {}
            self._block(body, home, True, owner)
            arms.append(self._uses)
        self._uses = every
        here = (
            {n for n, uses in arm.items() if any(u.sure and u.home is home for u in uses)}
            for arm in arms
        )
        both = set.intersection(*here)
        for arm in arms:
            for name, uses in arm.items():
                # What a function in an arm does whenever it runs is told of that one.
                given = (
                    replace(u, sure=False) if u.home is home and name not in both else u
                    for u in uses
                )
                every.setdefault(name, []).extend(given)

    def _statement(self, statement: ast.stmt, home: _Home, sure: bool, owner: str) -> None:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assigned.append((target, statement.value, home))
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is None:
                return
            self._assigned.append((statement.target, statement.value, home))
        for _, value in ast.iter_fields(statement):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.stmt):
                    self._block([each], home, sure, owner)
                elif isinstance(each, ast.expr):
                    self._expression(each, home, sure)
                elif isinstance(each, ast.withitem):
                    self._expression(each.context_expr, home, sure)

    def _expression(self, node: ast.expr, home: _Home, sure: bool) -> None:
        # By its type: a match of patterns takes three times as long, and these are most nodes of a file.
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                home.binds.add(node.id)
            else:
                self._uses.setdefault(node.id, []).append(_Use(node.id, node, home, sure))
            return
        if isinstance(node, ast.Constant):
            return
        if isinstance(node, ast.Attribute):
            value = node.value
            if isinstance(value, ast.Name):
                if value.id in ("self", "cls"):
                    if isinstance(node.ctx, ast.Load):
                        name = f"self.{node.attr}"
                        self._uses.setdefault(name, []).append(_Use(name, node, home, sure))
                    return
            elif isinstance(value, ast.Attribute) and value.attr == "ops":
                if isinstance(value.value, ast.Name) and value.value.id == "torch":
                    if _OPERATORS.match(node.attr):
                        self._uses.setdefault(_OPS, []).append(_Use(_OPS, node, home, sure))
                    return
            self._expression(value, home, sure)
            return
        if isinstance(node, ast.IfExp):
            self._expression(node.test, home, sure)
            self._expression(node.body, home, False)
            self._expression(node.orelse, home, False)
            return
        if isinstance(node, ast.BoolOp):
            for other in node.values:
                self._expression(other, home, sure and other is node.values[0])
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child, home, sure)
            elif isinstance(child, ast.keyword):
                self._expression(child.value, home, sure)
            elif isinstance(child, ast.comprehension):
                self._expression(child.iter, home, sure)
                for condition in child.ifs:
                    self._expression(condition, home, sure)


_OPS = "torch.ops"


def _may_have(source: str) -> bool:
    if any(word in source and each.search(source) for word, each in _MAY_HAVE):
        return True
    return _IF_CUDA.search(source.lower()) is not None


def _has(places: list[int], span: Span) -> bool:
    at = bisect_left(places, span[0])
    return at < len(places) and places[at] < span[1]


def _named(statement: ast.stmt) -> Iterator[tuple[str, str, str]]:
    """Yield the module, the name in it and the name that it is bound to, of each part of an import."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            yield alias.name, "", alias.asname or alias.name.partition(".")[0]
    elif isinstance(statement, ast.ImportFrom):
        base = "." * statement.level + (statement.module or "")
        for alias in statement.names:
            yield base, alias.name, alias.asname or alias.name


def _root(value: ast.expr) -> str:
    """Return the name that a value is, or is an attribute of: not of what a call gives."""
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            return _root(body) or _root(orelse)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr):
            return f"self.{attr}"
        case ast.Attribute(value=inner):
            return _root(inner)
        case ast.Name(id=name):
            return name
        case _:
            return ""


def _bound(target: ast.expr) -> str:
    match target:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
            return f"self.{attr}"
        case _:
            return ""


def _imported_in(statements: list[ast.stmt]) -> set[str]:
    return {bound for statement in statements for _, _, bound in _named(statement)}


def _leaves(body: list[ast.stmt]) -> bool:
    """Tell whether an arm is another way to what its function gives: one that raises is none."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Continue, ast.Break))


_ONLY_HANDS_ON = (ast.Import, ast.ImportFrom, ast.Assign, ast.Return, ast.Expr, ast.FunctionDef)


def _hands_on(node: ast.AST) -> bool:
    """Tell whether a function does nothing but hand what it is given to something else."""
    body: Iterable[ast.stmt] = getattr(node, "body", ())
    return all(
        isinstance(statement, _ONLY_HANDS_ON)
        and (not isinstance(statement, ast.FunctionDef) or _hands_on(statement))
        for statement in body
    )
