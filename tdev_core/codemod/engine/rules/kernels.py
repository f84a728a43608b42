"""Reports what no backend but CUDA can do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import dotted, string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.importing import refused, workers
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.import_order import STDLIB
from tdev_core.codemod.engine.rules.reference_rules import PRIVATE
from tdev_core.codemod.engine.rules.replacements import replacements
from tdev_core.codemod.engine.rules.stand_ins import is_answered
from tdev_core.ecosystem.package_table import Package, of_module

CUDA_ONLY = rule(
    "cuda-only-import",
    "Packages that run on CUDA, or on few devices",
    "error",
    """
    pycuda, pynvml, numba.cuda, TensorRT, NVIDIA's DALI and similar packages program the GPU
    themselves. No other backend can run them, so their imports are errors; an import
    that is guarded by `try`/`except` is a warning, because the program has a way without it.
    Packages that run on some other devices too (triton, cupy, flash_attn, bitsandbytes and others)
    are a warning that names these. ONNX Runtime's provider for CUDA is a warning as well.

    A file that imports a package for CUDA (or ROCm, whose torch answers by the name of CUDA) at module
    level, and catches nothing or raises an error of its own, which for a package that is not known here says that CUDA is needed,
    cannot be imported anywhere else, nor can what imports such a module of the tree
    there: that is the one thing reported of it, and nothing in it is rewritten unless `--all` is given (`all = true` in `[tool.tdev]`). Packages that load where there is no CUDA, such as
    pynvml, are no such cause; vLLM's workers for GPUs, which what builds on them runs in, are one. `tdev run` rewrites the file: it was started to run.
    """,
)

KERNEL = rule(
    "cuda-kernel",
    "Custom CUDA kernels",
    "error",
    """
    `torch.utils.cpp_extension.load_inline` with CUDA sources, `CUDAExtension`, sources that end
    in `.cu`, kernels compiled by `torch.cuda.jiterator` or launched through `@triton.jit`: the
    kernel has to be written for the other backend, or replaced by torch operators. A test such as
    `torch.cuda.is_available()` stays torch's where it has to be true on CUDA alone: it decides
    whether such a kernel is compiled or imported, whether a package for CUDA is used, what
    `torch.version.cuda` or `torch.version.hip` is asked for, or whether `nvidia-smi` or a runtime
    such as `onnxruntime-gpu` comes in, or whether memory is pinned. So does one that chooses the device of a package which runs
    without torch and knows CUDA and the CPU alone (faster_whisper, ctranslate2, xgboost and others), one that chooses it for
    double precision, by an expression, an `if` or a flag that one asks, which MPS has not (in a test: that has anything double in a
    function which speaks of the device, and none such asks for CUDA or moves to it besides), and one that goes on to a handler for
    CUDA's words, `"CUDA out of memory" in str(error)`. Double is what says so, or is that unless it is told otherwise, what
    `WeightedRandomSampler` makes of weights that lie on the device, and what packages make of NumPy's numbers
    (`SamAutomaticMaskGenerator`): in the function that chooses, in a class that keeps the device, with what is moved there, and where a
    file uses what one of its functions returns or its command line chooses; and in the whole of a script or a notebook that chooses
    its device at the margin. A question that adds CUDA to a list of devices stays where a
    list of dtypes has double ones. What becomes double on a device besides is told. Such code
    is known by what it uses: a name that a package for CUDA gave, also one that is loaded on demand
    (`optional_import("cupy")`), a module of the tree that holds kernels or cannot be imported without CUDA, a variable or a function that holds
    or calls one. A function that calls what is compiled for CUDA whatever happens is left, and so is a
    question for an architecture by NVIDIA's name for it (`sm80`), or one whose error tells of it. What follows the import
    of a package for CUDA in its block is left as well, and the whole class whose `__init__` imports it: nothing else comes
    there. A
    file that imports a compiled extension (`from pkg.ext import pkg_ext`) from the module of the tree
    that compiles it for CUDA is left whole, unless `--all` is given. So is a `setup.py`, which runs where tdev need not be
    installed. So is a module that only CUDA reaches: one about CUDA by its
    name or by what it imports, which nothing else imports, tests aside, than what is left whole itself, or an arm that a
    question for CUDA opens, or functions that torch calls for CUDA alone; the question stays with it.
    """,
)

POINTER = rule(
    "raw-pointer",
    "Raw device pointers and handles",
    "error",
    """
    `stream.cuda_stream`, `event.cuda_event`, `__cuda_array_interface__`, the cuBLAS handle and
    `cudart()` are CUDA's own handles, and mean something to CUDA libraries only. `x.data_ptr()`
    handed to a call is a warning: the callee may want a CUDA pointer.
    """,
)

TOOL = rule(
    "nvidia-tool",
    "Calls of NVIDIA's command-line tools",
    "warning",
    """
    A program that runs `nvidia-smi` or `nvcc` needs another source for what they print:
    `tdev.cuda.get_device_properties` and `tdev.cuda.mem_get_info` answer on every backend.
    """,
)

STAR = rule(
    "star-import",
    "`from torch import *`",
    "warning",
    """
    Which names come from torch cannot be seen. Import the names, and run the codemod again.
    A `torch` that another module of the tree gives, by its name or by a star, is torch's.
    Star imports of modules in which everything is device-dependent
    (`from torch.cuda.amp import *`) are re-pointed by the rule `import`.
    """,
)

_HANDLES = {
    "cuda_stream",
    "cuda_event",
    "__cuda_array_interface__",
    "current_blas_handle",
    "current_solver_handle",
    "cudart",
}
_EXTENSIONS = {"CUDAExtension", "load_inline", "CppExtension", "load", "_jit_compile"}
_OF_MEMORY = {"_share_cuda_", "_new_shared_cuda"}
_TOOL = re.compile(r"(^|[\s/])(nvidia-smi|nvcc)($|\s)")


_GONE = re.compile(r"^(?:from|import)[ \t]+torch\._six\b", re.MULTILINE)


def runs_on_cuda_alone(file: File) -> bool:
    """Report a file that cannot be imported without CUDA, and tell whether it is one: nothing in it is rewritten.

    It imports a package for CUDA at module level, where nothing catches its absence, or a module of the tree that
    does. A program that was
    started to run is one that its owner expects to run.
    """
    if file.options.all or file.options.program or file.pieces:
        return False
    if (gone := file.on_a_line(_GONE, "torch._six")) is not None:
        said = "torch._six, which this file needs, is in no torch that tdev runs on: nothing can import it"
        file.find_at(PRIVATE, gone.start(), f"{said}; left as it is (--all rewrites it)")
        return True
    for node, package in imported_packages(file):
        line = file.tree.parents[node]
        if is_answered(file, node):
            continue
        if not package.needs_cuda or file.tree.parents[line] is not file.tree.module:
            continue
        message = f"{package.name} ({package.what}) is needed to import this file; left as it is (--all rewrites it)"
        if instead := _instead(node):
            message += f". Use {instead}"
        file.find(CUDA_ONLY, node, message)
        return True
    tries = "\nexcept" in file.tree.source and "raise" in file.tree.source
    own = file.options.tree.modules if file.options.tree is not None else frozenset()
    may_work = "vllm" in file.tree.source and "vllm" not in own
    python = file.python if tries or may_work else None
    if python is not None:
        for place, needed in refused(python.module):
            said = f"{needed}, without which this file raises an error, needs CUDA"
            file.find_at(
                CUDA_ONLY, python.span(place)[0], f"{said}; left as it is (--all rewrites it)"
            )
            return True
        for place, needed in workers(python.module.body, own):
            said = f"{needed}, which this file is built on, runs on CUDA and ROCm alone"
            file.find_at(
                CUDA_ONLY,
                python.span(place)[0],
                f"{said}; left as it is (--all rewrites it)",
                "warning",
            )
            return True
    why = file.options.tree.needs_cuda.get(file.filename) if file.options.tree is not None else None
    if why is not None:
        file.find_at(CUDA_ONLY, 0, f"{why}; left as it is (--all rewrites it)", "warning")
    return why is not None


def kernels(file: File) -> None:
    _imports(file)
    _extensions(file)
    _pointers(file)
    _tools(file)


def _imports(file: File) -> None:
    for node, package in imported_packages(file):
        if not is_answered(file, node):
            _import(file, node, package)
    for node in file.tree.of(cst.ImportFrom):
        if not isinstance(node.names, cst.ImportStar) or file.kept(node):
            continue
        module = dotted(node.module) if node.module is not None else ""
        top = "" if node.relative else (module or "").partition(".")[0]
        if module == top == "torch":
            file.find(STAR, node, "names of torch that cannot be seen")
        elif top not in ("torch", "tdev", *STDLIB) and _takes_torch(file):
            file.find(STAR, node, _BRINGS_TORCH)
            break
    for node in file.tree.of(cst.ImportFrom):
        module = dotted(node.module) if node.module is not None else None
        if isinstance(node.names, cst.ImportStar) or not module or file.kept(node):
            continue
        own = not node.relative and module.partition(".")[0] in ("torch", "tdev")
        named = any(dotted(alias.name) == "torch" for alias in node.names)
        if named and not own and _takes_torch(file, named=True):
            file.find(STAR, node, _BRINGS_TORCH)


_BRINGS_TORCH = (
    "torch comes by this import; write `import torch` beside it, and run the codemod again"
)


_NEEDS_A_DEVICE = ("cuda", "device", "torch.distributed.", "torch.load(")


def _takes_torch(file: File, *, named: bool = False) -> bool:
    """Tell whether a file takes something that needs a device from a torch of which it is not known where it comes from.

    ``named``: from what another module than torch gives it by name.
    """
    if file.pieces or not any(sign in file.tree.source for sign in _NEEDS_A_DEVICE):
        return False
    for node in file.tree.of(cst.Attribute):
        if isinstance(node.value, cst.Name) and node.value.value == "torch":
            bound = file.scopes.of(node).lookup("torch")
            if any(b.kind == "from" and b.target != "torch" for b in bound) if named else not bound:
                return True
    return False


def imported_packages(file: File) -> Iterator[tuple[cst.Import | cst.ImportFrom, Package]]:
    """Yield each import of a package of the table, with what the table says of it."""
    for node, module in _imported(file):
        package = of_module(module)
        if package is not None and not file.kept(node):
            yield node, package


def _imported(file: File) -> Iterator[tuple[cst.Import | cst.ImportFrom, str]]:
    """Yield each absolute import of a file, with the modules that it names."""
    for node in file.tree.of(cst.Import):
        for alias in node.names:
            yield node, dotted(alias.name) or ""
    for node in file.tree.of(cst.ImportFrom):
        if node.relative or node.module is None:
            continue
        base = dotted(node.module) or ""
        if not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                if base == "numba" and dotted(alias.name) == "cuda":
                    yield node, "numba.cuda"
        yield node, base


def _import(file: File, node: cst.Import | cst.ImportFrom, package: Package) -> None:
    instead = _instead(node) or package.instead
    message = f"{package.name} ({package.what}) {package.runs_on}; use {instead}"
    warns = package.beside or _guarded(file, node)
    file.find(CUDA_ONLY, node, message, "warning" if warns else "error")


def _instead(node: cst.Import | cst.ImportFrom) -> str:
    """Return what torch has for the names that an import binds, where each is known."""
    if isinstance(node, cst.ImportFrom):
        if node.module is None or isinstance(node.names, cst.ImportStar):
            return ""
        names = [dotted(alias.name) or "" for alias in node.names]
        return replacements(dotted(node.module) or "", names)
    if len(node.names) > 1:
        return ""
    return replacements(dotted(node.names[0].name) or "", ())


def _guarded(file: File, node: cst.CSTNode) -> bool:
    """Inside ``try``, a condition or a function: the program can do without."""
    return any(isinstance(p, (cst.Try, cst.If, cst.FunctionDef)) for p in file.tree.ancestors(node))


def _extensions(file: File) -> None:
    for node in file.tree.of(cst.Call):
        name = file.resolver.torch_name(node.func) or ""
        last = name.rpartition(".")[2]
        if name.startswith("torch.cuda.jiterator."):
            file.find(KERNEL, node, "a kernel compiled by torch.cuda.jiterator")
        if not name.startswith("torch.utils.cpp_extension.") or last not in _EXTENSIONS:
            continue
        if last == "_jit_compile" and not file.in_code(_CUDA_SOURCES):
            continue
        if last in ("CUDAExtension", "_jit_compile") or _has_cuda_sources(file, node):
            file.find(KERNEL, node, f"{last} builds a CUDA kernel")
        elif last in ("load_inline", "load") and not _is_plain(file, node):
            file.find(KERNEL, node, f"{last} builds an extension; does it call CUDA?", "warning")
    for node in file.tree.of(cst.Decorator):
        expression = node.decorator
        if isinstance(expression, cst.Call):
            expression = expression.func
        if dotted(expression) in ("triton.jit", "triton.autotune", "cuda.jit"):
            file.kernels += 1
            file.find(KERNEL, node, f"@{dotted(expression)} compiles a GPU kernel")


_PLAIN_SOURCES = re.compile(r"\.(?:cpp|cc|cxx)[\"']|\bcpp_sources\b")
_CUDA_SOURCES = re.compile(r"\.cuh?[\"']|\bcuda_sources\b|\bwith_cuda\b|\bCUDA\w+")


def plain_extensions(file: File) -> bool:
    """Tell whether the extensions that a file builds are of C++ alone, which torch builds on any machine."""
    return _PLAIN_SOURCES.search(file.code) is not None and _CUDA_SOURCES.search(file.code) is None


_WITH_CUDA = re.compile(r"\bwith_cuda\s*=\s*True\b")
_SOURCE = re.compile(r"[\w./*-]*\.(?:cuh?|cpp|cc|cxx)(?=[\"'])")


def is_built_by_torch(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an extension is built of CUDA's sources and of what binds them: there is no C++ for the CPU among them.

    ``load("act", sources=["act.cpp", "act_kernel.cu"])``; a file for the CPU says so in its name, and where the call names
    none the whole text is asked. Or of C++ alone, which torch builds on any machine; or with CUDA, as it says.
    """
    call = file.tree.parents[node]
    if not isinstance(call, cst.Call) or call.func is not node:
        return False
    if _WITH_CUDA.search(file.tree.text(call)) is not None:
        return True
    paths = [PurePath(source) for source in _sources(file, call)]
    kernels = any(path.suffix == ".cu" for path in paths)
    if paths and not kernels and not _CUDA_SOURCES.search(file.tree.text(call)):
        return True
    return kernels and not any("cpu" in path.stem for path in paths if path.suffix != ".cu")


