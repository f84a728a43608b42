"""Finds files that are written for one kind of device as a whole, which no rule changes in part.

Half of such a file made to run anywhere would be no port: the module of another accelerator's backend, CUDA's
module beside those of others, tests and benchmarks of kernels.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.importing import workers
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.rules.arms import ARMS
from tdev_core.codemod.engine.rules.import_places import every_binding
from tdev_core.codemod.engine.rules.kernels import KERNEL, imported_packages
from tdev_core.codemod.engine.rules.stand_ins import is_answered
from tdev_core.codemod.engine.survey import (
    GUARDED,
    OF_KERNELS,
    VENDORS,
    is_for_tests,
    is_script,
)
from tdev_core.codemod.engine.vocabulary import CUTS

_OTHERS = "rocm|hip|musa|npu|xpu|hpu|habana|gaudi|mps|mlu|tpu|xla"
_TOOLS = "nvidia|pynccl|tensorrt|trt"
_NAMED = re.compile(
    rf"(?:test_)?({_OTHERS}|{_TOOLS})(?:_\w+)?\Z|\w+_({_OTHERS}|{_TOOLS})\Z", re.IGNORECASE
)
_FOLDER = re.compile(rf"_?(?:{_OTHERS}|ascend|camb|maca|tensorrt|trt)\Z", re.IGNORECASE)
_SEVERAL = re.compile(r"(?:backend|platform|accelerator|device|kernel)s?\Z")
_OF_CUDA = re.compile(r"test_cuda(?:_\w+)?\Z|cuda_tests?\Z")
# Packages of kernels for CUDA, imported where the file is.
_OF_KERNELS = "flashinfer cutlass deep_gemm sgl_kernel aiter nunchaku tensorrt_llm".split()
_IMPORTED = re.compile(
    rf"^(?:from|import)[ \t]+(?:{'|'.join(_OF_KERNELS)})\b"
    r"|^(?:from|import)[ \t]+(?:py)?dcgm\w*",
    re.MULTILINE,
)
_FOR_MLX = re.compile(r"^[ \t]*(?:import|from)[ \t]+mlx\b", re.MULTILINE)
# CUDA's own interfaces, below torch's, and packages of kernels, after which modules are named.
_OF_AN_INTERFACE = re.compile(
    r"(?:\w+_)?(cuda_?(?:ipc|vmm|driver|runtime|nvrtc|bindings|python)|flashinfer|cutlass|deep_?gemm|deep_?ep"
    r"|sgl_kernel|nunchaku|trtllm|tensorrt_llm)(?:_\w+)?\Z"
)
# What a test calls of a compiled extension: its operators, its module, how it is built.
_CALLED = re.compile(
    r"\btorch\.ops\.(?:_C\w*|\w*kernels?\w*|\w*cuda\w*)\.|\bload_inline\(|\bCUDAExtension\(|\bcpp_extension\b"
    r"|\bop_builder\b|^(?:from|import)[ \t]+(?:\w+\.)*(?:_C|\w+_cuda)\b|\.cuh?[\"']",
    re.MULTILINE,
)
# Each match of that holds one of these.
_SIGNS_OF_CALLS = (
    *("torch.ops.", "load_inline(", "CUDAExtension(", "cpp_extension", "op_builder"),
    *("_C", "_cuda", '.cu"', ".cu'", '.cuh"', ".cuh'"),
)
# Where kernels lie, with their tests beside them.
_KERNELS_FOLDER = re.compile(r"(?:\w+_)?kernels?\Z")
# Classes of CUDA's among kernels of the program's own.
_WRAPPED = re.compile(
    r"^from[ \t]+[\w.]*\bkernels?\b[\w.]*[ \t]+import[ \t]*(?:\([^)]*?|[^\n(]*?)\b((?:CUDA|Cuda)[A-Z]\w*)",
    re.MULTILINE,
)
# A compiled extension, taken from the module of the tree that compiles it: `from pkg.ext import pkg_ext as ext_c`.
_OF_EXTENSION = re.compile(
    r"^from[ \t]+(\.*)([\w.]+)[ \t]+import[ \t]*(?:\([^)]*?|[^\n(#]*?)\b(\w+_(?:ext|cuda))\b",
    re.MULTILINE,
)
# One with no package around it: `import pointnet2_cuda as pointnet2`.
_NAMED_CUDA = re.compile(r"^(?:import|from)[ \t]+(\w+_cuda)\b(?!\.)", re.MULTILINE)
_IMPORTS = re.compile(
    r"^(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*)|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"\w+")


# A report for the people who are asked about a fault: torch's own script, and what was made after it.
_COLLECTS = re.compile(
    r"(?:collect|print|show|check)_env(?:ironment)?(?:_info)?\Z|env(?:ironment)?_(?:info|report)\Z"
)
# The fields of torch's own script, by whatever name it has been taken over.
_IS_TORCHS_OWN = re.compile(r"\bcuda_compiled_version\b|\bcuda_runtime_version\b")
_OF_THE_BUILD = re.compile(
    r"\bversion\.cuda\b|nvidia-smi|\bCUDA_HOME\b|\bcollect_env\b|\bcuda_(?:device_count|version)\b"
)


_SCRIPT = re.compile(r"^if __name__ == ", re.MULTILINE)
# What NVIDIA's tools and ROCm are worked with is torch.cuda: they need to be spoken of, no more.
# Packages of kernels for CUDA and ROCm, after which modules are named that are nothing without them.
NAMED_AFTER = rf"{OF_KERNELS}|deepgemm|deepep|pymscclpp|mscclpp|trtllm"
_NEEDED = r"\b(?:from|import)[ \t][^\n]*{0}|\b\w*{0}\w*\("
_THROUGH_CUDA = re.compile(rf"(?:{_TOOLS}|rocm|hip)\Z", re.IGNORECASE)


def speaks_of(file: File, whose: str) -> bool:
    """Tell whether a file is about what it is named after: its text says that, and CUDA no oftener.

    A program's script is not, whatever it is called: ``train_mps.py`` may ask for CUDA first.
    """
    source = file.tree.source
    if _SCRIPT.search(source) and not is_for_tests(PurePath(file.filename)):
        return False
    if re.fullmatch(NAMED_AFTER, whose):
        return re.search(_NEEDED.format(whose.removeprefix("py")), source) is not None
    word = "tensorrt|trt" if whose.lower() == "trt" else whose
    said = len(re.findall(rf"(?<![a-z])(?:{word})(?![a-z])", source, re.IGNORECASE))
    if _THROUGH_CUDA.match(whose):
        return said > 0
    return said >= len(re.findall(r"(?<![a-z])cuda(?![a-z])", source, re.IGNORECASE))


_BUILDS = re.compile(
    r"\b(?:setuptools|distutils|skbuild)\b(?s:.*)(?<!def )(?<![\w.])(?:setuptools\.|core\.)?setup\("
)


_NEEDS_TDEV = re.compile(r"[\"']cuda|\.is_cuda\b|\.cuda\(")


def _does_without_torch(file: File) -> bool:
    """Tell whether a module runs where there is no torch: it imports none, and another one of its tree only tries to."""
    tree = file.options.tree
    if tree is None or not tree.tries_torch or _NEEDS_TDEV.search(file.tree.source) is None:
        return False
    if is_script(PurePath(file.filename), file.tree.source.encode()):
        return False
    return not any(
        (each.target or "").partition(".")[0] in ("torch", "tdev") for each in every_binding(file)
    )


def stays_whole(file: File) -> bool:
    """Report a file that is one kind of device's as a whole, and tell whether it is: it is left as it is."""
    options = file.options
    if options.all or options.program:
        return False
    if file.pieces:
        return _needs_kernels_first(file)
    path = PurePath(file.filename)
    stem = path.name.partition(".")[0]
    if options.style != "accelerator":  # which has more to say of modules named after a vendor
        if (named := _NAMED.match(stem)) is not None or _FOLDER.match(path.parent.name):
            whose = (named and (named[1] or named[2])) or path.parent.name.removeprefix("_")
            if speaks_of(file, whose):
                said = f"{path.name} is written for {whose}; left as it is (--all rewrites it)"
                file.find_at(ARMS, 0, said)
                return True
        beside = options.tree.platforms if options.tree is not None else frozenset()
        if f"{path.parent.name}/{path.name}" in beside:
            why = f"{path.name} is CUDA's module beside those of other accelerators"
            file.find_at(ARMS, 0, f"{why}; left as it is (--all rewrites it)")
            return True
        folders = path.parts[:-1]
        for around, folder in zip(folders, folders[1:], strict=False):
            both = f"{around}/{folder}"
            listed = folder in ("cuda", *VENDORS) and both in beside
            if listed or folder == "cuda" and _SEVERAL.match(around):
                said = f"{both} is {'CUDA' if folder == 'cuda' else 'a vendor'}'s among others"
                file.find_at(ARMS, 0, f"{said}; left as it is (--all rewrites it)")
                return True
        if not is_for_tests(path) and (room := _room(file, folders)) is not None:
            said = f"most of {room} is kernels for CUDA, and the rest is there for them"
            file.find_at(KERNEL, 0, f"{said}; left as it is (--all rewrites it)", "note")
            return True
        reached = options.tree.behind_cuda if options.tree is not None else {}
        if (said := reached.get(file.filename, "")) != "":
            file.find_at(KERNEL, 0, f"{said}; left as it is (--all rewrites it)", "note")
            return True
        if file.on_a_line(_FOR_MLX, "mlx") is not None and "cuda" not in file.tree.source.lower():
            said = f"{path.name} is written for MLX; left as it is (--all rewrites it)"
            file.find_at(ARMS, 0, said)
            return True
        fields = "cuda_compiled_version", "cuda_runtime_version"
        collects = (_COLLECTS.match(stem) or file.in_code(_IS_TORCHS_OWN, *fields)) is not None
        if collects and _OF_THE_BUILD.search(file.code) is not None:
            said = f"{path.name} tells what this machine has, CUDA among it"
            file.find_at(ARMS, 0, f"{said}; left as it is (--all rewrites it)")
            return True
        if (package := _said_to_need_cuda(file)) is not None:
            said = f"{package}, which this file is about, needs CUDA by its words"
            file.find_at(KERNEL, 0, f"{said}; left as it is (--all rewrites it)", "note")
            return True
        named = _OF_AN_INTERFACE.match(stem)
        if named is not None and not _SCRIPT.search(file.tree.source):
            said = f"{path.name} is about {named[1]}, which is CUDA's"
            file.find_at(KERNEL, 0, f"{said}; left as it is (--all rewrites it)", "note")
            return True
        if (
            file.in_code(_FAKES, "torch.cuda._") is not None
            and file.in_code(_FAKES_MOVES) is not None
        ):
            said = "this file puts a CUDA of its own in torch's place"
            file.find_at(ARMS, 0, f"{said}; left as it is (--all rewrites it)")
            return True
        if stem == "setup" and file.in_code(_BUILDS, "setup") is not None:
            said = f"{path.name} builds the package, where tdev need not be installed"
            file.find_at(KERNEL, 0, f"{said}; left as it is (--all rewrites it)", "note")
            return True
        if _does_without_torch(file):
            said = f"{path.name} imports no torch, and its package runs without"
            file.find_at(ARMS, 0, f"{said}; left as it is (--all rewrites it)", "note")
            return True
        if _OF_CUDA.match(stem):
            file.find_at(
                ARMS, 0, f"{path.name} tests CUDA itself; left as it is (--all rewrites it)"
            )
            return True
    if (found := _extension(file)) is not None:
        said = f"{found[0]} is compiled for CUDA, and is needed to import this file; left as it is (--all rewrites it)"
        file.find_at(KERNEL, found[1], said, "warning")
        return True
    if (what := _kernels(file, path)) is not None:
        said = f"{what}: kernels for CUDA; the file is left as it is (--all rewrites it)"
        file.find_at(KERNEL, 0, said, "warning")
        return True
    return False


