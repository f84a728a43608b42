"""Finds what goes on naming CUDA beside what is planned, and what it means for the rest of its device flow.

A use of CUDA alone ends a flow: nothing of an accelerator may meet it. A question that is asked where CUDA is meant
ends only one that a question opened: elsewhere the code already needed CUDA, and runs as before on it. What does
nothing without CUDA, a word in a comment, a name or a help text ends none.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.accelerator.guards import QUIET

_Defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_DEVICE = re.compile(r"cuda(?::(?:\d*|%[ds]|\{\w*\}))?\Z")
_SAYS_CUDA = re.compile(r"(?i)\bcuda\b|\bnvidia\b|\bnccl\b")
# What is no longer true of another accelerator: a demand, or what is taken by default.
_TELLS = re.compile(
    r"(?i)\b(?:requir|need|only|must|without|default|resolv|if|when|uses?)\w*\b[^.]{0,60}\b(?:cuda|nvidia)\b"
    r"|\b(?:cuda|nvidia)\b[^.]{0,60}\b(?:requir|need|only|must|default|avail)\w*\b"
)
_NAMED = re.compile(r"\btorch\.cuda\.\w+")
_FOR_SPEED = re.compile(
    r"(?i)amp\b|autocast|fp16|half|bf16|pin_?memory|non_blocking|fused|flash|^scaler"
)
# What chooses a device, or works on the CPU alone.
_MAKES_ONE = re.compile(
    r"cuda|[\"']cpu|\bdevice\b|\.cpu\(|numpy|\bnp\.|data_ptr|nccl|gpu|\braise\b", re.I
)
_SKIPS = re.compile(r"(?i)skip|requir|slow|mark|xfail")
_OF_A_GPU = re.compile(r"(?i)cuda|gpu|nvidia|capab|hopper|ampere|device")
_OF_CUDA = re.compile(r"(?i)cuda|nvidia|nccl|nvml|cudnn|cupy|tensorrt")
_ASKS_BY_NAME = re.compile(
    r"(?i)(?:\b|_)(?:is|use|has|have|no|with|can)_?(?:gpu_)?cuda|cuda_?(?:is_)?avail"
)
# Warns, answers nothing, or waits until there is CUDA, where there is none.
_IDLE = re.compile(
    r"torch\.cuda\.(?:manual_seed(?:_all)?|seed(?:_all)?|amp\.[\w.]+|is_initialized|OutOfMemoryError)\Z"
)
_ASKS = re.compile(
    r"torch\.cuda\.(?:is_available|device_count|is_bf16_supported|is_initialized|nccl\.is_available)\Z"
)
_OF_AUTOCAST = frozenset({"autocast", "GradScaler", "custom_fwd", "custom_bwd"})
_KEYS = frozenset(
    {"get", "pop", "setdefault", "getattr", "hasattr", "setattr", "getenv", "get_kwarg"}
)
_PROSE = frozenset({"help", "description", "epilog", "metavar", "usage", "doc"})


@dataclass(frozen=True)
class Kept:
    """One thing that goes on naming CUDA: where it starts, what is said of it, and which flows it ends."""

    at: int
    said: str
    hard: bool
    """Whether it ends every flow, and not only one that a question about CUDA opens."""
    word: bool = False
    """Whether it asks for a device by a word, which may come from anywhere: ``device == "cuda"``."""


class Reading:
    """A file's tree beside what is planned for it."""

    def __init__(self, file: File, python: PythonTree, imported: dict[str, str]) -> None:
        self._python = python
        self._imported = dict(imported)
        planned = sorted((c.start, c.end) for c in file.changes.values())
        self._planned = [start for start, _ in planned]
        self._ends = [*accumulate((end for _, end in planned), max)]
        """Up to where the changes reach that start no later than each."""
        for node in python.imports:
            # `from torch.cuda import synchronize` is one of torch.accelerator by then.
            if self.changes(node):
                for alias in node.names:
                    self._imported.pop(alias.asname or alias.name, None)
        self._spans = sorted(
            [*((c.start, c.end) for c in file.changes.values() if c.inner is None), *file.settings]
        )
        self._changed = {
            node.name
            for node in ast.walk(python.module)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.changes(node)
        }
        self._starts = [start for start, _ in self._spans]

    def kept(self, nodes: Iterable[ast.stmt]) -> Iterator[Kept]:
        """Yield what these statements go on naming, in the order of a walk."""
        for node in nodes:
            yield from self._statement(node, "")

    def changes(self, node: ast.AST) -> bool:
        """Tell whether something changes between the start and the end of a node."""
        if not isinstance(node, (ast.stmt, ast.expr)):
            return any(self.changes(child) for child in ast.iter_child_nodes(node))
        low, high = self._python.span(node)
        return bisect_left(self._planned, low) < bisect_left(self._planned, high)

    # -- the walk -------------------------------------------------------------------------------

    def _statement(self, node: ast.AST, guard: str) -> Iterator[Kept]:
        if isinstance(node, (ast.Import, ast.ImportFrom)) or self._covered(node):
            return
        if isinstance(node, _Defined):
            yield from self._definition(node)
            return
        if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            if asked := self._question(node.test):
                yield from self._choice(node, asked, guard)
                return
            if self._is_opened(node.test):
                guard = guard or OPENED
        if isinstance(node, ast.Try) and len(node.body) <= _FEW and _catches(node):
            if any(map(self.changes, node.body)):
                at = node.body[0]
                yield self._made(at, "is tried, and fails where there is no CUDA", hard=True)
        yield from self._use(node, guard)
        for child in ast.iter_child_nodes(node):
            yield from self._statement(child, guard)

    def _definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ) -> Iterator[Kept]:
        changes = self.changes(node)
        if _OF_CUDA.search(node.name) and changes:
            yield self._made(node, f"is called {node.name}", hard=True)
        for decorator in node.decorator_list:
            text = self._python.source(decorator)
            if _SKIPS.search(text) and _OF_A_GPU.search(text) and not self.changes(decorator):
                yield self._made(decorator, "goes on asking for CUDA before the test", hard=True)
        doc = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
        if doc is not None and _TELLS.search(ast.get_docstring(node) or ""):
            yield self._made(doc, "says what is done with CUDA", hard=False)
        for child in ast.iter_child_nodes(node):
            if child is not doc:
                yield from self._statement(child, "")

    def _choice(
        self, node: ast.If | ast.IfExp | ast.While | ast.Assert, asked: ast.expr, guard: str
    ) -> Iterator[Kept]:
        """Yield what a kept question does to what it decides about."""
        text = self._python.source(asked)
        there, elsewhere = self._arms(node, asked)
        demands = isinstance(node, ast.Assert) or any(
            isinstance(part, ast.Raise) for arm in elsewhere for part in ast.walk(arm)
        )
        if demands or not self._is_harmless(node, asked, [*there, *elsewhere]):
            yield self._made(asked, f"asks {text}, which stays", hard=demands, word=_is_word(asked))
        if any(map(self.changes, there)) or any(map(self._calls_what_changes, there)):
            yield self._made(asked, f"opens with {text}, which stays, what would change", hard=True)
        kind = OF_A_TENSOR if self._is_of_a_tensor(asked) else OF_CUDA
        for part in ast.iter_child_nodes(node):
            yield from self._statement(part, kind if part in there else guard)

    def cudas_arms(self, node: ast.AST) -> Iterator[Span]:
        """Yield the arms of the questions that stay about what something is: only what is CUDA's comes there."""
        for part in ast.walk(node):
            if isinstance(part, (ast.If, ast.IfExp, ast.While)):
                asked = self._question(part.test)
                if asked is not None and self._is_of_a_tensor(asked):
                    for arm in [arm for arms in self._arms(part, asked) for arm in arms]:
                        if isinstance(arm, (ast.stmt, ast.expr)):
                            yield self._python.span(arm)

    def _is_harmless(self, node: ast.AST, asked: ast.expr, arms: list[ast.AST]) -> bool:
        """Tell whether the answer of the CPU is a good one on any accelerator: no arm makes a device, or leaves one."""
        if isinstance(asked, ast.Name) or _is_word(asked):
            return False
        said = " ".join(map(ast.unparse, arms))
        return _MAKES_ONE.search(said) is None

    def _calls_what_changes(self, arm: ast.AST) -> bool:
        return any(
            isinstance(node, ast.Call) and _last(node.func) in self._changed
            for node in ast.walk(arm)
        )

    def _is_of_a_tensor(self, asked: ast.expr) -> bool:
        return (
            isinstance(asked, ast.Compare)
            or isinstance(asked, ast.Attribute)
            and asked.attr == "is_cuda"
            or isinstance(asked, ast.Name)
        )

    def _is_opened(self, test: ast.expr) -> bool:
        """Tell whether a test asks for any accelerator by then."""
        return any(
            isinstance(node, ast.Attribute) and node.attr in _OPENS and self._touched(node)
            for node in ast.walk(test)
        )

    def _arms(
        self, node: ast.If | ast.IfExp | ast.While | ast.Assert, asked: ast.expr
    ) -> tuple[list[ast.AST], list[ast.AST]]:
        """Return what is reached where there is CUDA, and what is not."""
        if isinstance(node, ast.Assert):
            return [], []
        body: list[ast.AST] = [*node.body] if isinstance(node.body, list) else [node.body]
        rest: list[ast.AST] = [*node.orelse] if isinstance(node.orelse, list) else [node.orelse]
        if not _negated(node.test, asked):
            return body, rest
        if isinstance(node, ast.If) and not rest and _leaves(node.body):
            next(self._python.ancestors(node), None)
            block = self._python.block(node)
            rest = [*block[block.index(node) + 1 :]] if node in block else []
        return rest, body

    def _question(self, test: ast.expr) -> ast.expr | None:
        """Return the question for CUDA that stays in a test."""
        for node in ast.walk(test):
            if isinstance(node, ast.expr) and not self._covered(node) and self._asks(node):
                return node
        return None

    @cached_property
    def _answers(self) -> frozenset[tuple[ast.AST | None, str]]:
        """The variables of functions that keep where a tensor lies: ``on_cuda = x.is_cuda``."""
        return frozenset(
            (self._home(node), node.targets[0].id)
            for node in ast.walk(self._python.module)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "is_cuda"
        )

    def _home(self, node: ast.AST) -> ast.AST | None:
        """Return the function around a node."""
        homes = (p for p in self._python.ancestors(node) if isinstance(p, ast.FunctionDef))
        return next(homes, None)

    def _asks(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id == "is_cuda" or (self._home(node), node.id) in self._answers
        if isinstance(node, ast.Attribute):
            if node.attr == "is_cuda":
                return not self._touched(node)
            return _ASKS.match(self._name(node)) is not None
        if isinstance(node, ast.Compare):
            return any(_is_device(n) or _last(n) == "NCCL" for n in [node.left, *node.comparators])
        if isinstance(node, ast.Call):
            name = _last(node.func)
            return _ASKS_BY_NAME.search(name) is not None and not self._name(node.func)
        return False

    def _use(self, node: ast.AST, guard: str) -> Iterator[Kept]:
        """Yield what a node itself names; ``guard`` tells which question opens it."""
        hard = guard != OF_A_TENSOR
        if isinstance(node, (ast.Attribute, ast.Name)):
            name = self._name(node)
            if _ASKS.match(name) or isinstance(node, ast.Attribute) and node.attr == "is_cuda":
                if not self._is_for_speed(node):
                    text = self._python.source(node)
                    yield self._made(node, f"asks {text}, which stays", hard=False)
            elif name == "torch.cuda" and not self._is_part(node):
                yield self._made(node, "takes torch.cuda itself", hard=hard)
            elif name.rpartition(".")[2] in _MAKES:
                yield self._made(node, f"uses {name}, which CUDA alone has", hard=hard)
            elif name == "torch.cuda" or not name or guard in (OF_CUDA, OF_A_TENSOR):
                return
            elif guard == OPENED or name not in QUIET and not _IDLE.match(name):
                if not self._is_part(node):
                    yield self._made(node, f"uses {name}, which CUDA alone has", hard=True)
        elif isinstance(node, ast.Call):
            name = _last(node.func)
            if name == "cuda" and isinstance(node.func, ast.Attribute):
                if not self._touched(node.func):
                    text = self._python.source(node)
                    yield self._made(node, f"goes on with {text}, which is CUDA's", hard=hard)
            elif _OF_CUDA.search(name) and not self._name(node.func):
                asks = _ASKS_BY_NAME.search(name) is not None
                if asks or guard not in (OF_CUDA, OF_A_TENSOR):
                    yield self._made(node, f"calls {name}", hard=not asks)
        elif isinstance(node, ast.Compare) and self._asks(node):
            if not self._is_for_speed(node):
                text = self._python.source(node)
                yield self._made(node, f"asks {text}, which stays", hard=False, word=_is_word(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from self._string(node, node.value, hard)

    def _is_for_speed(self, node: ast.expr) -> bool:
        """Tell whether an answer is kept, or given, under a name for what makes CUDA faster: ``use_amp``, ``pin_memory``."""
        for parent in self._python.ancestors(node):
            if isinstance(parent, ast.keyword):
                return _FOR_SPEED.search(parent.arg or "") is not None
            if isinstance(parent, (ast.Assign, ast.AnnAssign)):
                targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
                return all(_FOR_SPEED.search(_last(target)) for target in targets)
            if isinstance(parent, (ast.stmt, ast.Lambda)):
                return False
        return False

    def _is_part(self, node: ast.expr) -> bool:
        """Tell whether a name goes on: `torch.cuda` of `torch.cuda.amp`."""
        return isinstance(next(self._python.ancestors(node), None), ast.Attribute)

    def _string(self, node: ast.Constant, value: str, hard: bool) -> Iterator[Kept]:
        if not _SAYS_CUDA.search(value) and "cuda" not in value:
            return
        parent = next(self._python.ancestors(node), None)
        if re.match(r"(?i)(?:\w+:\w+,)*(?:cuda:)?nccl\Z", value):
            yield self._made(node, f"names {value!r}, the backend of CUDA", hard=True)
        elif _DEVICE.match(value):
            if isinstance(parent, ast.JoinedStr) and self._touched(parent):
                return
            if not self._is_a_word(node, parent):
                yield self._made(node, f"goes on with {value!r}", hard=hard)
        elif re.match(r"torch\.cuda\.|(?:self_)?cuda_(?:time|memory)", value):
            if self._touched(node):
                return
            yield self._made(node, f"names {value!r}", hard=True)
        elif " " in value.strip() and _SAYS_CUDA.search(value):
            told = isinstance(parent, ast.keyword) and parent.arg in _PROSE
            if not isinstance(parent, ast.Expr) and (named := _NAMED.search(value)) is not None:
                yield self._made(node, f"names {named.group()} in a message", hard=True)
            if not isinstance(parent, ast.Expr) and (not told or _TELLS.search(value)):
                yield self._made(node, "says CUDA in a message", hard=False)

    def _is_a_word(self, node: ast.Constant, parent: ast.AST | None) -> bool:
        """Tell whether ``"cuda"`` is a key, an operand, or the type that autocast is told, and makes no device."""
        if isinstance(parent, ast.Subscript):
            return parent.slice is node
        if isinstance(parent, ast.Dict):
            return node in parent.keys
        if isinstance(parent, ast.Compare):
            return True
        if isinstance(parent, ast.keyword):
            around = [*self._python.ancestors(node)][1]
            if parent.arg == "device_type" and isinstance(around, ast.Call):
                return _last(around.func) in _OF_AUTOCAST
            return False
        if isinstance(parent, ast.Call):
            name = _last(parent.func)
            if name in _OF_AUTOCAST or name == "partial":
                return True
            return name in _KEYS and node in parent.args[: 2 if name.endswith("attr") else 1]
        if isinstance(parent, (ast.List, ast.Tuple)):
            above = list(self._python.ancestors(parent))
            listed = isinstance(above[0], ast.keyword) and above[0].arg == "choices"
            return listed or isinstance(above[0], ast.Compare)
        return False

    # -- names ----------------------------------------------------------------------------------

    def _covered(self, node: ast.AST) -> bool:
        """Tell whether a node lies in something that changes, or that does nothing elsewhere."""
        if not isinstance(node, (ast.stmt, ast.expr)):
            return False
        low, high = self._python.span(node)
        at = bisect_right(self._starts, low) - 1
        return any(s <= low and high <= e for s, e in self._spans[max(0, at - 3) : at + 1])

    def _name(self, node: ast.expr) -> str:
        """Return the name of torch.cuda's that an attribute or a name is, or has changed from; empty for others."""
        parts: list[str] = []
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            parts.append(root.attr)
            root = root.value
        if not isinstance(root, ast.Name) or root.id not in self._imported:
            return ""
        full = ".".join([self._imported[root.id], *reversed(parts)])
        if not (full + ".").startswith("torch.cuda."):
            return ""
        if self._touched(node):
            return ""
        return full

    def _touched(self, node: ast.expr) -> bool:
        low, high = self._python.span(node)
        before = bisect_left(self._planned, high)
        return before > 0 and low < self._ends[before - 1]

    def _made(
        self, node: ast.stmt | ast.expr, said: str, *, hard: bool, word: bool = False
    ) -> Kept:
        return Kept(self._python.span(node)[0], " ".join(said.split())[:160], hard, word)


OF_CUDA, OF_A_TENSOR, OPENED = "cuda", "tensor", "opened"
"""What a question that stays asks for, and one that is asked of any accelerator by then."""
_OPENS = frozenset({"is_available", "device_count"})
# What makes something of CUDA's, whoever asks before.
_MAKES = frozenset(
    "Stream Event ExternalStream CUDAGraph graph stream FloatTensor HalfTensor LongTensor".split()
)


def _is_device(node: ast.expr) -> bool:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(map(_is_device, node.elts))
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _DEVICE.match(node.value) is not None
    )


def _is_word(asked: ast.expr) -> bool:
    """Tell whether a comparison takes a word for a device, and not the type of one."""
    return (
        isinstance(asked, ast.Compare)
        and isinstance(asked.ops[0], (ast.Eq, ast.NotEq))
        and isinstance(asked.left, ast.Name)
    )


def _last(node: ast.expr) -> str:
    """Return the last part of a name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _negated(test: ast.expr, asked: ast.expr) -> bool:
    """Tell whether a test is true where a question in it is answered with no."""
    no = isinstance(asked, ast.Compare) and isinstance(asked.ops[0], (ast.NotEq, ast.NotIn))
    node: ast.AST = test
    while node is not asked:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            no = not no
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.Lt, ast.LtE)):
            no = not no  # a count compared with nothing
        node = next(c for c in ast.iter_child_nodes(node) if any(p is asked for p in ast.walk(c)))
    return no


_FEW = 4
_BROAD = re.compile(r"\b(?:RuntimeError|AssertionError|Exception|BaseException)\b")


def _catches(node: ast.Try) -> bool:
    """Tell whether what is tried may fail for want of CUDA."""
    return any(h.type is None or _BROAD.search(ast.unparse(h.type)) for h in node.handlers)


def _leaves(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return True
    return (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and _last(last.value.func) in ("exit", "_exit", "quit", "skip", "skipTest", "fail")
    )