def _sources(file: File, call: cst.Call) -> list[str]:
    """Return the sources that an extension is built of: those that the call names, or a constant that it is given, or else the text."""
    sources: list[str] = _SOURCE.findall(_with_constants(file, call))
    if not sources and not file.tree.text(call.func).endswith("CUDAExtension"):
        sources = _SOURCE.findall(file.code)
    return sources


def _is_plain(file: File, call: cst.Call) -> bool:
    """Tell whether an extension is built of C++ alone, as a list of the module says."""
    text = file.tree.text(call)
    sources: list[str] = _SOURCE.findall(_with_constants(file, call).removeprefix(text))
    return bool(sources) and not any(source.endswith((".cu", ".cuh")) for source in sources)


def _with_constants(file: File, call: cst.Call) -> str:
    """Return the text of a call, and of the lists of the module that it is given by their names."""
    given = {arg.value.value for arg in call.args if isinstance(arg.value, cst.Name)}
    texts = [file.tree.text(call)]
    for name in sorted(given):
        made = re.findall(
            rf"^{name}(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*\[([^\]]*)\]", file.code, re.MULTILINE
        )
        if (
            len(made) == 1
            and len(re.findall(rf"^[ \t]*{name}\b[^=\n]*=(?!=)", file.code, re.MULTILINE)) == 1
        ):
            texts += made
    return "\n".join(texts)