_IMPORTS_TORCH = re.compile(r"^[ \t]*(?:import|from)[ \t]+torch\b", re.MULTILINE)


def _needs_kernels_first(file: File) -> bool:
    """Report a notebook that imports a package of kernels before torch, or in one cell with it, and tell whether it is one.

    Without that none of the cells below runs. The fences of a page have nothing to do with each other.
    """
    if not file.filename.endswith(".ipynb") or file.options.style == "accelerator":
        return False
    needed, torchs = file.on_a_line(_IMPORTED, *_OF_KERNELS, "dcgm"), file.in_code(_IMPORTS_TORCH)
    if needed is None or torchs is None:
        return False
    if CUTS.search(file.tree.source, torchs.start(), max(torchs.start(), needed.start())):
        return False
    what = needed.group().split()[1]
    said = f"{what}: kernels for CUDA; the notebook is left as it is (--all rewrites it)"
    file.find_at(KERNEL, needed.start(), said, "warning")
    return True


_FEW = 10
"""Kernels that a file may hold beside what is no kernel."""


def is_mostly_kernels(file: File) -> bool:
    """Report a file that holds many more kernels and handles of CUDA's than there would be changes, and tell whether it is one.

    What would change is what is prepared for them; asked once every rule has had its turn.
    """
    options = file.options
    if options.all or options.program or file.pieces or options.style == "accelerator":
        return False
    changed = sum(change.rule != "import" for change in file.changes.values())
    changed = max(changed, len(file.used))  # which an alias changes by its import alone
    handles = [each for each in file.findings.values() if each.rule == "raw-pointer"]
    kernels = file.kernels + sum(each.severity == "error" for each in handles)
    if not file.changes or kernels < _FEW or kernels <= 2 * changed:
        return False
    said = f"{kernels} kernels and handles of CUDA's in this file, and little else"
    file.find_at(KERNEL, 0, f"{said}; left as it is (--all rewrites it)", "note")
    return True


