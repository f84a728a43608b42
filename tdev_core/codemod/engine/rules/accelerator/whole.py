"""Finds what is CUDA's as a whole: a module, a function, an arm beside those of other accelerators.

Generic names in one half of it would be no port, and would say what is not so. What tells is what a reader
goes by: a name, a decorator, the first line of a docstring, a comment, NVIDIA's tools, NCCL.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import names_other
from tdev_core.codemod.engine.rules.whole_files import LAUNCH, NAMED_AFTER, speaks_of
from tdev_core.ecosystem.package_table import packages

# Words of a decorator, and a name, that say that what they stand for is CUDA's alone.
_MARKS = re.compile(
    r"cuda|nccl|nvidia|torch_gpu|rocm|hopper|blackwell|ampere|\bsm_?\d\d|flash_?attn|\bfa[34]\b|_fa[34]_|capability",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?!\w*(?:is|use|has|to|on|no|non|not|using|without|or)_cuda)(?!\w*(?:cuda\w*availab|count))\w*cuda",
    re.IGNORECASE,
)
# Of CUDA, or of another accelerator, which asks for CUDA by its own reasons.
_VENDORS = f"cuda|horovod|nccl|pynccl|nvidia|nvfp4|tensorrt|trt|rocm|hip|musa|npu|xpu|hpu|mps|mlu|tpu|xla|{NAMED_AFTER}"
_MODULE = re.compile(rf"(?:test_)?({_VENDORS})(?:_\w+)?\Z|\w+_({_VENDORS})\Z", re.IGNORECASE)
_FOLDER = re.compile(rf"(?:{_VENDORS}|triton)\Z", re.IGNORECASE)
_NEEDING = "|".join(
    re.escape(known.name)
    for known in packages().values()
    if known.needs_cuda or known.name == "pynvml"
)
# Kernels that are compiled with CUDA, imported where the file is.
_KERNELS = re.compile(
    rf"^(?:from|import)[ \t]+(?:{_NEEDING}|flash_attn\w+|aiter|nunchaku)\b"
    r"|^(?:(?:try|if\b[^\n]*):[^\n]*\n(?:[ \t][^\n]*\n|\n)*?[ \t]+)?(?:from|import)[ \t]+"
    r"(?:gemlite|mslk|fbgemm_gpu|awq)\b"
    r"|\b(?:load_inline|CUDAExtension)\(|\.cuh?[\"']",
    re.MULTILINE,
)
# A class or a constant, as in `isinstance(self, CUDAOpBuilder)`.
_CUDAS = re.compile(r"(?<![\w.\"'])_?[A-Z_]*(?:CUDA|Cuda)\w*")
_DOC = re.compile(r"^[ \t]*[rRuU]?(?:\"\"\"|''')\s*(.*)", re.MULTILINE)
_SAYS = re.compile(r"(?<![.\w:'\"`])(?:cuda|nvidia)(?![.\w:'\"`])", re.IGNORECASE)
_TOOLS = re.compile(
    r"(?i:tensorrt|\bnvml|pynvml|nvidia|\bcupy\b)|CUDA_VISIBLE_DEVICES|TORCH_CUDA_ARCH"
    r"|(?:init_process_group|new_group)\([^()]*[\"']nccl[\"']"
    r"|\bis_nccl_available\(|\bCUDAGraph\(|\bcuda[._]graph\(|\bget_device_capability\("
    r"|\bbackend(?:[\"']?:[ \t]*str)?[ \t]*=[ \t]*[\"']nccl[\"']"
    r"|(?<![A-Za-z])triton(?![A-Za-z])"
    r"|^[ \t]+(?:from|import)[ \t]+(?:gemlite|mslk|fbgemm_gpu|awq)\b"
    r"|\bProfilerActivity\.CUDA\b|cuda_time_total\b"
    r"|\bactivate_flash_attention_impl\("
    r"|#.*\b(?i:cuda[- ]only|only\s+(?:\w+\s+)?cuda)\b",
    re.MULTILINE,
)
# One of them stands in all that the pattern finds.
_TOOL_WORDS = (
    *(
        "tensorrt",
        "nvml",
        "nvidia",
        "cupy",
        "cuda_visible_devices",
        "torch_cuda_arch",
        "nccl",
        "cudagraph",
    ),
    *(
        "cuda.graph",
        "cuda_graph",
        "get_device_capability",
        "triton",
        "gemlite",
        "mslk",
        "fbgemm_gpu",
        "awq",
        "profileractivity",
    ),
    *("cuda_time_total", "activate_flash_attention_impl", "only"),
)
_NCCL = re.compile(
    r"==\s*(?:\w+\.)*Backend\.NCCL\b|(?<!not )\b(?:is|use)_nccl(?:_backend)?\b(?!\()"
)
# Asks for a release of torch by a name that it has, or for its build with CUDA: the arms are CUDA's.
_HAS_NAME = re.compile(
    r"\bhasattr\((?:\w+\.)+cuda,[^)]*\)|\bbackends\.cuda\.is_built\(\)|\btorch\.has_cuda\b"
)
# Beside MULTI_XPU, MULTI_NPU and the like.
_SEVERAL = re.compile(r"==\s*(?:\w+\.)*DistributedType\.MULTI_GPU\b")
# What only NVIDIA's devices have, asked for beside the question.
_NVIDIAS = re.compile(
    r"gpu_?direct|nvlink|nvshmem|cudnn|cublas|mscclpp|\bis_(?:MI\d+|sm_?\w+|hopper|blackwell|ampere|rocm)\w*\(",
    re.IGNORECASE,
)
_NOT_CPU = re.compile(r"!=\s*[\"']cpu[\"']")
_REQUIRES = re.compile(r"\b(\w+) (?:requires|needs) (?:a )?CUDA\b")
_REQUIREMENT = re.compile(r"require_(?:\w+_)?gpus?\Z", re.IGNORECASE)
# What is tried because the package may not be there, and the names that say so afterwards.
_TRIED = re.compile(r"^([ \t]*)try:[^\n]*\n((?:\1[ \t]+[^\n]*\n|[ \t]*\n)+)", re.MULTILINE)
_OF_NVIDIA = re.compile(
    r"^\s*(?:from|import)[ \t]+(?:apex|transformer_engine|cupy)\b", re.MULTILINE
)
_KEPT = re.compile(r"^\s*(\w+)\s*=(?!=)|\bimport[^\n]*?(\w+)[ \t]*$", re.MULTILINE)
_FUSED = re.compile(r"\bfused_(?:adam|lamb|layer_?norm|rms_?norm)\w*", re.IGNORECASE)
_GPU = re.compile(r"cuda|gpu", re.IGNORECASE)


def whole(file: File) -> Iterator[tuple[Span, str]]:
    """Yield the spans that stay CUDA's as they are, with what says so."""
    places = sorted(change.start for change in file.changes.values())
    if not places:
        return
    path = PurePath(file.filename)
    named = _MODULE.match(path.name.partition(".")[0])
    whose = (
        (named and (named[1] or named[2])) or _FOLDER.match(path.parent.name) and path.parent.name
    )
    if whose and speaks_of(file, whose):
        yield (0, len(file.tree.source)), f"stays CUDA's with the module {path.name}"
        return
    for said in _REQUIRES.finditer(file.tree.source):
        # The module is about what needs CUDA, as it says itself.
        if said[1].lower() in path.name.lower():
            line = file.tree.position(said.start())[0]
            yield (0, len(file.tree.source)), f"stays CUDA's with {said.group()!r} in line {line}"
            return
    if _KERNELS.search(file.tree.source):
        yield (0, len(file.tree.source)), "stays CUDA's with the kernels of this file"
        return
    seen: set[int] = set()
    movers: list[str] = []
    homes = file.tree.of(cst.FunctionDef, cst.ClassDef)
    for home in sorted(homes, key=lambda n: file.tree.span(n)[1] - file.tree.span(n)[0]):
        low, high = file.tree.span(home)
        own = set(places[bisect_left(places, low) : bisect_left(places, high)])
        if own and _is_cudas(file, home, own <= seen):
            yield (low, high), f"stays CUDA's with {home.name.value}"
            if isinstance(home, cst.FunctionDef) and _MOVES.search(home.name.value):
                movers.append(home.name.value)
        if isinstance(home, cst.FunctionDef):
            seen |= own
    if movers:
        # What a kept function moves meets what its caller makes.
        called = re.compile(rf"\b({'|'.join(movers)})\(")
        for home in file.tree.of(cst.FunctionDef):
            if (found := called.search(file.tree.text(home.body))) is not None:
                yield file.tree.span(home), f"stays CUDA's with {found[1]}, which it calls"
    for choice in file.tree.of(cst.If):
        low, high = file.tree.span(choice)
        if any(low <= at < high for at in places) and (why := _beside(file, choice)):
            yield (low, high), why
    for condition in file.tree.of(cst.BooleanOperation):
        low, high = file.tree.span(condition)
        if any(low <= at < high for at in places) and (name := _cudas_own(file, condition)):
            yield (low, high), f"stays CUDA's with {name}"