def _has_cuda_sources(file: File, call: cst.Call) -> bool:
    text = file.tree.text(call)
    if "cuda_sources" in text or "with_cuda=True" in text:
        return True
    sources = _sources(file, call)
    # Of a text that names those of the CPU, too, it is not known which it takes.
    known = bool(_SOURCE.search(_with_constants(file, call))) or not any(
        "cpu" in source for source in sources
    )
    return known and any(source.endswith((".cu", ".cuh")) for source in sources)


def is_handle(node: cst.Attribute) -> bool:
    """Tell whether an attribute is one of CUDA's own handles."""
    return node.attr.value in _HANDLES


def _pointers(file: File) -> None:
    for node in file.tree.of(cst.Attribute):
        attr = node.attr.value
        if attr in _HANDLES:
            file.find(POINTER, node, f"{attr} is a handle of CUDA itself")
        elif attr in _OF_MEMORY:
            file.find(POINTER, node, f"{attr} shares memory by a handle of CUDA itself")
        elif attr == "data_ptr":
            call = file.tree.parents[node]
            arg = file.tree.parents.get(call)
            if isinstance(call, cst.Call) and call.func is node and isinstance(arg, cst.Arg):
                outer = file.tree.parents[arg]
                func = dotted(outer.func) if isinstance(outer, cst.Call) else None
                if func is None or func.rpartition(".")[2] not in _HARMLESS:
                    file.find(POINTER, node, "a raw pointer is handed to a call", "warning")