def _room(file: File, folders: tuple[str, ...]) -> str | None:
    """Return the package around a file that is made of kernels; the folders may be more than the packages."""
    rooms = file.options.tree.kernel_rooms if file.options.tree is not None else frozenset()
    if file.holds_kernels:
        return None  # which is said of each
    here = f".{'.'.join(folders)}."
    return next((room for room in sorted(rooms) if f".{room}." in here), None)


# Tests that run on the CPU what asks for CUDA: they replace what torch does below its public names.
_FAKES = re.compile(r"\bpatch(?:\.object)?\(\s*[\"']torch\.cuda\._")
_FAKES_MOVES = re.compile(r"\bpatch\(\s*[\"']torch\.(?:Tensor|nn\.Module)\.(?:to|cuda)\b")
_NEEDS_CUDA = re.compile(r"[\"'](\w{3,})[^\"'\n]{0,20}\b(?:requires|needs)\b[^\"'\n]{0,12}\bCUDA\b")


def _said_to_need_cuda(file: File) -> str | None:
    """Return the package that a file imports, is called after and says of in an error that it needs CUDA."""
    stem = PurePath(file.filename).name.partition(".")[0].lower()
    for found in _NEEDS_CUDA.finditer(file.tree.source) if "CUDA" in file.tree.source else ():
        package = found[1].lower()
        imported = rf"^[ \t]*(?:from|import)[ \t]+{package}\b"
        if package in stem and re.search(imported, file.code, re.MULTILINE):
            return package
    return None


