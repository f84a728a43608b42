"""Changes a file whole, or leaves it whole.

What the other passes have planned for a file is done where three things hold:

- nothing in the file names CUDA afterwards: no code, variable, message, docstring or comment. What precedes
  its first statement may (a licence), and so may :mod:`.settings`, which do nothing elsewhere;
- nothing in it tells of another accelerator, belongs to a process group, computes in double precision or works
  with a package that may know the CPU and CUDA alone, and nothing of that kind joins it to the rest of the tree;
- what it asks about CUDA's presence decides about what changes with it.

Half of a file in generic names would be no port: its functions call, mirror and configure each other. A file that
stays is reported once for each function or class in which something was planned, with its lines, the reason and
what to write.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.codemod.engine.file import Change, File, Question
from tdev_core.codemod.engine.rules.accelerator.decided import decides_about
from tdev_core.codemod.engine.rules.accelerator.literals import current_accelerator
from tdev_core.codemod.engine.rules.accelerator.mixed import mixed_devices
from tdev_core.codemod.engine.rules.accelerator.questions import spelling
from tdev_core.codemod.engine.rules.accelerator.rules import ACCELERATOR, GAP
from tdev_core.codemod.engine.rules.backend_questions import AVAILABILITY
from tdev_core.codemod.engine.rules.guards import availability_guards
from tdev_core.codemod.engine.rules.strings import STRINGS
from tdev_core.codemod.engine.staying import BUILT_ON, DOUBLE, GROUP, KERNELS, OTHERS
from tdev_core.codemod.engine.survey import is_for_tests, is_script
from tdev_core.ecosystem.package_table import packages


def whole_or_not(file: File) -> None:
    """Take back what is planned for a file that would be changed in part."""
    _ask_generically(file)
    if file.changes and (why := _Rest(file).why()):
        leave(file, why)


def leave(file: File, why: str) -> None:
    """Take back all that is planned for a file, and report it for each function or class."""
    places = sorted(change.start for change in file.changes.values())
    file.changes.clear()
    for name, (low, high) in _units(file):
        here = places[bisect_left(places, low) : bisect_left(places, high)]
        if here:
            first, last = (file.tree.position(at)[0] for at in (low, max(low, high - 1)))
            file.find_at(GAP, here[0], f"{name} (lines {first} to {last}) is left whole: {why}")


def _units(file: File) -> Iterator[tuple[str, Span]]:
    """Yield the functions and classes at the top of a file, and what stands between them."""
    tree, at = file.tree, 0
    for node in file.python.module.body if file.python is not None else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            low, last = tree.line_start(first), node.end_lineno or node.lineno
            high = tree.line_start(last) + len(tree.line_text(last))
            yield _BETWEEN, (at, low)
            yield node.name, (low, high)
            at = high
    yield _BETWEEN, (at, len(tree.source))


_BETWEEN = "what stands outside functions"


# -- reasons ------------------------------------------------------------------------------------

_CUDA = re.compile(
    r"[\w.]*(?:cuda|nccl|nvidia|nvml|cudnn|cublas|nvlink|tensorrt|cupy)\w*(?:\.\w+)*", re.I
)
# The import of a module that has settings.
_OF_CUDNN = re.compile(
    r"^(?:import torch\.backends\.cudnn as cudnn|from torch\.backends import cudnn)\b", re.MULTILINE
)
_SIGNS = (
    (_CUDA, "says {}: write what every accelerator has, or reword it, and run again"),
    (OTHERS, "names {}: somebody has thought of other accelerators there"),
    (DOUBLE, "computes in double precision, which not every accelerator has ({})"),
    (KERNELS, "speaks of kernels that not every accelerator has ({})"),
    (GROUP, "belongs to a process group, whose backend decides about its devices ({})"),
)
_VENDORS = "cuda|nccl|pynccl|nvidia|nvml|tensorrt|trt|rocm|hip|musa|npu|xpu|hpu|mps|mlu|tpu|xla"
_MODULE = re.compile(rf"(?:\w+_)?(?:{_VENDORS})(?:_\w+)?\Z", re.I)
_FOLDER = re.compile(rf"(?:{_VENDORS}|(?:\w+_)?kernels?|\w*triton\w*|\w*cutlass\w*)\Z", re.I)
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_SINCE_2_9 = re.compile(
    r"\btorch\.accelerator\.(?:empty_cache|get_memory_info|\w*memory_(?:allocated|reserved|stats)\w*|reset_\w+)"
)
_ASKS = re.compile(r"(?:is_available|device_count)\Z")
_TAKES_INDEX = re.compile(r"\.(?:set_device_index|get_memory_info|device_index)\Z")


class _Rest:
    """The rest of a file, which would stay beside what is planned for it."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._changes = sorted(file.changes.values(), key=lambda c: c.start)
        source = file.tree.source
        pieces, at = [], 0
        for change in self._changes:
            inner = change.inner or (change.end, change.end)
            for start, end in ((change.start, inner[0]), (inner[1], change.end)):
                if start >= at and end > start:
                    pieces += [source[at:start], "\0" * (end - start)]
                    at = end
        text = "".join([*pieces, source[at:]])
        for start, end in file.settings:
            text = text[:start] + "\0" * (end - start) + text[end:]
        self._text = _OF_CUDNN.sub(lambda found: "\0" * len(found.group()), text)
        """The text without what changes, every character in its place."""

    def why(self) -> str:
        """Return why a file stays as it is; empty where nothing tells."""
        return (
            self._named()
            or self._promised()
            or self._said()
            or self._imports()
            or self._asked()
            or self._joined()
            or self._mixed()
        )

    def _line(self, offset: int) -> int:
        return self._file.tree.position(offset)[0]

    def _named(self) -> str:
        path = PurePath(self._file.filename)
        if _MODULE.match(path.name.partition(".")[0]):
            return f"the module is called {path.name}"
        folder = next(filter(_FOLDER.match, path.parts[-5:-1]), "")
        return f"it lies in {folder}" if folder else ""

    def _promised(self) -> str:
        """Return why a file stays by what its project promises: types that are checked, an older torch."""
        options = self._file.options
        for change in self._changes:
            line = self._line(change.start)
            if options.typed and ".current_accelerator().type" in change.text:
                return f"line {line} would ask current_accelerator() for its type, and a type checker knows that it may be None"
            if options.floor is not None and (found := _SINCE_2_9.search(change.text)):
                floor, said = options.floor
                if floor < (2, 9):
                    return f"{found.group()} needs torch 2.9, and {said} takes torch {floor[0]}.{floor[1]}"
        return ""

    def _said(self) -> str:
        start = 0
        if (python := self._file.python) is not None and python.module.body:
            start = self._file.tree.line_start(python.module.body[0].lineno)
        for change in self._changes:
            if _CUDA.search(change.text + change.tail):
                return f"line {self._line(change.start)} would say {change.text}"
        for pattern, said in _SIGNS:
            if found := pattern.search(self._text, start):
                return f"line {self._line(found.start())} {said.format(found.group())}"
        if found := _CUDA.search(self._file.options.beside):
            return f"what runs beside it says {found.group()}"
        return ""

    def _mixed(self) -> str:
        tree = self._file.options.tree
        known = _TAKE_ANY_DEVICE | (tree.modules if tree is not None else frozenset())
        return mixed_devices(self._file, self._changes, self._text, self._imported, known)

    @cached_property
    def _imported(self) -> dict[str, str]:
        """Imported names with what they are, but for those of packages that torch answers for: they go."""
        names = self._file.python.names[0] if self._file.python is not None else {}
        answered = self._file.options.answered
        return {n: full for n, full in names.items() if full.partition(".")[0] not in answered}

    def _imports(self) -> str:
        for full in self._imported.values():
            package = full.partition(".")[0]
            if package in _IN_DOUBLE:
                return f"it works with {full}, which computes in double precision"
            if package in _of_cuda_and_cpu() or _FUSED.match(package):
                return f"it works with {full}, which may know CUDA alone"
        return ""

    def _asked(self) -> str:
        """Return why a file stays that asks whether there is an accelerator for what nobody can see."""
        if all(_TAKES_INDEX.search(change.text) for change in self._changes):
            line = self._line(self._changes[0].start)
            return f"the device that line {line} is given is chosen elsewhere"
        file = self._file
        source = file.tree.source
        named = {source[c.start : c.end] for c in self._changes if c.rule != STRINGS.id}
        for change in self._changes:
            if change.rule == STRINGS.id and source[change.start : change.end] not in named:
                name = source[change.start : change.end]
                return f"line {self._line(change.start)} patches {name} for code elsewhere"
        asked = {(c.start, c.end) for c in self._changes if _ASKS.search(source[c.start : c.end])}
        for node in file.tree.of(cst.Attribute) if asked else ():
            span = file.tree.span(node)
            if span not in asked or file.resolver.torch_name(node) not in AVAILABILITY:
                continue
            if (guarded := availability_guards(file, node)) is not None:
                return f"line {self._line(span[0])} guards {guarded}"
            spans = list(decides_about(file, node))
            if not any((c.start, c.end) not in asked for c in self._in(spans)):
                return (
                    f"{file.tree.text(node)} in line {self._line(span[0])} decides about nothing that is "
                    "seen to have a device; where any accelerator will do, ask torch.accelerator"
                )
        return ""

    def _in(self, spans: list[Span]) -> list[Change]:
        return [c for c in self._changes if any(a <= c.start < b for a, b in spans)]

    def _joined(self) -> str:
        """Return why a file stays by what the rest of the tree does with its devices, and it with the tree's."""
        tree = self._file.options.tree
        if tree is not None:
            if held := tree.held.get(self._file.filename):
                return held
            python = self._file.python
            body = python.module.body if python is not None else []
            functions = {
                n.name for n in body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
            }
            if used := sorted(functions & tree.staying_uses):
                return f"other files use {used[0]} where they name CUDA"
            for name, full in sorted(self._imported.items()):
                if full.rpartition(".")[2] in tree.staying and not full.startswith("torch."):
                    return f"it uses {name}, which goes on naming CUDA in its own file"
            if tree.built_on and (own := self._of_tree(tree)):
                return f"it works with {own}, and the tree is built on {min(tree.built_on)}"
            if tree.kernel_modules and is_for_tests(PurePath(self._file.filename)):
                return f"it may test {min(tree.kernel_modules)}, which holds kernels for CUDA"
            if tree.remains and is_for_tests(PurePath(self._file.filename)):
                return f"it may test {tree.remains}, which goes on naming CUDA: a test's device is that of what it tests"
            if tree.chooses and self._makes_devices():
                return f"{tree.chooses} goes on choosing CUDA or the CPU: devices of the tree would be mixed"
            words = set(_NAME.findall(self._text))
            if flag := sorted(tree.capabilities & words):
                return f"{flag[0]} tells CUDA's architecture"
            if switch := sorted(tree.switches & words):
                return f"{switch[0]} is asked where CUDA is meant, too"
        return self._handed_on(tree.modules if tree is not None else frozenset())

    def _makes_devices(self) -> bool:
        """Tell whether a module of the tree's own moves or makes something: it meets what the others have made."""
        path = PurePath(self._file.filename)
        if is_script(path, self._file.tree.source.encode()):
            return False
        return any("current_" in change.text for change in self._changes)

    def _of_tree(self, tree: ProgramTree) -> str:
        """Return what the file imports of the tree; empty where that is nothing."""
        for full in self._imported.values():
            if full.startswith(".") or full.partition(".")[0] in tree.modules:
                return full
        return ""

    def _handed_on(self, own: frozenset[str]) -> str:
        """Return why a file stays that hands its device to another package, which may know CUDA and the CPU alone."""
        python = self._file.python
        for call in ast.walk(python.module) if python is not None else ():
            if not isinstance(call, ast.Call) or not any(map(_is_device, _arguments(call))):
                continue
            root = call.func
            while isinstance(root, (ast.Attribute, ast.Call)):
                root = root.value if isinstance(root, ast.Attribute) else root.func
            full = self._imported.get(root.id, "") if isinstance(root, ast.Name) else ""
            package = full.partition(".")[0]
            if package and package not in own and package not in _TAKE_ANY_DEVICE:
                return (
                    f"line {call.lineno} gives its device to {package}, which may know CUDA alone"
                )
        return ""