def _is_cudas(file: File, home: cst.FunctionDef | cst.ClassDef, only_nested: bool) -> bool:
    """Tell whether a function or a class is CUDA's by its name, a decorator, or what it says of itself."""
    if isinstance(home, cst.FunctionDef) and _NAMED.match(home.name.value):
        return True
    if any(_marks_cuda(file, decorator) for decorator in home.decorators):
        return True
    text = file.tree.text(home)
    doc = _DOC.search(text)
    if doc is not None and _SAYS.search(doc[1] or text[doc.end() :].lstrip().partition("\n")[0]):
        return True
    if _HOROVOD.search(text):
        return True  # which knows CUDA's devices and the CPU
    if not isinstance(home, cst.FunctionDef):
        # How many processes a class starts belongs to the backend that it starts them with.
        return _OF_GRAPHS.search(home.name.value) is not None or _STARTS.search(text) is not None
    return (
        _has_sibling(file, home.name.value)
        or not only_nested
        and bool(_works_with_tools(file, home) or LAUNCH.search(text) or _starts_nccl(text))
    )


def _works_with_tools(file: File, home: cst.FunctionDef) -> bool:
    low, high = file.tree.span(home)
    return any(low <= at < high for at in _tools_in(file.tree.source))


@lru_cache(maxsize=4)
def _tools_in(source: str) -> list[int]:
    """Return where a file names what only NVIDIA's devices have: read once, whatever number of functions it has."""
    lower = source.lower()
    if not any(word in lower for word in _TOOL_WORDS):
        return []
    return [found.start() for found in _TOOLS.finditer(source)]