def _extension(file: File) -> tuple[str, int] | None:
    """Return the compiled extension that a file imports from the module of the tree that compiles it, and where."""
    known = file.options.tree.kernel_modules if file.options.tree is not None else frozenset()
    own = file.options.tree.modules if file.options.tree is not None else frozenset()
    named = file.on_a_line(_NAMED_CUDA, "_cuda")
    if named is not None and named[1] not in own:
        return named[1], named.start(1)
    may_be = known and ("_ext" in file.tree.source or "_cuda" in file.tree.source)
    for found in _OF_EXTENSION.finditer(file.code) if may_be else ():
        dots, module, extension = found.groups()
        if any(each == module or dots and each.endswith(f".{module}") for each in known):
            return extension, found.start(3)
    return None


def _kernels(file: File, path: PurePath) -> str | None:
    """Return what a file cannot do without that holds kernels, if there is such a thing.

    A package of kernels that it imports at module level; of a test or a benchmark also the modules of the
    tree that hold kernels, and what it calls of an extension: they are its subject.
    """
    found = None
    if file.options.style != "accelerator":
        found = file.on_a_line(_IMPORTED, *_OF_KERNELS, "dcgm")
    if found is not None:
        return found.group().split()[1]
    if (
        file.options.style != "accelerator"
        and (found := file.on_a_line(_WRAPPED, "kernel")) is not None
    ):
        return found[1]
    if not is_for_tests(path):
        return None
    if (
        folder := next((part for part in path.parts[:-1] if _KERNELS_FOLDER.match(part)), "")
    ) != "":
        return folder
    if (found := file.in_code(_CALLED, *_SIGNS_OF_CALLS)) is not None:
        return found.group().strip().rstrip(".(")
    known = file.options.tree.kernel_modules if file.options.tree is not None else frozenset()
    for found in _IMPORTS.finditer(file.code) if known else ():
        module, names, plain = found.groups()
        said = _NAME.findall(names) if module is not None else []
        wanted = [module, *(f"{module}.{name}" for name in said)] if module else plain.split(",")
        for name in wanted:
            full = name.strip().split(" ")[0]
            if not known.isdisjoint(_as_imported(full)):
                return full
    return None


def _as_imported(full: str) -> Iterator[str]:
    """Yield the names by which the tree may know a module: folders without an ``__init__.py`` are no part of them."""
    yield full
    parts = full.split(".")
    for start in range(1, len(parts) - 1):
        yield ".".join(parts[start:])