@lru_cache(maxsize=1)
def _of_cuda_and_cpu() -> frozenset[str]:
    """Return the packages that are nothing, or another, without CUDA."""
    known = packages().values()
    return frozenset(
        {p.name for p in known if p.needs_cuda or p.guards or p.kernels}.union(_ASKING)
    )


_FUSED = re.compile(r"(?:fused|flash)_\w+\Z|nvalchemi|hpc_rll\Z")
# Take tensors, or a device, of CUDA and the CPU alone, or ask for CUDA by themselves.
_ASKING = (
    *BUILT_ON,
    *(
        "ctranslate2",
        "faiss",
        "faster_whisper",
        "jax",
        "numba",
        "pykeops",
        "pyg_lib",
        "onnxruntime",
        "tensorflow",
        "whisperx",
    ),
)
# Factorize in double precision unless they are told otherwise, which not every accelerator has.
_IN_DOUBLE = frozenset({"gpytorch", "linear_operator", "botorch"})
# Take whatever device torch has.
_TAKE_ANY_DEVICE = frozenset(
    "torch torchvision torchaudio torchmetrics tensordict timm transformers accelerate diffusers peft functools".split()
)


def _arguments(call: ast.Call) -> list[ast.expr]:
    named = [k.value for k in call.keywords if k.arg in ("device", "device_type", "map_location")]
    return [*call.args, *named]