def _starts_nccl(text: str) -> bool:
    """Tell whether a function starts NCCL by a name that it chooses or takes by default."""
    return "init_process_group(" in text and re.search(r"[\"']nccl[\"']", text) is not None


_MOVES = re.compile(r"_to_(?:cuda|gpu)\Z")
_HOROVOD = re.compile(r"\bhvd\.|\bhorovod\b", re.IGNORECASE)
_STARTS = re.compile(r"[\"']backend[\"']\s*:\s*[\"']nccl[\"']")
# A class that records CUDA graphs, and runs them.
_OF_GRAPHS = re.compile(r"(?:CUDA|Cuda)_?Graph")


def requirements(file: File) -> Iterator[tuple[Span, str]]:
    """Yield what a file's tests require of a GPU, where another such requirement keeps its question."""
    homes: dict[Span, str] = {}
    for home in file.tree.of(cst.FunctionDef):
        if _REQUIREMENT.match(home.name.value):
            homes[file.tree.span(home)] = home.name.value
    for node in file.tree.of(cst.Assign):
        target = node.targets[0].target
        if isinstance(target, cst.Name) and _MARK.match(target.value):
            homes[file.tree.span(node)] = target.value
    asks = (name for span, name in homes.items() if _CUDAS_NAME.search(_unplanned(file, span)))
    if (kept := next(asks, None)) is not None:
        for span in homes:
            yield span, f"stays CUDA's with {kept}"