def functions_of_cuda(file: File) -> None:
    """Leave functions that begin with the import of a package for CUDA: without it they do nothing at all."""
    if file.options.all or file.options.program:
        return
    for node, package in imported_packages(file):
        if not package.needs_cuda or is_answered(file, node):
            continue
        line = file.tree.parents[node]
        body = file.tree.parents.get(line)
        home = file.tree.parents.get(body) if isinstance(body, cst.IndentedBlock) else None
        if isinstance(home, cst.FunctionDef):
            file.untouched.append(file.tree.span(home))
    for span, module in _ending_without(file):
        file.untouched.append(span)
        said = f"ends where {module} cannot be imported, as without CUDA; left as it is"
        file.find_at(KERNEL, span[0], said, "note")
    on_demand = "optional_import" in file.tree.source
    for found in _NEEDED_ON_DEMAND.finditer(file.tree.source) if on_demand else ():
        homes = [h for h in file.tree.of(cst.FunctionDef) if _around(file, h, found.start())]
        if homes:
            home = homes[-1]
            file.untouched.append(file.tree.span(home))
            said = f"{home.name.value} cannot do without {found[1]}; left as it is"
            file.find(KERNEL, home.name, said, "note")


_TRIES_INSIDE = re.compile(r"^[ \t]+except\b", re.MULTILINE)
_ENDS = re.compile(r"(?:return|raise)\b|(?:\w+\.)*(?:skip|skipTest|exit)\(")