def _is_device(node: ast.expr) -> bool:
    """Tell whether an argument is called a device: ``device``, ``self.device.type``, ``"cuda"``."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.startswith("cuda")
    if isinstance(node, ast.Attribute):
        return "device" in node.attr.lower() or node.attr == "type" and _is_device(node.value)
    return isinstance(node, ast.Name) and "device" in node.id.lower()


# -- comparisons with "cuda" --------------------------------------------------------------------


def _ask_generically(file: File) -> None:
    """Plan the comparisons with ``"cuda"`` whose arms are generic, and report the others."""
    for question in file.questions:
        node = question.node
        current = current_accelerator(file, node)
        text = spelling(file, question, current)
        if text is not None and _is_generic(file, question):
            file.replace_node(ACCELERATOR, node, text)
        elif text is not None:
            file.find(
                question.rule,
                node,
                f"asks for CUDA alone; where any accelerator will do, compare with {current}.type",
            )
        elif question.said:
            file.find(question.rule, node, question.said)


def _is_generic(file: File, question: Question) -> bool:
    """Tell whether something of what a question decides about changes: then it is not CUDA's alone."""
    spans = list(decides_about(file, question.node, question.yes))
    own = file.tree.span(_condition(file, question.node))
    decided = [
        change.text
        for change in file.changes.values()
        if not own[0] <= change.start < own[1] and any(a <= change.start < b for a, b in spans)
    ]
    # What moves something beside a tensor of CUDA's wants that tensor's device: `y.to(x.device)`.
    moves = (t for t in decided if "current_accelerator" in t and not re.search(r" [!=]= ", t))
    return bool(decided) and next(moves, None) is None


def _condition(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Return the whole condition that a question is a part of."""
    whole = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            whole = parent
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            break
    return whole