_MARK = re.compile(r"(?:skip|requires?|needs?)_\w*cuda\Z", re.IGNORECASE)
_CUDAS_NAME = re.compile(r"\btorch\.cuda\.")


def _marks_cuda(file: File, decorator: cst.Decorator) -> bool:
    """Tell whether a decorator says CUDA beside what is planned to change in it."""
    made = decorator.decorator
    if file.resolver.torch_name(made.func if isinstance(made, cst.Call) else made) is not None:
        return False
    return _MARKS.search(_unplanned(file, file.tree.span(decorator))) is not None


def _has_sibling(file: File, name: str) -> bool:
    """Tell whether a function of this name for another accelerator stands beside it: ``require_xpu``."""
    if not _GPU.search(name):
        return False
    others = _GPU.sub("(?:xpu|npu|hpu|mps|mlu|musa|tpu|(?:torch_)?accelerator)", re.escape(name))
    return re.search(rf"\bdef {others}\(", file.tree.source) is not None


def _beside(file: File, choice: cst.If) -> str:
    """Why the arms of a choice stay: one of its tests asks for another accelerator, or for CUDA's own."""
    link: cst.CSTNode | None = choice
    while isinstance(link, cst.If):
        if names_other(file, link.test):
            return "stays CUDA's beside arms for other accelerators"
        if found := _HAS_NAME.search(file.tree.text(link.test)):
            return f"stays CUDA's with {found.group()}"
        if _NCCL.search(file.tree.text(link.test)):
            return "stays CUDA's with the question for NCCL"
        if found := _SEVERAL.search(file.tree.text(link.test)):
            return f"stays CUDA's with {found.group()[2:].strip()}, beside which other accelerators have their own"
        if name := _cudas_own(file, link.test):
            return f"stays CUDA's with {name}"
        link = link.orelse
    return ""


def _cudas_own(file: File, test: cst.CSTNode) -> str:
    """Return the class or constant of CUDA's that a test names beside what is planned to change in it."""
    for found in _CUDAS.finditer(_unplanned(file, file.tree.span(test))):
        # The program's own answer, kept in a variable, changes with what it is made of.
        if not re.search(rf"(?m)^\s*{found.group()}\s*(?::.*)?=", file.tree.source):
            return found.group()
    text = _unplanned(file, file.tree.span(test))
    if (fused := _FUSED.search(text)) is not None:
        return fused.group()
    if (own := _NVIDIAS.search(text) or _NOT_CPU.search(text)) is not None:
        return own.group()
    words = set(re.findall(r"\w+", text))
    tree = file.options.tree
    if tree is not None and (flags := sorted(words & tree.capabilities)):
        return str(flags[0])
    return next((name for name in _packages_flags(file.tree.source) if name in words), "")


@lru_cache(maxsize=4)
def _packages_flags(source: str) -> list[str]:
    """Return the names that say whether a package of NVIDIA's is there: what its import binds, and what is set."""
    tried = (found[2] for found in _TRIED.finditer(source) if _OF_NVIDIA.search(found[2]))
    return [found[1] or found[2] for body in tried for found in _KEPT.finditer(body)]


def _unplanned(file: File, span: Span) -> str:
    """Return the text of a span without what is planned to change in it."""
    start, end = span
    text = file.tree.source[start:end]
    inside = [c for c in file.changes.values() if start <= c.start and c.end <= end]
    for change in sorted(inside, key=lambda c: -c.start):
        text = text[: change.start - start] + text[change.end - start :]
    return text