def _ending_without(file: File) -> Iterator[tuple[Span, str]]:
    """Yield the functions that end where a module of the tree, or vLLM's worker, cannot be imported, as it cannot without CUDA.

    ``try: from pkg.attention import Attention``, ``except ImportError: pytest.skip(…)``.
    """
    tree = file.options.tree
    own = tree.modules if tree is not None else frozenset()
    may_work = "vllm" in file.tree.source and "worker" in file.tree.source
    if tree is None or not (tree.needs_cuda or tree.only_on_cuda or may_work):
        return
    python = file.python if _TRIES_INSIDE.search(file.tree.source) is not None else None
    for home in python.statements if python is not None else ():
        if python is None or not isinstance(home, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for tried in home.body:
            match tried:
                case ast.Try(handlers=[first, *_]) if _ENDS.match(ast.unparse(first.body[-1])):
                    modules = [each for line in tried.body for each in _imported_by(line)]
                    needing = [each for each in modules if _needs_cuda(tree, each)]
                    needing += [name for _, name in workers(tried.body, own)]
                    if needing:
                        yield python.span(home), needing[0]
                        break
                case _:
                    pass


def _needs_cuda(tree: ProgramTree, module: str) -> bool:
    path = module.replace(".", "/")
    ends = f"/{path}.py", f"/{path}/__init__.py"
    return module in tree.only_on_cuda or any(f"/{each}".endswith(ends) for each in tree.needs_cuda)


def _imported_by(line: ast.stmt) -> list[str]:
    if isinstance(line, ast.ImportFrom):
        return [line.module] if line.module and not line.level else []
    return [each.name for each in line.names] if isinstance(line, ast.Import) else []


_REFUSED = re.compile(
    r"^[ \t]*(?:if|elif)\b[^:]*?(?:\bnot\s+[\w.]+\.is_cuda\b|!=\s*[\"']cuda[\"']|\bnot\s+(?:\w+\.)*cuda\.is_available\(|version\.hip\b)"
    r"(?:[^\n]*\n){1,4}?[ \t]*raise\b|^[ \t]*assert\b[^\n]*(?:\.is_cuda\b|==\s*[\"']cuda[\"']|\bcuda\.is_available\()",
    re.MULTILINE,
)
_CUDAS = re.compile(
    r"_?(?:Static)?(?:CUDA|Cuda)_?[A-Z]\w*\Z|\w+(?:CUDA|Cuda)(?:Graphs?|Kernels?|Ops?)\Z"
)


# The question that such a class answers for its kind of device: `def is_available(cls): return torch.cuda.is_available()`.
_ANSWERS = re.compile(
    r"def[ \t]+(?:is_)?available\([^)]*\)[^:]*:\s*(?:\"\"\"(?:[^\"]|\"(?!\"\"))*\"\"\"\s*)?return[ \t]+(?:torch\.)?cuda\.is_available\("
)
_KIND = re.compile(r"CUDA|Cuda")


def classes_of_cuda(file: File) -> None:
    """Leave a class that is called after CUDA and refuses what is not, or says when it is there among others.

    ``StaticCudaGraph``; ``CUDAPlatform`` beside ``XPUPlatform``, whose ``is_available`` stays CUDA's.
    """
    if file.options.all or file.options.program:
        return
    classes = file.tree.of(cst.ClassDef)
    for home in classes:
        name = home.name.value
        if _CUDAS.match(name) is None:
            continue
        text = file.tree.text(home)
        says = ""
        if _REFUSED.search(text) is not None:
            says = "refuses other devices"
        elif _ANSWERS.search(text) is not None:
            alike = re.compile(_KIND.sub(rf"(?i:{_OTHERS})", re.escape(name)))
            others = (each.name.value for each in classes if each is not home)
            says = "is there where CUDA is" if any(map(alike.fullmatch, others)) else ""
        if says:
            file.untouched.append(file.tree.span(home))
            file.find(KERNEL, home.name, f"{name} is CUDA's, and {says}; left as it is", "note")


# Whether it is there is not asked: `trt, _ = optional_import("tensorrt")`.
_NEEDED_ON_DEMAND = re.compile(
    rf"^[ \t]+\w+,[ \t]*_[ \t]*=[ \t]*optional_import\([ \t]*[\"']({GUARDED})\b", re.MULTILINE
)


def _around(file: File, home: cst.FunctionDef, at: int) -> bool:
    low, high = file.tree.span(home)
    return low <= at < high


_OF_CUDA_ALONE = re.compile(
    r"(?!\w*(?:is|use|has|to|on|no|non|not|using|with|without|want)_cuda)[a-z0-9_]+_cuda\Z"
)
_ARCHITECTURES = ("volta", "turing", "ampere", "ada_lovelace", "hopper", "blackwell")
_ARCHITECTURE = re.compile(rf"(?<![a-z])(?:{'|'.join(_ARCHITECTURES)})(?![a-z])")
_SAYS_CUDA = re.compile(r"[\"'][^\"'\n]*\bCUDA\b")


# A function that does as such a file does.
_REPORTS = re.compile(
    r"_?(?:(?:collect|print|show|log)_(?:system|machine|env(?:ironment)?)(?:_(?:info|report|details))?"
    r"|get_(?:system|machine|env(?:ironment)?)_(?:info|report|details))\Z"
)
# A decorator of tests that runs them on CUDA beside the CPU, by its name: `withCUDA`, beside `onlyCUDA` and `withDevice`.
_RUNS_ON_CUDA = re.compile(r"(?:with|on)_?(?:CUDA|Cuda|cuda)\Z")
# What NVIDIA's libraries are told by the environment: `NVIDIA_TF32_OVERRIDE`.
_NVIDIAS_SETTING = re.compile(r"[\"']NVIDIA_[A-Z0-9_]+[\"']")

# The numbers of NVIDIA's GPUs, by nvidia-smi: no other accelerator has one.
_OF_GPUTILS = re.compile(r"\bGPUtil\.get(?:Available|FirstAvailable|GPUs)\(")
# With a number, as GPUtil counts them.
_MAKES_CUDAS = re.compile(r"\bdevice\(\s*(?:type=)?f?[\"']cuda(?::[{%]|[\"']\s*,)")
# The functions that CuPy allocates by: `PythonFunctionAllocator(alloc, free)`, `MemoryPool(allocator=alloc)`.
_ALLOCATES = re.compile(
    r"\b(?:PythonFunctionAllocator|MemoryPool|set_allocator)\(\s*(?:allocator=)?(\w+)\s*(?:,\s*(\w+)\s*,?\s*)?\)"
)


# `is_device_cuda(device)`, `tensor_is_cuda`, `on_cuda`, and what such a function is as a whole: it gives the answer.
_PREDICATE = re.compile(r"(?:is_(?:\w+_)?|\w+_is_|on_)cuda(?:_(?:device|tensor))?\Z")
_GIVES_THE_ANSWER = re.compile(
    r"^[ \t]+return[ \t]+(?:\w+|[^\n]*==[ \t]*[\"']cuda[\"']\)?)[ \t]*$", re.MULTILINE
)


def answers_of_cuda(file: File) -> None:
    """Leave a function that is the question for CUDA's type, by its name, and that nothing in the tree calls.

    It is its package's answer to others, as ``is_cuda_available`` is.
    """
    tree, options = file.options.tree, file.options
    if tree is None or options.all or options.program or options.style == "accelerator":
        return
    for home in file.tree.of(cst.FunctionDef) if tree.cuda_alone else ():
        name = home.name.value
        if name not in tree.cuda_alone or _PREDICATE.match(name) is None:
            continue
        text = file.tree.text(home.body)
        asks = re.search(r"==[ \t]*[\"']cuda[\"']", text) is not None
        if not asks or ".cuda(" in text or _GIVES_THE_ANSWER.search(text) is None:
            continue
        if len(re.findall(rf"(?<![\w.]){name}\b", file.code)) == 1:
            file.untouched.append(file.tree.span(home))
            said = f"{name} is asked by nothing in the tree: it is this package's answer to others; left as it is"
            file.find(ARMS, home.name, said, "note")


# What a report says before what it tells, `"CUDA devices: {}"`; the facts that it tells; what it calls of CUDA at all.
_LABELS = re.compile(r"[\"'](?=[^\"'\n]*\bCUDA\b)[^\"'\n]*[:=({][^\"'\n]*[\"']")
_TELLINGS = re.compile(r"\bcuda\.get_device_(?:name|properties|capability)\b")
_CALLED_OF_CUDA = re.compile(r"\bcuda\.(\w+)|\.(cuda|to)\(|[\"'](cuda)\b")
_TELLING = re.compile(
    r"(?:is_available|device_count|current_device|get_device_\w+|get_arch_list|version|memory_\w+|mem_get_info)\Z"
)


def told_of_cuda(file: File) -> None:
    """Leave what is about CUDA by its own words: ``if bf16_cuda:``, a report on NVIDIA's settings."""
    if file.options.all or file.options.program:
        return
    named = "NVIDIA_" in file.tree.source
    for found in _NVIDIAS_SETTING.finditer(file.tree.source) if named else ():
        at = found.start()
        for home in file.tree.of(cst.FunctionDef):
            span = file.tree.span(home)
            if span[0] <= at < span[1] and span not in file.untouched:
                file.untouched.append(span)
                said = f"{home.name.value} tells of {found.group()[1:-1]}; left as it is"
                file.find(ARMS, home.name, said, "note")
    for home in file.tree.of(cst.FunctionDef) if "GPUtil" in file.tree.source else ():
        text = file.tree.text(home)
        if _OF_GPUTILS.search(text) is not None and _MAKES_CUDAS.search(text) is not None:
            file.untouched.append(file.tree.span(home))
            said = f"{home.name.value} makes devices of what GPUtil counts; left as it is"
            file.find(ARMS, home.name, said, "note")
    allocators = {
        name
        for found in (_ALLOCATES.findall(file.code) if "cupy" in file.tree.source else ())
        for name in found
    }
    for home in file.tree.of(cst.FunctionDef) if allocators else ():
        if home.name.value in allocators:
            file.untouched.append(file.tree.span(home))
            said = f"{home.name.value} gives CuPy its memory on CUDA; left as it is"
            file.find(ARMS, home.name, said, "note")
    signs = ("is_bf16_supported", *_ARCHITECTURES)
    for home in file.tree.of(cst.FunctionDef) if "platform" in file.tree.source else ():
        text = file.tree.text(home)
        if _REPORTS.match(home.name.value) and "torch.cuda." in text and "platform." in text:
            file.untouched.append(file.tree.span(home))
            said = f"{home.name.value} tells of the machine; left as it is"
            file.find(ARMS, home.name, said, "note")
    for home in file.tree.of(cst.FunctionDef) if "get_device_" in file.tree.source else ():
        code = file.code[slice(*file.tree.span(home.body))]
        if len(_LABELS.findall(code)) > 1 and _TELLINGS.search(code) is not None:
            if all(_TELLING.match(max(parts)) for parts in _CALLED_OF_CUDA.findall(code)):
                file.untouched.append(file.tree.span(home))
                said = f"{home.name.value} tells of CUDA's devices by that name; left as it is"
                file.find(ARMS, home.name, said, "note")
    for home in file.tree.of(cst.FunctionDef) if "mark.parametrize(" in file.tree.source else ():
        if _RUNS_ON_CUDA.match(home.name.value) and "torch.cuda." in (text := file.tree.text(home)):
            if "mark.parametrize(" in text:
                file.untouched.append(file.tree.span(home))
                said = f"{home.name.value} is for tests of CUDA by its name; left as it is"
                file.find(ARMS, home.name, said, "note")
    asks_more = any(sign in file.tree.source for sign in signs)
    for home in file.tree.of(cst.FunctionDef) if asks_more else ():
        name = home.name.value
        if "cuda" in name and "is_bf16_supported" in file.tree.text(home):
            asks = "asks for numbers that CUDA has"
        elif _ARCHITECTURE.search(name) and "torch." in file.tree.text(home):
            asks = "asks for an architecture of NVIDIA's"
        else:
            continue
        file.untouched.append(file.tree.span(home))
        file.find(ARMS, home.name, f"{name} {asks}; left as it is", "note")
    for choice in file.tree.of(cst.If) if "_cuda" in file.tree.source else ():
        test = choice.test
        if isinstance(test, cst.Name) and _OF_CUDA_ALONE.match(test.value):
            text = file.tree.text(choice.body)
            if "torch.cuda." in text and _SAYS_CUDA.search(text):
                file.untouched.append(file.tree.span(choice.body))
                said = f"{test.value} asks for what CUDA has; left as it is"
                file.find(ARMS, test, said, "note")


_JITTED = re.compile(
    r"^@triton\.jit\b[^\n]*\n(?:[@#][^\n]*\n|[ \t)][^\n]*\n)*def[ \t]+(\w+)", re.MULTILINE
)
# Of Triton's or CuPy's, and of a module of compiled kernels that takes addresses.
LAUNCH = re.compile(
    r"\b\w*kernel\w*\[(?!\s*[fF]?[\"'])[^\]\n]+\]\(|\bc_void_p\([\w.]+\.data_ptr\(\)"
)
# What starts a kernel by an index, from a word that `re` looks for many times faster than for its boundary.
_MAY_LAUNCH = re.compile(r"kernel\w*\[")


_DEF = re.compile(r"def\s+")
# What would have changed in a function that calls an extension.
_NAMES_CUDA = re.compile(r"\btorch\.cuda\b|\.is_cuda\b|[\"']cuda\b")


def launches(file: File) -> None:
    """Find the functions that start a kernel, or call a compiled extension: what they prepare is for it."""
    if file.options.all or file.options.program:
        return
    places = dict.fromkeys(file.cudas.launches if file.cudas is not None else (), False)
    places.update(dict.fromkeys(_launched(file), True))
    if not places or (python := file.python) is None:
        return
    # Of the whole text: a slice of it need not have a function in which nothing else is to be done.
    functions = [
        (python.span(node), node.name)
        for node in python.statements
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and not any("triton.jit" in ast.unparse(each) for each in node.decorator_list)
    ]
    for place, started in places.items():
        around = [one for one in functions if one[0][0] <= place < one[0][1]]
        span, name = max(around, default=((0, 0), ""))
        if name and span not in file.untouched:
            file.untouched.append(span)
            if started or _NAMES_CUDA.search(file.tree.source, *span):
                named = _DEF.search(file.tree.source, span[0])
                at = named.end() if named is not None else span[0]
                does = "starts a kernel" if started else "calls what is compiled for CUDA"
                file.find_at(KERNEL, at, f"{name} {does}; left as it is", "note")


def beside_a_package(file: File) -> None:
    """Leave what follows the import of a package for CUDA in its block: nothing else comes there.

    Nor to the methods of a class whose objects cannot be made without it.
    """
    if file.options.all or file.options.program:
        return
    for node, package in imported_packages(file):
        block = file.tree.parents[file.tree.parents[node]]
        if not isinstance(block, cst.IndentedBlock) or not package.needs_cuda:
            continue
        if package.answer not in ("none", "stand-in") or is_answered(file, node):
            continue
        file.untouched.append((file.tree.span(node)[1], file.tree.span(block)[1]))
        made_by = file.tree.parents[block]
        if isinstance(made_by, cst.FunctionDef) and made_by.name.value == "__init__":
            home = file.tree.parents.get(file.tree.parents[made_by])
            if isinstance(home, cst.ClassDef):
                file.untouched += [
                    file.tree.span(each) for each in home.body.body if _is_of_objects(each)
                ]


def _is_of_objects(node: cst.CSTNode) -> bool:
    """Tell whether something in a class is a method that takes an object of it."""
    first = node.params.params[:1] if isinstance(node, cst.FunctionDef) else ()
    return any(each.name.value == "self" for each in first)


def _taken(file: File, kernels: set[str]) -> Iterator[int]:
    """Yield where a function takes a kernel by its name: ``(_kernel if wrap is None else wrap(_kernel))[grid](…)``."""
    handed = rf"(?<!def )(?<![\w.])(?:{'|'.join(sorted(kernels))})\b(?![\[(])"
    python = file.python if file.in_code(re.compile(handed)) is not None else None
    if python is None:
        return
    for home in python.statements:
        if not isinstance(home, ast.FunctionDef):
            continue
        inside = list(ast.walk(home))
        if not any(isinstance(node, ast.Subscript) for node in inside):
            continue
        bound = {each.arg for each in inside if isinstance(each, ast.arg)}
        bound |= {
            each.id
            for each in inside
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        for node in inside:
            if isinstance(node, (ast.Call, ast.IfExp, ast.Subscript)):
                for each in ast.iter_child_nodes(node):
                    if isinstance(each, ast.Name) and each.id in kernels - bound:
                        yield python.span(each)[0]


def _launched(file: File) -> Iterator[int]:
    """Yield where kernels of Triton's or CuPy's are started."""
    source = file.tree.source
    launch = LAUNCH
    if "@triton.jit" in source and (jitted := _JITTED.findall(source)):
        launch = re.compile(rf"{LAUNCH.pattern}|\b(?:{'|'.join(jitted)})\[")
        yield from _taken(file, set(jitted))
    elif "c_void_p(" not in source and _MAY_LAUNCH.search(source) is None:
        return
    if file.in_code(launch) is not None:
        yield from (found.start() for found in launch.finditer(file.code))