_HARMLESS = frozenset(
    {
        "print",
        "hex",
        "str",
        "id",
        "add",
        "append",
        "assertEqual",
        "assertNotEqual",
        "int",
        "hash",
        "format",
        "info",
        "debug",
        "assertTrue",
        "set",
        "repr",
    }
)


def _tools(file: File) -> None:
    for node in file.tree.of(cst.SimpleString):
        parent = file.tree.parents[node]
        if isinstance(parent, cst.Expr):
            continue
        text = string_value(node)
        if text == "CUDAExecutionProvider" and not file.kept(node):
            if not isinstance(parent, (cst.Comparison, cst.ComparisonTarget)):
                file.find(CUDA_ONLY, node, "a provider of ONNX Runtime for CUDA only", "warning")
        if text is not None and len(text) < 200 and _TOOL.search(text):
            if _in_call(file, node):
                file.find(TOOL, node, f"runs {(_TOOL.search(text) or [''] * 3)[2]}")


def _in_call(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a string goes, directly or in a list, into something that starts programs."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Call):
            name = (dotted(parent.func) or "").rpartition(".")[2]
            return name in (
                "run",
                "Popen",
                "check_output",
                "check_call",
                "call",
                "system",
                "popen",
                "getoutput",
                "which",
                "split",
            )
        if not isinstance(parent, (cst.Arg, cst.Element, cst.List, cst.Tuple, cst.BinaryOperation)):
            return False
    return False
