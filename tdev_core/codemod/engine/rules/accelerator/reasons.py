"""Tells why a unit of a file stays as it is, beside what else it names: other accelerators, packages, the tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import PurePath

from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.accelerator.flows import Unit
from tdev_core.codemod.engine.rules.accelerator.kept import Kept, Reading
from tdev_core.codemod.engine.rules.accelerator.mixed import MixedDevices
from tdev_core.codemod.engine.rules.strings import STRINGS
from tdev_core.codemod.engine.staying import DOUBLE, GROUP, KERNELS, OTHERS
from tdev_core.codemod.engine.survey import is_for_tests, is_script
from tdev_core.ecosystem.device_table import holders
from tdev_core.ecosystem.package_table import packages

_SIGNS = (
    (OTHERS, "names {}: somebody has thought of other accelerators there"),
    (KERNELS, "speaks of kernels that not every accelerator has ({})"),
    (GROUP, "belongs to a process group, whose backend decides about its devices ({})"),
    (DOUBLE, "computes in double precision, which not every accelerator has ({})"),
)
# What gives a group its tensors, which lie where its backend can take them.
_COLLECTIVE = re.compile(
    r"\b(?:dist|distributed|c10d)\.(?:all_(?:reduce|gather|to_all)\w*|broadcast|reduce(?:_scatter)?\w*|gather|scatter)(?=\()"
)
# Told by a comment as well: what the code beside it is for.
_RUNTIMES = re.compile(r"(?i)tensorrt|onnxruntime|nvidia[- ]dali")
_VENDORS = "cuda|nccl|pynccl|nvidia|nvml|tensorrt|trt|rocm|hip|musa|npu|xpu|hpu|mps|mlu|tpu|xla"
_MODULE = re.compile(rf"(?:\w+_)?(?:{_VENDORS})(?:_\w+)?\Z", re.I)
_FOLDER = re.compile(rf"(?:{_VENDORS}|(?:\w+_)?kernels?|\w*triton\w*|\w*cutlass\w*)\Z", re.I)
_CUDA = re.compile(r"[\w.]*(?:cuda|nccl|nvidia|nvml|cudnn|cublas|nvlink|tensorrt|cupy)\w*", re.I)
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_FLAG = re.compile(r"[A-Za-z_]\w*")
_SINCE_2_9 = re.compile(
    r"\btorch\.accelerator\.(?:empty_cache|get_memory_info|\w*memory_(?:allocated|reserved|stats)\w*|reset_\w+)"
)
_TAKES_INDEX = re.compile(r"\.(?:set_device_index|get_memory_info|device_index)\Z")
_OPENS = re.compile(r"\.accelerator\.(?:is_available|device_count)\b")
# A module that chooses its own device.
_MOVES_ITSELF = re.compile(r"\bself\.(?:to|cuda)\(|\bself\.\w*device\w*[ \t]*=(?!=)")


class Reasons:
    """Reasons to stay, of each unit of a file: the words and names beside its changes."""

    def __init__(self, file: File, python: PythonTree) -> None:
        self._file = file
        self._python = python
        masked = list(file.code)
        for start, end in self._silent(file):
            masked[start:end] = "\0" * (end - start)
        self._text = "".join(masked)
        """The code without what changes, every character in its place."""
        self.reading = Reading(file, python, self._all_imported)
        self._kept: dict[str, list[Kept]] = {}

    @staticmethod
    def _silent(file: File) -> Iterator[tuple[int, int]]:
        for change in file.changes.values():
            inner = change.inner or (change.end, change.end)
            yield change.start, inner[0]
            yield inner[1], change.end
        yield from file.settings

    def kept(self, unit: Unit) -> list[Kept]:
        """Return what a unit goes on naming."""
        if unit.name not in self._kept:
            self._kept[unit.name] = sorted(self.reading.kept(unit.nodes), key=lambda k: k.at)
        return self._kept[unit.name]

    def is_hard(self, unit: Unit) -> bool:
        """Tell whether a unit ends every flow that comes to it."""
        return any(kept.hard for kept in self.kept(unit))

    def opens(self, unit: Unit) -> bool:
        """Tell whether a unit would do something else than now where there is no CUDA."""
        if any(_OPENS.search(change.text) for change in unit.changes):
            return True
        asking = self._asking
        return bool(asking) and any(
            isinstance(node, ast.Name) and node.id in asking
            for statement in unit.nodes
            for node in ast.walk(statement)
        )

    @cached_property
    def _asking(self) -> frozenset[str]:
        """The questions that are imported by their names: ``from torch.cuda import is_available``."""
        return frozenset(
            alias.asname or alias.name
            for node in self._python.imports
            if isinstance(node, ast.ImportFrom) and self.reading.changes(node)
            for alias in node.names
            if alias.name in ("is_available", "device_count")
        )

    def asked_by_a_word(self, units: list[Unit]) -> str:
        """Return why a flow stays that tells a device by a word: another unit asks for the word alone."""
        words = (kept for unit in units for kept in self.kept(unit) if kept.word)
        found = next(words, None)
        return (
            f"line {self._line(found.at)} {found.said}: change that, and run again" if found else ""
        )

    def tells(self, unit: Unit) -> bool:
        """Tell whether a unit writes the type of the accelerator where a word stood, and no device."""
        return any(change.text.endswith("().type") for change in unit.changes)

    def matters(self, unit: Unit) -> bool:
        """Tell whether a unit could end a flow that a question opens."""
        return bool(self.kept(unit)) or bool(unit.changes) or bool(self._sign(unit, _SIGNS))

    def why(self, unit: Unit, *, opened: bool) -> str:
        """Return why a flow stays that goes through a unit; empty where nothing tells.

        Args:
            opened: whether the flow starts with a question about CUDA.
        """
        for kept in self.kept(unit):
            if kept.hard or opened:
                return f"line {self._line(kept.at)} {kept.said}: change that, and run again"
        if not unit.changes:
            return self._sign(unit, _SIGNS) if opened else ""
        return (
            self._promised(unit)
            or self._said(unit)
            or self._sign(unit, _SIGNS if opened else (*_SIGNS[:2], (_COLLECTIVE, _SIGNS[2][1])))
            or self._runtime(unit)
            or self._imports(unit)
            or self._given(unit)
            or self._joined(unit)
            or (self._joined_openly(unit) if opened else "")
            or self._handed_on(unit)
            or self._mixed.why(unit, opened=opened)
        )

    def of_all(self) -> str:
        """Return why nothing in the file changes: by where it lies, and what runs beside it."""
        path = PurePath(self._file.filename)
        if _MODULE.match(path.name.partition(".")[0]):
            return f"the module is called {path.name}"
        if folder := next(filter(_FOLDER.match, path.parts[-5:-1]), ""):
            return f"it lies in {folder}"
        if found := _CUDA.search(self._file.options.beside):
            return f"what runs beside it says {found.group()}"
        tree = self._file.options.tree
        return tree.held_open.get(self._file.filename, {}).get("", "") if tree is not None else ""

    def _line(self, offset: int) -> int:
        return self._file.tree.position(offset)[0]

    def _texts(self, unit: Unit) -> str:
        """Return the code of a unit; its offsets are the file's, and other units are blank."""
        return "".join(self._text[low:high] for low, high in unit.spans)

    def _promised(self, unit: Unit) -> str:
        """Return why a unit stays by what its project promises: types that are checked, an older torch."""
        options = self._file.options
        source = self._file.tree.source
        for change in unit.changes:
            name = source[change.start : change.end]
            if change.rule == STRINGS.id and name not in self._named:
                return f"line {self._line(change.start)} patches {name} for code elsewhere"
            line = self._line(change.start)
            if options.typed and ".current_accelerator().type" in change.text:
                return f"line {line} would ask current_accelerator() for its type, and a type checker knows that it may be None"
            if options.floor is not None and (found := _SINCE_2_9.search(change.text)):
                floor, said = options.floor
                if floor < (2, 9):
                    return f"{found.group()} needs torch 2.9, and {said} takes torch {floor[0]}.{floor[1]}"
        return ""

    @cached_property
    def _named(self) -> frozenset[str]:
        """The text, as it stands, of each place that changes outside of strings."""
        changes = self._file.changes.values()
        source = self._file.tree.source
        return frozenset(source[c.start : c.end] for c in changes if c.rule != STRINGS.id)

    def _said(self, unit: Unit) -> str:
        for change in unit.changes:
            if found := _CUDA.search(change.text + change.tail):
                # A name of the program's own may say it; a name of CUDA's may not.
                if "." in found.group() or found.group() == "cuda":
                    return f"line {self._line(change.start)} would say {change.text}"
        return ""

    def _runtime(self, unit: Unit) -> str:
        for low, high in unit.spans:
            if found := _RUNTIMES.search(self._file.tree.source, low, high):
                return f"line {self._line(found.start())} is about {found.group()}, which knows CUDA and the CPU alone"
        return ""

    def _sign(self, unit: Unit, signs: tuple[tuple[re.Pattern[str], str], ...]) -> str:
        for pattern, said in signs:
            for low, high in unit.spans:
                if found := pattern.search(self._text, low, high):
                    return f"line {self._line(found.start())} {said.format(found.group())}"
        return ""

    @cached_property
    def _mixed(self) -> MixedDevices:
        tree = self._file.options.tree
        known = _TAKE_ANY_DEVICE | (tree.modules if tree is not None else frozenset())
        return MixedDevices(self._file, self._python, self._text, self._imported, known)

    @cached_property
    def _all_imported(self) -> dict[str, str]:
        return self._python.names[0]

    @cached_property
    def _imported(self) -> dict[str, str]:
        """Imported names with what they are, but for those of packages that torch answers for: they go."""
        answered = self._file.options.answered
        return {
            name: full
            for name, full in self._all_imported.items()
            if full.partition(".")[0] not in answered
        }

    def _used(self, unit: Unit) -> dict[str, str]:
        """Return the imported names that a unit says."""
        words = set(_NAME.findall(self._texts(unit)))
        return {name: full for name, full in self._imported.items() if name in words}

    def _imports(self, unit: Unit) -> str:
        for full in self._used(unit).values():
            package = full.partition(".")[0]
            if package in _IN_DOUBLE:
                return f"it works with {full}, which computes in double precision"
            if package in _of_cuda_and_cpu() or _FUSED.match(package):
                return f"it works with {full}, which may know CUDA alone"
        return ""

    def _given(self, unit: Unit) -> str:
        if all(_TAKES_INDEX.search(change.text) for change in unit.changes):
            line = self._line(unit.changes[0].start)
            return f"the device that line {line} is given is chosen elsewhere"
        return ""

    def _joined(self, unit: Unit) -> str:
        """Return why a unit stays by what it meets in the rest of the tree."""
        tree = self._file.options.tree
        if tree is None:
            return ""
        if held := tree.held.get(self._file.filename, {}).get(unit.name):
            return held
        if tree.built_on and (own := self._of_tree(unit, tree)):
            return f"it works with {own}, and the tree is built on {min(tree.built_on)}"
        if tree.kernel_modules and is_for_tests(PurePath(self._file.filename)):
            return f"it may test {min(tree.kernel_modules)}, which holds kernels for CUDA"
        if flag := sorted(tree.capabilities & set(_NAME.findall(self._texts(unit)))):
            return f"{flag[0]} tells CUDA's architecture"
        if switch := sorted(tree.switches & set(_FLAG.findall(self._texts(unit)))):
            return f"{switch[0]} is asked where CUDA is meant, too"
        return ""

    def _joined_openly(self, unit: Unit) -> str:
        """Return why a unit that asks stays: others of the tree go on asking for CUDA, and would have another device."""
        if (line := self._chosen_in_a_module(unit)) is not None:
            return f"line {line} chooses a device in a module, whose own is chosen elsewhere"
        tree = self._file.options.tree
        if tree is None:
            return ""
        if held := tree.held_open.get(self._file.filename, {}).get(unit.name):
            return held
        if unit.name in tree.staying_uses:
            return f"other files use {unit.name} where they name CUDA"
        for name, full in sorted(self._used(unit).items()):
            if full.rpartition(".")[2] in tree.staying and not full.startswith("torch."):
                return f"it uses {name}, which goes on naming CUDA in its own file"
        path = PurePath(self._file.filename)
        if tree.remains and is_for_tests(path):
            return f"it may test {tree.remains}, which goes on naming CUDA: a test's device is that of what it tests"
        if tree.chooses and not is_script(path, self._file.tree.source.encode()):
            if any("current_" in change.text for change in unit.changes):
                return f"{tree.chooses} goes on choosing CUDA or the CPU: devices of the tree would be mixed"
        return ""

    def _chosen_in_a_module(self, unit: Unit) -> int | None:
        """Return the line in which a layer makes an accelerator's device, and nothing moves the layer there."""
        owner = unit.nodes[0] if unit.nodes else None
        if not isinstance(owner, ast.ClassDef) or _MOVES_ITSELF.search(self._texts(unit)):
            return None
        methods = [node for node in owner.body if isinstance(node, ast.FunctionDef)]
        if "forward" not in (method.name for method in methods):
            return None
        made = (c.start for c in unit.changes if "current_accelerator" in c.text)
        at = next(made, None)
        return None if at is None else self._line(at)

    def _of_tree(self, unit: Unit, tree: ProgramTree) -> str:
        """Return what a unit uses of the tree; empty where that is nothing."""
        for full in self._used(unit).values():
            if full.startswith(".") or full.partition(".")[0] in tree.modules:
                return full
        return ""

    def _handed_on(self, unit: Unit) -> str:
        """Return why a unit stays that hands its device to another package, which may know CUDA and the CPU alone."""
        tree = self._file.options.tree
        own = tree.modules if tree is not None else frozenset()
        for call in (node for statement in unit.nodes for node in ast.walk(statement)):
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
        {p.name for p in known if p.needs_cuda or p.guards or p.kernels}.union(
            each.name for each in holders().values() if each.takes != "any"
        )
    )


_FUSED = re.compile(r"(?:fused|flash)_\w+\Z|hpc_rll\Z")
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
