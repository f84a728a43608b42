"""Reads off many files, by their bytes alone, what a rule asks about beyond its own file.

One pass over the tree before the first file is rewritten: who imports the name ``torch`` from whom, which
functions answer whether there is CUDA and who asks them, which modules hold kernels. Names stand for their
last parts, so that an answer may be yes too often and never no too often.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import PurePath

from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.codemod.engine.constants import Constants
from tdev_core.codemod.engine.cudas_answers import chosen_constants, cudas_answers
from tdev_core.codemod.engine.handing_on import handing_on
from tdev_core.codemod.engine.python.callers import Callers
from tdev_core.codemod.engine.python.collector import without_collector
from tdev_core.codemod.engine.python.elsewhere import Files, of_families
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.staying import built_on, moves_by_cuda_alone, staying
from tdev_core.codemod.engine.tried_kernels import tried_kernels
from tdev_core.codemod.engine.unable import unable, with_users
from tdev_core.codemod.engine.vocabulary import (
    LIBRARIES,
    OF_AMP,
    SETTINGS,
    give_devices,
    says_mps,
    without_prose,
)
from tdev_core.ecosystem.device_table import holders
from tdev_core.ecosystem.package_table import packages

_GIVES_TORCH = re.compile(
    rb"from[ \t]+([.\w]+)[ \t]+import[ \t]*(?:\*|(?:\([^)]*?|[\w, \t]*?)\btorch[ \t]*(?:[,)\r\n#]|\Z))"
)
# `core.torch.cuda`, in code or in a string; the owner is read backwards.
_REACHES = re.compile(rb"\.torch\b")
_REACHED_FROM = re.compile(rb"(?:(\w+)|[\"'}\])])\Z")
# `from .base import Base, autocast`: a name of torch.cuda.amp's that another module gives.
_GIVES_AMP = re.compile(
    rb"from[ \t]+((?!torch\b)[.\w]+)[ \t]+import[ \t]*(?:\([^)]*?|[\w, \t]*?)\b(?:"
    + "|".join(OF_AMP).encode()
    + rb")\b"
)
# `base.autocast()`, of a module that has imported it, whatever it is called here; the owner is read backwards, for `re`
# would begin at every word.
_INSIDE_AMP = tuple(name for name in OF_AMP if name != "amp")
_READS_AMP = re.compile(rb"\.(?:" + "|".join(_INSIDE_AMP).encode() + rb")\b")
_OWNER_OF_AMP = re.compile(rb"(\w+)(?:\.amp)?\Z")
_OWNERS_REACH = 80
_TORCHS_OWN = frozenset((b"torch", b"amp", b"cuda", b"self"))
_SIGNS_OF_AMP = tuple(name.encode() for name in _INSIDE_AMP)
# What a package's own function is taken from that is not the package.
_TAKES = re.compile(
    rb"\nfrom[ \t]+(?!(?:flash_attn|apex)\b)[.\w]+[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)"
)
_TAKEN = re.compile(rb"\b(?:flash_attn\w*|Fused(?:Adam|LayerNorm|RMSNorm))\b")
GUARDED = "|".join(re.escape(known.name) for known in packages().values() if known.guards)
"""Packages for CUDA that a test stays a test for CUDA for, as alternatives of a pattern."""
OF_KERNELS = "|".join(known.name for known in packages().values() if known.kernels)
"""Packages that are kernels for CUDA and ROCm and nothing else, as alternatives of a pattern."""
# Each begins with what is rare in a text, which `re` looks for many times faster than for `^`.
KERNELS = (
    rf"\n(?:import|from)[ \t]+(?:{GUARDED})\b",
    r"@(?:triton\.(?:jit|autotune)|cuda\.jit)\b",
)
_KERNELS = tuple(re.compile(pattern.encode()) for pattern in KERNELS)
# By the sign without which there is none; each begins with what `re` looks for many times faster than for a choice.
_EXTENSIONS = {
    b"load_inline": (re.compile(rb"load_inline\("),),
    b"cpp_extension": (re.compile(rb"cpp_extension\b"),),
    b"_C": (re.compile(rb"import[ \t]+_C\b"), re.compile(rb"\._C[ \t]+import")),
    b"torch.ops.": (re.compile(rb"torch\.ops\.(?!aten|prim)"),),
}
_DEFINED = re.compile(
    rb"^[ \t]*def[ \t]+(\w*(?:[cC]uda|CUDA|[gG]pu|GPU)\w*)[ \t]*\("
    rb"|^(\w*(?:CUDA|GPU|cuda|gpu)\w*)[ \t]*(?::[^=\n]+)?=[^\n]*(?:is_available|device_count)\(",
    re.MULTILINE,
)
# What a text may give an attribute of that name, whatever the object: `dict(use_cuda=ask())`, `("use_cuda", ask())`,
# `self.use_cuda, n = ask(), 3`. A constant never becomes true through tdev.
_OF_TESTS_FOR_CUDA = rb"((?:use|test|with|has|run)_cuda)"
_GIVEN_TO_TESTS = re.compile(
    rb"(?<![\w.])" + _OF_TESTS_FOR_CUDA + rb"[ \t]*=(?!=|[ \t]*(?:True|False)\b)"
    rb"|[\"']" + _OF_TESTS_FOR_CUDA + rb"[\"'](?![ \t]*:[ \t]*(?:True|False)\b)"
    rb"|\." + _OF_TESTS_FOR_CUDA + rb"[ \t]*,[ \t\w.,]*=(?!=)"
)
_SETS_BY_NAME = (b"setattr(", b"__dict__", b"vars(")
# A class's own property of that name, which is not a tensor's.
_OWN_IS_CUDA = re.compile(rb"def[ \t]+is_cuda\(")
_PROPERTY = re.compile(rb"@(?:\w+\.)*(?:cached_)?property[ \t\r]*\n(?:[ \t]*@[^\n]*\n)*[ \t]*\Z")
_OF_CUDA = re.compile(rb"cuda\w*")
_BEFORE = re.compile(rb"(?:(?<!\w)def )?(\w*)\Z")
_ANSWERS = (b"cuda.is_available", b"cuda.device_count")
_WORD = re.compile(rb"\w*(?:[cC]uda|CUDA|[gG]pu|GPU)\w*")
_OTHERS = rb"mps|xpu|npu|hpu|mlu|musa|mtia|xla|tpu"
# Of accelerators that tdev does not know: `torch.xpu.synchronize()`.
_ASKS_FOR_OTHERS = re.compile(rb"torch\.(?:xpu|npu|mlu|musa|hpu)\.\w")
_OF_SEVERAL = 2
"""The modules of a package that ask for them, where it runs there and does not only offer it once."""
_ARMS = re.compile(rb"^[ \t]*(?:el)?if\b[^\n]*(?:\b|_)(?:" + _OTHERS + rb")(?:\b|_)", re.MULTILINE)
_ARM_IN_LINE = re.compile(rb"\belse\b[^\n]*\bif\b[^\n]*(?:\b|_)(?:" + _OTHERS + rb")(?:\b|_)")
# A package that is called after what it holds: what is not a kernel there is for those that are.
_OF_KERNELS = re.compile(r"(?:^|[._])kernels?\Z")
# What a module of kernels does that a module which only calls some does not have to.
_MAKES_KERNELS = (
    b"@triton.jit",
    b"@triton.autotune",
    b"@cuda.jit",
    b"load_inline(",
    b"CUDAExtension(",
    b"._C import",
    b'.cu"',
    b".cu'",
    b'.cuh"',
    b".cuh'",
)
_CALLS_KERNELS = (
    re.compile(rb"torch\.ops\.(?:_C\w*|\w*kernels?\w*|\w*cuda\w*)\."),
    re.compile(rb"import(?<!\wimport) _C\b"),
)
_IMPORTS_KERNELS = re.compile(
    rf"\n(?:import|from)[ \t]+(?:{OF_KERNELS}|\w+_cuda|numba[ \t]+import[ \t]+[^\n]*\bcuda)\b".encode()
)
_KERNEL_SIGNS = frozenset((b"uda", b"triton", b"torch.ops.", b"_C"))
_CUDA_SIGNS = frozenset((b"uda", b"CUDA", b"gpu", b"GPU"))
# Looked for once in each file: few files have one, and each look reads the whole text.
_SIGNS = (*_EXTENSIONS, *_CUDA_SIGNS, b"triton", b"get_device_capability")
# Of the files that say torch, those in which it may be the last of an import's names.
_MAY_GIVE_TORCH = re.compile(rb"torch(?=[ \t]*(?:[,)\r\n#]|\Z))(?<![\w.]torch)(?<!\nimport torch)")
_PLATFORM = re.compile(
    r"(?<![a-z])(?:cuda|gpu|rocm|hip|musa|npu|xpu|hpu|mps|mlu|tpu|xla)(?![a-z])", re.IGNORECASE
)
VENDORS = ("nvidia", "amd")
"""What folders are called that are one vendor's each, whose devices torch calls CUDA's."""
# Modules that are one kind of device each, where `train_gpu.py` beside `train_tpu.py` is a program.
_OF_DEVICES = re.compile(r"(?:device|accelerator|platform|backend|hardware)s?(?:_|\b)[^/]*\Z")
_TEST_NAME = re.compile(
    r"(?:test|bench|benchmark|profile|tuning|tune)_|\w+_(?:test|tests|bench|benchmark)\.|conftest\."
)
# What pytest runs; every other file of tests is there for these.
_OF_TESTS = re.compile(r"test_|\w+_tests?\.")
_TEST_FOLDER = re.compile(r"(?:tests?|testing|bench\w*)\Z")
OF_NVIDIAS = r"\bnvidia[-_]smi\b|\bpynvml\b|\bsm_?(?:[5-9]\d|1\d\d)\b|\bcuda\w*capab|\bcapab\w*cuda"
"""What NVIDIA calls its architectures by, and asks them with, whatever their case."""
# What is called so is told from other functions by its name alone.
_OF_GPUS = re.compile(rb"gpu|cuda|nvidia|vram|smi(?![a-z])", re.IGNORECASE)
# A flag that tells CUDA's architecture: `_SUPPORTS_FLEX = (\n    is_available() and get_device_capability() >= …`.
_CAPABILITY = re.compile(
    rb"^(_?[A-Z][A-Z0-9_]+)[ \t]*=[ \t]*(?:\([^=]{0,200}?|[^\n=]*?)\bget_device_capability\(",
    re.MULTILINE,
)
_FUNCTION = re.compile(rb"^def[ \t]+(\w+).*(?:\n(?:[ \t)].*|(?=\n)))*", re.MULTILINE)
_OF_NVIDIAS = re.compile(OF_NVIDIAS.encode(), re.IGNORECASE)
_BINDS = re.compile(rb"[ \t]*(?:def|class|from|import|global|nonlocal)\b|[ \t]*[\"']")


# At a module's margin: `DEVICE = torch.device("cuda")`; from what is rare in it.
_CONSTANTS = tuple(
    re.compile(word + rb"\w{0,40}[ \t]*(?::[^=\n]{0,60})?=(?!=)[ \t]*([^\n]*)")
    for word in (b"DEVICE", b"device")
)
# `[torch.device("cpu"), torch.device("cuda", index=0)]`, and what is done to such a list.
_LISTED = re.compile(
    rb"[\[(](?:[ \t]*(?:torch|th|tdev)\.device\([^()\n]*\)[ \t]*,?)+[\])][ \t]*(?:#[^\n]*)?\r?\Z"
)
_PUT_INTO = re.compile(
    rb"\b(\w*DEVICES)(?:\.append\(((?:[^()\n]|\([^()\n]*\))*)\)|(\.\w+\(|[ \t]*(?:[-+*|&]=|\[[^\]\n]*\][ \t]*=(?!=))))"
)
_NAME_BEFORE = re.compile(rb"([ \t]*)(\w{0,40})\Z")
_MADE = re.compile(
    rb"(?:torch|th|tdev)\.device\((?![^\n]*\)[ \t]*(?:if|or|and)\b)[^\n]*\)[ \t]*(?:#[^\n]*)?\r?\Z"
)
_OPENS_A_SCOPE = re.compile(rb"[ \t]+(?:async[ \t]+def|def|class)\b")
_BLOCK = re.compile(rb"(?:if|elif|else|try|except|finally|with|match)\b")
# Whose devices torch is never given; a file that has torch as well may hand one to the other.
_ANOTHER_FRAMEWORK = re.compile(
    rb"^(?:import|from)[ \t]+(?:paddle|tensorflow|jax|mindspore|mxnet)\b", re.MULTILINE
)
_SAYS_TORCH = re.compile(rb"torch(?<!\wtorch)\b")
_CLASS = re.compile(rb"^class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?", re.MULTILINE)
# Of a class, `_device: str`, and no parameter on a line of its own; nor one that a docstring lists: `device : str`,
# `device: str, optional`, `device: str (default: "cpu")`.
# Alone or among others: `Optional[str]`, `torch.device | str`, `Literal["cpu", "cuda"]`.
_STRING_DEVICE = re.compile(
    rb"device(?:[ \t]+:(?=[^\n]*=)|:)[ \t]*[\"']?(?:[\w.]+[ \t]*\|[ \t]*)*"
    rb"(?:str\b(?![ \t]*[,.(;]|[ \t]+\w)"
    rb"|[\w.]+\[(?:[\w.]+(?:\[|[ \t]*\|[ \t]*|,[ \t]*))*(?:str\b|(?<=Literal\[)[^]\n]*[\"']cuda))"
    rb"(?![^\n]*,[ \t]*\r?$)",
    re.MULTILINE,
)
_AT_THE_MARGIN = re.compile(rb"\n(?:async[ \t]+)?(?:def|class)[ \t]")
_ATTRIBUTE_BEFORE = re.compile(rb"(?<![(,\r])\r?\n[ \t]+(?:self\.)?(\w{0,40})\Z")


_KEPT_DEVICE = re.compile(rb"device[ \t]*(?::[^=\n]*)?=(?!=)[ \t]*([^\n#]+)")
_OF_SELF = re.compile(rb"self\.((?:\w+_)?)\Z")
_TYPED = re.compile(
    rf"(?:(?:\w+\.)*(?:\w+_)?(?:{SETTINGS})(?:\.\w*device|\[[\"']\w*device[\"']\]|\.(?:get|pop)\([\"']\w*device[\"'][^()]*\))"
    r"|str\(\w+\)|[\"']cuda(?::\d+)?[\"'])\s*\Z".encode()
)


# `device = process_device(device)`, of a parameter, right where it is kept then.
_GIVEN_ANEW = rb"\n%s%s[ \t]*=[ \t]*(?:\w+\.)*\w*device\w*\("


def _is_a_word(raw: bytes, kept: re.Match[bytes]) -> bool:
    """Tell whether what is kept is a word that was typed, or a parameter that says that it takes one."""
    value = kept[1].strip()
    if _TYPED.match(value):
        return True
    if not re.fullmatch(rb"[A-Za-z_]\w*", value):
        return False
    start = max(0, raw.rfind(b"\nclass ", 0, kept.start()))
    home = max(start, raw.rfind(b"def ", 0, kept.start()))
    indent = re.match(rb"[ \t]*", raw[raw.rfind(b"\n", 0, kept.start()) + 1 :])
    anew = _GIVEN_ANEW % (indent[0] if indent is not None else b"", value)
    if re.search(anew, raw[home : kept.start()]) is not None:
        return False  # as what is called for that shows
    # As its signature says, or the prose of its class.
    said = rb"(?<!\w)" + value + rb"`*[ \t]*(?:[:(][^\n=)]*\bstr\b|(?::[^\n=)]*)?=[ \t]*[\"']cuda)"
    return re.search(said, raw[start : kept.start()]) is not None


_FROM_A_LIBRARY = re.compile(
    rb"\n(?:import|from)[ \t]+(?:%s)\b" % "|".join(sorted(LIBRARIES)).encode()
)
_FROM_A_FOLDER = re.compile(rb"^(?:import|from)[ \t]+(\w+)\.(\w+)", re.MULTILINE)
_CHOSEN_AT_THE_MARGIN = re.compile(
    rb"^(?i:\w*device)[ \t]*=[^\n=]*\bcuda\.is_available\(", re.MULTILINE
)
_TAKES_TORCH = re.compile(rb"\b(?:import|from)[ \t]+(?:torch|tdev)\b")
_HOLDERS = frozenset(known.name for known in holders().values() if known.only_cuda_or_cpu)
_HOLDERS_BYTES = [name.encode() for name in sorted(_HOLDERS)]
_FROM_A_HOLDER = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+(%s)\b" % b"|".join(_HOLDERS_BYTES), re.MULTILINE
)
# At a module's margin, or tried there.
_OF_A_HOLDER = rb"(?:import[ \t]+(%s)\b(?=[ \t.,\r\n]|\Z)|from[ \t]+(%s)\b[\w.]*[ \t]+import\b)" % (
    (b"|".join(_HOLDERS_BYTES),) * 2
)
_TAKES_A_HOLDER = re.compile(
    rb"^(?:try:[^\n]*\n(?:[ \t]+(?:import|from)[ \t][^\n]*\n)*?[ \t]+)?" + _OF_A_HOLDER,
    re.MULTILINE,
)
# Packages that take the very word which a command line takes: `WhisperModel(name, device=args.device)`.
_TOLD_BY_NAME = [(name, f"import {name}".encode()) for name in ("faster_whisper", "ctranslate2")]


_IMPORTS_TORCH = re.compile(rb"\nimport[ \t]+torch[ \t]*(?:[,;#\r\n]|\Z)")
# What else a module may call so: its own wrapper, or nothing where there is no torch.
_OTHER_TORCHS = tuple(
    start + b"torch" + end
    for start, end in (
        (b"\n", b" ="),
        (b"\n", b"="),
        (b"    ", b" ="),
        (b"class ", b""),
        (b"def ", b""),
    )
)


def _binds_torch(raw: bytes) -> bool:
    """Tell whether a module imports torch at its margin, and calls nothing else so."""
    if b"import torch" not in raw or _IMPORTS_TORCH.search(b"\n" + raw) is None:
        return False
    return not any(sign in raw for sign in _OTHER_TORCHS)


# Also by a name of the program's own: `@brevitas.jit.script_method`.
_COMPILED = re.compile(rb"@(?:\w+\.)*script(?:_method\w*|_if_tracing)?\b")
_NAMED_IMPORT = re.compile(rb"\nfrom[ \t]+[.\w]+[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)")


def _scripted_calls(raw: bytes) -> set[str]:
    """Return the functions that a file takes from others and calls, if a decorator of it compiles something."""
    if b"script" not in raw or _COMPILED.search(raw) is None:
        return set()
    taken = {
        name for found in _NAMED_IMPORT.findall(b"\n" + raw) for name in re.findall(rb"\w+", found)
    }
    return {name.decode() for name in taken if name + b"(" in raw}


class Survey:
    """Facts of the files seen so far; ``staying``: what ``--target accelerator`` alone asks for, too."""

    def __init__(self, *, staying: bool = True) -> None:
        self._looks_for_staying = staying
        self._modules: set[str] = set()
        self._inside: dict[PurePath, set[str]] = {}
        self._on_path: set[PurePath] = set()
        self._folders: set[PurePath] = set()
        self._imported_from: list[tuple[PurePath, frozenset[tuple[str, str]]]] = []
        self._kernels: set[str] = set()
        self._gives_torch: set[str] = set()
        self._reached: set[str] = set()
        self._gives_amp: set[str] = set()
        self._marks: set[bytes] = set()
        self._takes_torch: dict[str, set[str]] = {}
        self._gives_and_takes: list[tuple[str, str]] = []
        """Which module of the tree takes torch from which, by their whole names."""
        self._binds_torch: set[str] = set()
        """The whole names of the modules that import torch."""
        self._has_torch: set[str] = set()
        self._has_none: set[str] = set()
        self._taken: set[str] = set()
        self._defined: set[str] = set()
        self._given_to_tests: set[str] = set()
        self._own_is_cuda = False
        self._called: set[str] = set()
        self._beside: set[str] = set()
        self._say_cuda: list[bytes] = []
        self._words_of_cuda: dict[bytes, bool] = {}
        """The words that say CUDA, and whether one file alone has them, which defines a function of that name."""
        self._size = 0
        self._compiled: set[str] = set()
        self._tried_kernels: set[str] = set()
        self._capabilities: set[str] = set()
        self._architectures: set[str] = set()
        self._run_nvidias: set[str] = set()
        self._of_package: dict[str, list[bool]] = {}
        self._give_devices: set[str] = set()
        self._give_others: set[str] = set()
        self._callers = Callers()
        self._spoken = Constants()
        self._files = Files()
        self._constants: set[str] = set()
        self._no_constants: set[str] = set()
        self._lists: set[str] = set()
        self._no_lists: set[str] = set()
        self._strings: set[tuple[str, str]] = set()
        self._runtimes: set[str] = set()
        self._held_devices: dict[str, str] = {}
        self._held_by: Counter[str] = Counter()
        self._of_torch = 0
        """The modules that import torch, tests aside."""
        self._of_torch_cuda: set[str] = set()
        self._bring_tdev: set[str] = set()
        self._know_mps: set[str] = set()
        self._ask_for_others: Counter[str] = Counter()
        self._of_cuda: set[str] = set()
        self._ask_backends = False
        self._put_in_place: set[str] = set()
        self._tries_torch = False
        self._uses_ray = False
        self._imported_tests: set[str] = set()
        self._device_choosers: set[str] = set()
        self._mocked: dict[str, frozenset[str]] = {}
        self._scripted: set[str] = set()
        self._inner: set[str] = set()
        self._staying: set[bytes] = set()
        self._staying_uses: set[bytes] = set()
        self._switches: set[bytes] = set()
        self._built_on: set[str] = set()
        self.holders_seen: set[PurePath] = set()
        """Packages that are called as such that hold torch's tensors on CUDA and the CPU alone."""
        self._holders = False
        self._by_cuda_alone: set[str] = set()
        self._unable: tuple[dict[str, str], dict[str, str]] = {}, {}
        self._chooses = ""
        self._remains = ""
        self._platforms: dict[tuple[PurePath, str], dict[str, str]] = {}
        self._vendors: dict[PurePath, set[str]] = {}
        self._refusing: dict[str, set[str]] = {}
        """The classes of modules for CUDA that cannot be made without it."""

    def see(self, path: PurePath, raw: bytes, top: str, home: PurePath | None = None) -> None:
        """Take a file into account; ``top`` is what an absolute import of it starts with.

        ``home`` is the folder that ``top`` lies in: a checkout is often called as its package.
        """
        self._modules.add(top)
        # A package may put its own folder on the path, and then import what lies there by its name alone.
        if b"sys.path." in raw and b"__file__" in raw:
            self._on_path.add(path.parent)
        if _FROM_A_LIBRARY.search(b"\n" + raw) is not None:
            dotted = {(a.decode(), b.decode()) for a, b in _FROM_A_FOLDER.findall(raw)}
            self._imported_from.append((path.parent, frozenset(dotted)))
        # Each asked once: of thousands of files, to take paths apart is a tenth of the time.
        stem, parent = path.stem, path.parent
        is_package = stem == "__init__"
        own = parent.name if is_package else stem
        self._inside.setdefault(parent.parent if is_package else parent, set()).add(own)
        if b"import *" in raw or _MAY_GIVE_TORCH.search(raw):
            for found in _GIVES_TORCH.finditer(raw):
                source = found[1].decode("ascii", "ignore")
                here = dotted_name(path, top, home)
                self._gives_and_takes.append((imported_from(source, here, is_package), here))
                if not source.strip("."):  # `from . import torch`, of the package around it
                    source = path.parents[min(len(source), len(path.parents)) - 1].name
                if source and source.partition(".")[0] != "torch":
                    self._gives_torch.add(source.rpartition(".")[2])
                    self._takes_torch.setdefault(own, set()).add(source.rpartition(".")[2])
        if b".torch" in raw:
            self._see_reached(raw)
        self._marks.update(mark for mark in (b"pylint: disable", b"noqa") if mark in raw)
        if b"amp" in raw or b"autocast" in raw or b"GradScaler" in raw:
            self._see_amp(raw)
        self._ask_backends = self._ask_backends or b"get_backend" in raw
        self._uses_ray = self._uses_ray or (b" ray" in raw and _IMPORTS_RAY.search(raw) is not None)
        if b"sys.modules" in raw:
            self._put_in_place.update(name.decode() for name in _PUT_IN_PLACE.findall(raw))
        if b"test_" in raw:
            for found in _IMPORTS_A_TEST.finditer(raw):
                self._imported_tests.update(name.decode() for name in _TEST.findall(found[0]))
        if not self._looks_for_staying:
            self._scripted |= _scripted_calls(raw)
        if _binds_torch(raw):
            self._has_torch.add(own)
            self._binds_torch.add(dotted_name(path, top, home))
        else:
            self._has_none.add(own)
        signs = {sign for sign in _SIGNS if sign in raw}
        if self._looks_for_staying and (b"flash_attn" in raw or b"Fused" in raw):
            for found in _TAKES.finditer(b"\n" + raw):
                self._taken.update(name.decode() for name in _TAKEN.findall(found[1]))
        if _has_kernels(raw, signs):
            self._kernels.add(own)
        if (platform := _PLATFORM.search(stem)) is not None:
            beside = self._platforms.setdefault((parent, _PLATFORM.sub("*", stem)), {})
            beside[platform.group().lower()] = f"{parent.name}/{path.name}"
            if b"cuda.is_available" in raw and platform.group().lower() in ("cuda", "gpu"):
                self._refusing[f"{parent.name}/{path.name}"] = {
                    found[1].decode()
                    for found in _OWNER.finditer(raw)
                    if _REFUSES.search(found[0]) is not None
                }
        if parent not in self._folders:
            self._see_folders(path)
        if any(name in raw for name in _HOLDERS_BYTES) and (held := _FROM_A_HOLDER.search(raw)):
            self._holders = True
            if not is_for_tests(path) and (taken := _TAKES_A_HOLDER.search(raw)) is not None:
                self._held_by[(taken[1] or taken[2]).decode()] += 1
            if b"cuda.is_available" in raw and _CHOSEN_AT_THE_MARGIN.search(raw) is not None:
                self._held_devices[own] = holders()[held[1].decode()].called
        if is_package and own in _HOLDERS:
            self.holders_seen.add(parent)
        if is_package and home is not None and _is_called_as_scripts(parent.name):
            self._inner.add(dotted_name(path, top, home))
        tests = is_for_tests(path)
        if b"_cuda" in raw and (tests or any(sign in raw for sign in _SETS_BY_NAME)):
            given = (filter(None, names) for names in _GIVEN_TO_TESTS.findall(raw))
            self._given_to_tests.update(name.decode() for names in given for name in names)
        if b"mps.is_available()" in raw:
            for function in _OF_MARGIN.finditer(raw):
                if b"device" in function[1] and _CHOOSES_MPS.search(function[0]) is not None:
                    self._device_choosers.add(function[1].decode())
        if b"torch" in raw and (b"patch" in raw or b".setattr(" in raw):
            for module, names in mocked_modules(raw):
                self._mocked[module] = self._mocked.get(module, frozenset()) | names
        if not tests:
            self._of_torch += _TAKES_TORCH.search(raw) is not None
            if b"try:" in raw and path.name != "setup.py" and not self._tries_torch:
                self._tries_torch = _in_code(_TRIES_TORCH, b"\n" + raw)
            if self._looks_for_staying:
                self._built_on |= built_on(raw)
                self._by_cuda_alone |= moves_by_cuda_alone(raw)
            else:
                for known, more in zip(self._unable, unable(raw), strict=True):
                    known |= more
            compiled, name = _makes_kernels(raw, signs), ""
            if compiled or not is_package:
                name = dotted_name(path, top, home)
            tried = tuple(tried_kernels(raw))
            if tried:
                module = dotted_name(path, top, home)
                self._tried_kernels.update(f"{module}.{each}" for each in tried)
            if compiled:
                self._compiled.add(name)
                # What keeps its kernels in a folder of its own is nothing but their interface.
                around, inside, _ = name.partition("._triton.")
                if inside and "." in around:
                    self._compiled.add(around)
            if not is_package:
                around = name
                while around := around.rpartition(".")[0]:
                    self._of_package.setdefault(around, []).append(compiled)
                if home is None:
                    self._of_package.setdefault(top, []).append(compiled)
            if _brings_tdev(raw) and not is_script(path, raw):
                self._of_torch_cuda.add(top)
                if _IMPORTS_TDEV.search(raw) is not None or _CALLS_TORCH_CUDA.search(raw):
                    self._bring_tdev.add(own)
            if b"cuda" in raw:
                self._of_cuda.add(top)
            self._ask_for_others[top] += _ASKS_FOR_OTHERS.search(raw) is not None
            if top not in self._know_mps and (b"mps" in raw or b"torch.accelerator" in raw):
                if says_mps(without_prose(raw.decode("latin-1"))):
                    self._know_mps.add(top)
        if not self._looks_for_staying:
            self._callers.see(raw, own, of_tests=tests)
            self._spoken.see(raw, own)
            self._files.see(raw)
        if not self._looks_for_staying and (b"device" in raw or b"DEVICE" in raw):
            self._see_constants(raw)
        if not self._looks_for_staying and b"device" in raw:
            self._annotated(raw)
            if b"self." in raw:
                self._kept_words(raw)
        if b"device" in raw and any(sign in raw for sign in (b"_device", b".device:", b"uple[")):
            promised, others = give_devices(raw.decode("latin-1"))
            self._give_devices |= promised
            self._give_others |= others
        self._runtimes.update(name for name, sign in _TOLD_BY_NAME if sign in raw)
        if b"get_device_capability" in signs:
            self._capabilities.update(n.decode() for n in _CAPABILITY.findall(raw))
            for found in _FUNCTION.finditer(raw):
                if b"get_device_capability" in found[0] and _OF_NVIDIAS.search(found[0]):
                    self._architectures.add(found[1].decode())
        if b"nvidia-smi" in raw:
            for found in _FUNCTION.finditer(raw):
                if b"nvidia-smi" in found[0] and _OF_GPUS.search(found[1]):
                    self._run_nvidias.add(found[1].decode())
        if b"uda" in signs and not self._looks_for_staying:
            self._name_cuda(raw)
        if not signs.isdisjoint(_CUDA_SIGNS):
            self._questions(raw)
            if self._looks_for_staying:
                self._stays(path, raw)

    def _see_reached(self, raw: bytes) -> None:
        """Take into account through which modules a file reaches torch: ``core.torch.cuda``, ``patch("pkg.core.torch.cuda.is_available")``."""
        for found in _REACHES.finditer(raw):
            owner = _REACHED_FROM.search(raw[max(0, found.start() - _OWNERS_REACH) : found.start()])
            if owner is None or owner[1] in _TORCHS_OWN:
                continue
            if owner[1] is not None:
                self._reached |= _called_here(raw, owner[1])
            elif raw[found.end() : found.end() + 1] == b".":
                # `MODULE + ".torch.cuda"`, `f"{core.__name__}.torch.cuda"`, and no name of a file: `path + ".torch"`
                self._reached.add("*")

    def _see_amp(self, raw: bytes) -> None:
        """Take into account from which modules others take a name of ``torch.cuda.amp``."""
        for found in _GIVES_AMP.finditer(raw):
            self._gives_amp.add(found[1].decode("ascii", "ignore").rpartition(".")[2])
        owners: set[bytes] = set()
        for found in _READS_AMP.finditer(raw) if any(s in raw for s in _SIGNS_OF_AMP) else ():
            before = raw[max(0, found.start() - _OWNERS_REACH) : found.start()]
            if (owner := _OWNER_OF_AMP.search(before)) is not None:
                owners.add(owner[1])
        for name in owners - _TORCHS_OWN:
            self._gives_amp |= _called_here(raw, name)

    def _see_constants(self, raw: bytes) -> None:
        """Take into account which variables called after a device hold one, or a list of them, and which something else."""
        for found in _PUT_INTO.finditer(raw) if b"DEVICES" in raw else ():
            if found[2] is None or _LISTED.match(b"[" + found[2] + b"]") is None:
                self._no_lists.add(found[1].decode())
        for found in chain.from_iterable(each.finditer(raw) for each in _CONSTANTS):
            line = raw[raw.rfind(b"\n", 0, found.start()) + 1 : found.start()]
            last = re.split(rb"\W", found[0], maxsplit=1)[0]
            if (before := _NAME_BEFORE.match(line)) is None:
                self._no_lists.add((re.split(rb"\W", line)[-1] + last).decode())
                # Who sets `env.DEVICE` from outside, but for what was there before.
                if line.endswith(b".") and last.isupper() and not _MADE.match(found[1]):
                    again = rb"\b%b[ \t]*=[ \t]*[\w.]+\.%b\b" % (re.escape(found[1].strip()), last)
                    if re.search(again, raw) is None:
                        self._no_constants.add(last.decode())
                continue
            constant = before[2] + last
            if constant.endswith(b"DEVICES"):
                (self._lists if _LISTED.match(found[1]) else self._no_lists).add(constant.decode())
            # At a margin, or in a block there, and nowhere with another value.
            made = _MADE.match(found[1]) is not None
            made = made and (not before[1] or _is_in_a_block_of_the_module(raw, found.start()))
            if made or not _is_of_another_framework(raw):
                (self._constants if made else self._no_constants).add(constant.decode())

    def _see_folders(self, path: PurePath) -> None:
        """Take into account which of the folders around a file are called after a kind of device."""
        for folder in path.parents:
            if folder in self._folders:
                return  # and so are those around it
            self._folders.add(folder)
            if folder.name in VENDORS:
                self._vendors.setdefault(folder.parent, set()).add(folder.name)
            if _PLATFORM.fullmatch(folder.name) is not None:
                beside = self._platforms.setdefault((folder.parent, ""), {})
                beside[folder.name.lower()] = f"{folder.parent.name}/{folder.name}"

    def _name_cuda(self, raw: bytes) -> None:
        """Take into account which functions say CUDA in their name, and who else names them."""
        words: dict[bytes, bool] = {}
        for found in _OF_CUDA.finditer(raw):
            before = _BEFORE.search(raw, max(0, found.start() - 64), found.start())
            name = (before[1] if before is not None else b"") + found[0]
            defines = before is not None and before[0].startswith(b"def ")
            words[name] = words.get(name, False) or defines
        for name, defines in words.items():
            self._words_of_cuda[name] = defines and name not in self._words_of_cuda

    def _with_torch(self) -> frozenset[str]:
        """Return the modules that torch may be taken from: those that import it, and those that take it from them."""
        found = self._has_torch - self._has_none
        # Of such a package `torch` may be a module of its own.
        found -= {folder.name for folder, inside in self._inside.items() if "torch" in inside}
        more = found
        while more:
            more = {
                name
                for name, sources in self._takes_torch.items()
                if name not in found | self._has_torch and not sources.isdisjoint(found)
            }
            found = found | more
        return frozenset(found) | self._with_torch_by_name()

    def _with_torch_by_name(self) -> set[str]:
        """Return the same by their whole names: of one last name there may be several, and only some have torch."""
        if not self._gives_and_takes:
            return set()
        own = {name for name in self._binds_torch if "." in name}
        takers: dict[str, list[str]] = {}
        for giver, taker in self._gives_and_takes:
            takers.setdefault(giver, []).append(taker)
        found, todo = set(own), list(own)
        while todo:
            for taker in takers.get(todo.pop(), ()):
                if taker not in found:
                    found.add(taker)
                    todo.append(taker)
        given = {giver for giver, _ in self._gives_and_takes}
        packages = {folder.name for folder, inside in self._inside.items() if "torch" in inside}
        return {
            name
            for name in found & given
            if "." in name and name.rpartition(".")[2] not in packages
        }

    def see_cells(self, text: str) -> None:
        """Take into account whom a notebook calls."""
        if not self._looks_for_staying:
            raw = text.encode("utf-8", "replace")  # JSON may hold half of a character
            self._callers.see(raw)
            self._files.see(raw)
            self._name_cuda(raw)

    def _annotated(self, raw: bytes) -> None:
        """Take into account which classes annotate a device as a string."""
        heads: list[re.Match[bytes]] | None = None
        for found in _STRING_DEVICE.finditer(raw):
            before = _ATTRIBUTE_BEFORE.search(raw[max(0, found.start() - 120) : found.start()])
            if before is None:
                continue
            heads = list(_CLASS.finditer(raw)) if heads is None else heads
            head = next((h for h in reversed(heads) if h.start() < found.start()), None)
            # Not of a function that comes after the class.
            if head is not None and not _AT_THE_MARGIN.search(raw, head.end(), found.start()):
                self._strings.add((head[1].decode(), before[1].decode() + "device"))

    def _kept_words(self, raw: bytes) -> None:
        """Take into account which classes keep what a person typed as their device: ``self.device = cfg.device``."""
        heads: list[re.Match[bytes]] = []
        kept: dict[tuple[str, str], bool] = {}
        for found in _KEPT_DEVICE.finditer(raw):
            before = _OF_SELF.search(raw[max(0, found.start() - 60) : found.start()])
            if before is None:
                continue
            heads = heads or list(_CLASS.finditer(raw))
            owner = next((h[1] for h in reversed(heads) if h.start() < found.start()), None)
            if owner is not None:
                key = owner.decode(), before[1].decode() + "device"
                kept[key] = kept.get(key, True) and _is_a_word(raw, found)
        self._strings |= {key for key, words in kept.items() if words}

    def _with_heirs(self) -> set[str]:
        """Return ``Class.attribute`` of each class that holds a word, inherits it, or works with those of its heirs."""
        if not self._strings:
            return set()
        classes = self._callers.classes.items()
        bases = {name: {base for _, _, of in places for base in of} for name, places in classes}
        heirs: dict[str, set[str]] = {}
        for name, of in bases.items():
            for base in of:
                heirs.setdefault(base, set()).add(name)
        below = _reached(self._strings, heirs)
        # What a class does not set itself, those that inherit from it do.
        own = {base for base in bases if base in heirs}
        above = _reached(self._strings, {name: of & own for name, of in bases.items()})
        return {f"{name}.{attr}" for name, attr in below | above}

    def _stays(self, path: PurePath, raw: bytes) -> None:
        units, used, switches = staying(raw)
        self._staying |= units
        self._staying_uses |= used
        if units and not is_for_tests(path) and not is_script(path, raw):
            name = f"{path.parent.name}/{path.name}"
            self._remains = max(self._remains, name)
            if b"cuda.is_available" in raw:
                self._chooses = max(self._chooses, name)
        self._switches |= switches

    def _questions(self, raw: bytes) -> None:
        if any(answer in raw for answer in _ANSWERS):
            for found in _DEFINED.finditer(raw):
                self._defined.add((found[1] or found[2]).decode("ascii", "ignore"))
        self._own_is_cuda = self._own_is_cuda or any(
            _PROPERTY.search(raw, max(0, found.start() - 200), found.start()) is not None
            for found in _OWN_IS_CUDA.finditer(raw)
        )
        self._say_cuda.append(raw)
        self._size += len(raw)
        if self._size > _KEPT:
            self._uses(b"")

    def _uses(self, *names: bytes) -> None:
        """Take the uses into account in the texts kept that hold one of these names."""
        for raw in self._say_cuda:
            if any(name in raw for name in names):
                used, asked = uses(raw)
                self._called |= used
                self._beside |= asked
        self._say_cuda.clear()
        self._size = 0

    def _works_with(self) -> str:
        """Return the package which knows CUDA and the CPU alone that the tree is written for, if one is."""
        own = self._modules.union(*self._inside.values())
        for name, count in self._held_by.most_common(1):
            if count >= _SEVERAL and count * _OF_SO_MANY >= self._of_torch and name not in own:
                return holders()[name].called
        return ""

    def _started_from(self) -> set[PurePath]:
        """Return the folders around scripts that import modules which lie there by their names from there: ``training.data``.

        A package that lies there, too, is no library that is called so.
        """
        found = set()
        for home, dotted in self._imported_from:
            for folder in (home, *home.parents):
                around = self._inside.get(folder, set())
                if any(
                    top in around and name in self._inside.get(folder / top, set())
                    for top, name in dotted
                    if top not in LIBRARIES
                ):
                    found.add(folder)
        return found

    def _promise_alone(self, name: str) -> bool:
        """Tell whether all functions of a name promise several things, and are annotated so."""
        defined = re.compile(rb"def[ \t]+" + name.encode() + rb"[ \t]*\(")
        said = re.compile(defined.pattern + rb"(?:[^()]|\([^()]*\))*\)\s*->\s*[Tt]uple\[")
        texts = [raw for raw in self._callers.every if name.encode() in raw]
        return bool(texts) and all(
            len(defined.findall(raw)) == len(said.findall(raw)) for raw in texts
        )

    @without_collector()
    def tree(self) -> ProgramTree:
        """Return what is known of the tree."""
        # What nobody defines need not be looked for, and few files use what somebody does.
        self._uses(*(name.encode() for name in self._defined))
        held = {
            name: had
            for name, had in self._of_package.items()
            if (4 if _OF_KERNELS.search(name) else 2) * sum(had) > len(had)
        }
        # One inside another, too, of which all is kernels: `from pkg.layer import Layer`, which its `__init__` takes from those.
        packages = {n for n, had in held.items() if n in self._modules or "." in n and all(had)}
        rooms = {name for name, had in held.items() if "." in name and len(had) >= _SEVERAL}
        platforms = [
            beside[word]
            for beside in self._platforms.values()
            for word in ("cuda", "gpu")
            if word in beside and not beside.keys() <= {"cuda", "gpu"}
            if word == "cuda" or _OF_DEVICES.search(beside[word])
        ]
        platforms += [
            f"{around.name}/{vendor}"
            for around, vendors in self._vendors.items()
            if len(vendors) == len(VENDORS)
            for vendor in vendors
        ]
        promised = frozenset(
            each
            for each in self._give_devices - self._give_others
            if "[" not in each or self._promise_alone(each.partition("[")[0])
        )
        constants = frozenset(self._constants - self._no_constants)
        paths = self._on_path | self._started_from()
        modules = frozenset(self._modules.union(*(self._inside[d] for d in paths)))
        every = self._callers.every
        questions, decorators = cudas_answers(every, self._beside & self._defined)
        stems = frozenset().union(*self._inside.values())
        known = Known(
            words=frozenset(self._with_heirs()),
            promised=promised,
            constants=constants,
            lists=frozenset(self._lists - self._no_lists),
            spoken=self._spoken.words(every),
            modules=modules,
            choices_stay=True,
            questions=questions,
        )
        chosen = chosen_constants(every, known, self._files.set_on_others)
        known = replace(known, constants=constants | chosen)
        told, words = self._callers.told(known)
        self._strings |= {(owner, attr) for owner, _, attr in (w.rpartition(".") for w in words)}
        words = frozenset(self._with_heirs())
        silent, makers, speaking = silent_functions(self._callers.every)
        return ProgramTree(
            modules=modules,
            kernels=frozenset(self._kernels),
            kernel_modules=frozenset(self._compiled | packages),
            tried_kernels=frozenset(self._tried_kernels),
            kernel_rooms=frozenset(rooms),
            platforms=frozenset(platforms),
            cudas_classes=frozenset().union(*(self._refusing.get(p, ()) for p in platforms)),
            capabilities=frozenset(self._capabilities),
            architectures=frozenset(self._architectures),
            run_nvidias=frozenset(self._run_nvidias),
            gives_torch=frozenset(self._gives_torch),
            reached=frozenset(self._reached),
            gives_amp=frozenset(self._gives_amp),
            marked_for_pylint=self._marks == {b"pylint: disable"},
            torch_of=self._with_torch(),
            taken=frozenset(self._taken),
            give_devices=promised,
            told_devices=told,
            device_constants=known.constants,
            device_lists=known.lists,
            device_words=known.spoken,
            word_devices=words,
            runtimes=frozenset(self._runtimes),
            held_devices=dict(self._held_devices),
            works_with=self._works_with(),
            of_torch_cuda=frozenset(self._of_torch_cuda),
            bring_tdev=frozenset(self._bring_tdev - self._kernels),
            know_mps=frozenset(self._know_mps),
            run_on_others=frozenset(
                top for top, files in self._ask_for_others.items() if files >= _OF_SEVERAL
            ),
            names_cuda=frozenset(self._of_cuda),
            ask_backends=self._ask_backends,
            put_in_place=frozenset(self._put_in_place),
            tries_torch=self._tries_torch,
            uses_ray=self._uses_ray,
            imported_tests=frozenset(self._imported_tests),
            device_choosers=frozenset(self._device_choosers),
            mocked=self._mocked,
            scripted=frozenset(self._scripted),
            silent_modules=silent_modules(self._callers.every, speaking),
            silent_functions=silent,
            silent_makers=makers,
            own_compilers=own_compilers(self._callers.every),
            inner_packages=frozenset(self._inner),
            staying=frozenset(name.decode() for name in self._staying),
            staying_uses=frozenset(name.decode() for name in self._staying_uses),
            chooses=self._chooses,
            remains=self._remains,
            built_on=frozenset(self._built_on),
            cuda_choosers=_cuda_choosers(every) if self._holders else frozenset(),
            by_cuda_alone=frozenset(self._by_cuda_alone),
            unable=with_users(*self._unable, self._callers.every, stems),
            handing=handing_on(self._callers.every, modules),
            switches=frozenset(name.decode() for name in self._switches),
            set_on_others=self._files.set_on_others,
            private_of_others=self._files.private_of_others,
            of_families=of_families(self._callers.every, self._callers.classes),
            called=frozenset(self._called & self._defined),
            beside=frozenset(self._beside & self._defined),
            stems=stems,
            given_to_tests=frozenset(self._given_to_tests),
            own_is_cuda=self._own_is_cuda,
            cudas_questions=questions,
            cudas_decorators=decorators,
            cuda_alone=frozenset(
                name.decode()
                for name, alone in self._words_of_cuda.items()
                if alone and name != b"cuda"
            ),
        )


_AS = re.compile(rb" as[ \t]+(\w+)")  # begins with what `re` finds many times faster than a name
_LAST_NAME = re.compile(rb"\w+(?=[ \t]*\Z)")
_OF_NO_TREE = (b"torch.", b"nn.", b"F.", b"math.", b"np.", b"numpy.")
_NAMES_A_DEVICE = re.compile(rb"[\"']cuda|\.cuda\(|\.is_cuda\b|\btorch\.(?:device\(|cuda\.)")
# Without one of these there is none.
_OF_A_DEVICE = (b"cuda", b"torch.device(")
# What stands further in, with all that is in three quotes: prose may stand at the margin.
_BODY = rb"[^\n]*\n(?:[ \t)#][^\n\"']*(?:(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|[\"'])[^\n\"']*)*(?:\n|\Z)|\r?\n)*"
_OWNER = re.compile(rb"^class[ \t]+(\w+)" + _BODY, re.MULTILINE)
# As its objects are made, or its first method is called.
_REFUSES = re.compile(
    rb"\bif[ \t]+not[ \t]+torch\.cuda\.is_available\(\):\s*raise\b|\bassert[ \t]+torch\.cuda\.is_available\("
)
# `if torch.backends.mps.is_available(): return "mps"`, and the like.
_CHOOSES_MPS = re.compile(
    rb"\bmps\.is_available\(\)[^\n]*:\n[ \t]+return\b[^\n]*[\"']mps|[\"']mps[\"'][^\n]*\bif\b[^\n]*\bmps\.is_available\("
)
# `@patch("pkg.mod.torch")`, `monkeypatch.setattr("pkg.mod.torch", …)`, `patch.object(mod, "torch")`.
_MOCKED = re.compile(
    rb"\b(?:patch|setattr)\(\s*[\"']([\w.]+)\.torch[\"']"
    rb"|\b(?:patch\.object|setattr)\(\s*(?:\w+\.)*(\w+)\s*,\s*[\"']torch[\"']"
)
_OF_A_MOCK = re.compile(
    rb"torch\.(cuda\.[\w.]+?)\.(?:return_value|side_effect|assert_\w+|call\w*|mock_calls)\b"
)
_OF_A_FAKE = re.compile(
    rb"\b(is_available|device_count|current_device|set_device|empty_cache)[ \t]*=(?!=)"
)


def _cuda_choosers(texts: Iterable[bytes]) -> frozenset[str]:
    """Return the functions at a margin that give a device, which they choose by asking whether there is CUDA."""
    asking = (raw for raw in texts if b"cuda.is_available(" in raw)
    functions = (found for raw in asking for found in _OF_MARGIN.finditer(raw))
    return frozenset(
        found[1].decode()
        for found in functions
        if b"device" in found[1] and b"cuda.is_available(" in found[0] and b"return " in found[0]
    )


def mocked_modules(raw: bytes) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the modules of which a test replaces ``torch`` as a whole, and torch's names that it has answers for, or asserts."""
    modules = [(found[1] or found[2]).decode() for found in _MOCKED.finditer(raw)]
    if modules:
        names = {found.decode() for found in _OF_A_MOCK.findall(raw)}
        names = names or {f"cuda.{found.decode()}" for found in _OF_A_FAKE.findall(raw)}
        for module in modules:
            yield module, frozenset(f"torch.{name}" for name in names)


# `sys.modules["apex"] = …`, `patch.dict("sys.modules", {"apex": …})`, `monkeypatch.setitem(sys.modules, "apex", …)`.
_PUT_IN_PLACE = re.compile(rb"\bsys\.modules[\"']?\s*(?:\[|,\s*\{?|\.setdefault\()\s*[\"'](\w+)")
_IMPORTS_A_TEST = re.compile(
    rb"^[ \t]*(?:from|import)[ \t](?:[^\n(]*\([^)]*\)|[^\n]*)", re.MULTILINE
)
_TEST = re.compile(rb"\btest_\w+")
# Torch itself, and what is done without it: `except ImportError:`, and no error then.
_TRIES_TORCH = re.compile(
    rb"\ntry:[^\n]*\n(?:[ \t]+(?:import|from)[ \t][^\n]*\n)*?"
    rb"[ \t]+(?:import[ \t]+(?:torch|tdev)(?:[ \t]+as[ \t]+\w+)?[ \t\r]*(?:[,#][^\n]*)?\n|from[ \t]+(?:torch|tdev)[ \t]+import\b)"
    rb"(?:[^\n]*\n)??(?:[ \t][^\n]*\n|\r?\n)*?"
    rb"except\b(?:[^\n:]*\b(?:ImportError|ModuleNotFoundError|Exception)\b[^\n:]*|[ \t]*):[^\n]*\n[ \t]+(?![ \t]|raise\b)"
)
_IMPORTS_RAY = re.compile(rb"(?:import|from)[ \t]+ray\b")
_OTHER_CLASS = re.compile(rb"\b[A-Z]\w+")


def _names_a_device(text: bytes) -> bool:
    return any(s in text for s in _OF_A_DEVICE) and _NAMES_A_DEVICE.search(text) is not None


def silent_modules(texts: Iterable[bytes], speaking: Collection[bytes]) -> frozenset[str]:
    """Return the classes with a ``forward`` that name no device, nor do those that they speak of, nor functions they call.

    ``*`` stands for every one, where nothing names any. Nothing is looked for where nothing is compiled.

    Args:
        speaking: the functions at a margin that name one, or call what does.
    """
    texts = [raw for raw in texts if b"jit.script(" in raw or b"def forward" in raw]
    if not any(b"jit.script(" in raw for raw in texts):
        return frozenset()
    speak_of: dict[str, set[bytes]] = {}
    naming: set[str] = set()
    for raw in texts:
        for owner in _OWNER.finditer(raw):
            name, text = owner[1].decode(), owner[0]
            if b"def forward" in text:
                speak_of.setdefault(name, set()).update(_OTHER_CLASS.findall(text))
                if _names_a_device(text) or not _called(text)[0].isdisjoint(speaking):
                    naming.add(name)
    while more := {
        name
        for name, others in speak_of.items()
        if name not in naming and not naming.isdisjoint(other.decode() for other in others)
    }:
        naming |= more
    silent = frozenset(speak_of.keys() - naming)
    quiet = not any(_names_a_device(raw) or _compiles(raw, speaking) for raw in texts)
    return silent | {"*"} if quiet else silent


_OF_MARGIN = re.compile(rb"^def[ \t]+(\w+)" + _BODY, re.MULTILINE)
_SCRIPTED = re.compile(rb"\bjit\.script\(\s*(?:\w+\.)*(\w+)")


def _compiles(raw: bytes, speaking: Collection[bytes]) -> bool:
    """Tell whether a text has one of these functions compiled, or calls one."""
    used = _called(raw)[0].union(_SCRIPTED.findall(raw))
    return not used.isdisjoint(speaking)


# All but names, dots and opening brackets as spaces.
_NAMES_AND_BRACKETS = bytes(
    byte if chr(byte) in "_.(" or byte < 128 and chr(byte).isalnum() else ord(" ")
    for byte in range(256)
)
# What gives a module that the text does not name: an item of a table, an attribute by its name, another package's.
_GIVES_WHAT_IS_NOT_SEEN = re.compile(
    rb"[\])][ \t]*\(|\b(?:getattr|eval|globals|import_module|partial)\(|\b(?:self|cls)\b"
    rb"|(?<![\w.])(?!(?:nn|torch|F|np|math|log|logger|logging|warnings|os)\.)[a-z]\w*(?:\.\w+)*\."
    rb"(?!(?:append|extend|insert|items|keys|values|get|pop|split|format|join|lower|upper|shape|size)\()\w+\("
)
_FROM_TORCH = re.compile(rb"\nfrom[ \t]+torch\b[\w.]*[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)")
_NAME = re.compile(rb"\w+")
_OF_PYTHON = frozenset(
    b"len range enumerate zip list tuple dict set int float str bool max min sum abs isinstance reversed sorted print "
    b"ValueError NotImplementedError TypeError RuntimeError KeyError AssertionError OrderedDict if for in while return and "
    b"or not elif else assert raise with yield lambda Exception".split()
)


def _called(text: bytes) -> tuple[set[bytes], set[bytes]]:
    """Return the names that a text calls by themselves, and the last parts of dotted ones; many times faster than by a pattern."""
    parts = text.translate(_NAMES_AND_BRACKETS).split(b"(")[:-1]
    names = {name for part in parts if (name := part.rpartition(b" ")[2])}
    dotted = {name for name in names if b"." in name}
    # `more.helper(x)` of another module, or a method.
    others = {name.rpartition(b".")[2] for name in dotted if not name.startswith(_OF_NO_TREE)}
    return names - dotted, others


def _renamed(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield what a text calls by another name, and that name."""
    for found in _AS.finditer(raw):
        named = _LAST_NAME.search(raw, raw.rfind(b"\n", 0, found.start()) + 1, found.start())
        if named is not None:
            yield named[0], found[1]


def silent_functions(
    texts: Sequence[bytes],
) -> tuple[frozenset[str], frozenset[str], frozenset[bytes]]:
    """Return the functions at a margin that name no device, nor does what they call of the tree; those that make modules; and all others.

    The second make layers of ``nn`` and call nothing that is not seen: no table of classes, and no other package but torch.
    Nothing is looked for where nothing is compiled.
    """
    if not any(b"jit.script(" in raw for raw in texts):
        return frozenset(), frozenset(), frozenset()
    calls: dict[bytes, set[bytes]] = {}
    asks: dict[bytes, set[bytes]] = {}  # with methods, and functions by other names
    functions: set[bytes] = set()
    naming: set[bytes] = set()
    unseen: set[bytes] = set()
    for raw in texts:
        torchs = {word for line in _FROM_TORCH.findall(b"\n" + raw) for word in _NAME.findall(line)}
        renamed = list(_renamed(raw))
        for pattern in (_OF_MARGIN, _OWNER):
            for found in pattern.finditer(raw):
                name, text = found[1], found[0]
                used, others = _called(text)
                calls.setdefault(name, set()).update(used - torchs)
                others |= {named for named, alias in renamed if alias in used}
                asks.setdefault(name, set()).update(used - torchs, others)
                if pattern is _OF_MARGIN:
                    functions.add(name)
                    body = text.partition(b"\n")[2]
                    if b"nn." not in text or _GIVES_WHAT_IS_NOT_SEEN.search(body) is not None:
                        unseen.add(name)
                if _names_a_device(text):
                    naming.add(name)
    while more := {n for n, others in asks.items() if n not in naming and others & naming}:
        naming |= more
    seen = _OF_PYTHON | calls.keys()
    unseen |= {name for name in functions if not calls[name] <= seen}
    while more := {n for n in functions if n not in unseen and calls[n] & unseen}:
        unseen |= more
    silent = functions - naming
    makers = silent - unseen
    names = frozenset(n.decode() for n in silent), frozenset(n.decode() for n in makers)
    return *names, frozenset(functions & naming)


def own_compilers(texts: Sequence[bytes]) -> frozenset[str]:
    """Return the functions that have something compiled by ``torch.jit.script``, and that no other file speaks of."""
    found = {
        function[1]: number
        for number, raw in enumerate(texts)
        if b"jit.script(" in raw
        for function in _OF_MARGIN.finditer(raw)
        if b"jit.script(" in function[0]
    }
    return frozenset(
        name.decode()
        for name, number in found.items()
        if not any(name in raw for at, raw in enumerate(texts) if at != number)
    )


_SEVERAL = 4
"""The modules of a package, most of which hold kernels, that make all of it theirs; and those for another package, likewise."""
_OF_SO_MANY = 6
"""The modules with torch of which one imports a package that knows few devices, where all are written for it."""
_KEPT = 64 << 20
"""The bytes of texts that are kept until it is known what is looked for in them."""


def _makes_kernels(raw: bytes, signs: set[bytes]) -> bool:
    """Tell whether a file holds kernels for CUDA itself, or is nothing without a package of them."""
    if b"CDLL(" in raw and b"c_void_p(" in raw and b".data_ptr()" in raw:
        return True  # which is told where tensors lie
    if signs.isdisjoint(_KERNEL_SIGNS):
        return False
    if any(sign in raw for sign in _MAKES_KERNELS):
        code = without_prose(raw.decode("latin-1")).encode("latin-1")
        if any(sign in code for sign in _MAKES_KERNELS):
            return True
    if _IMPORTS_KERNELS.match(b"\n" + raw[:200]) is not None:
        return True  # by its first line
    return any(_in_code(pattern, raw) for pattern in (*_CALLS_KERNELS, _IMPORTS_KERNELS))


def is_for_tests(path: PurePath) -> bool:
    """Tell whether a file is a test or a benchmark, by its name or that of a folder around it."""
    if _TEST_NAME.match(path.name) is not None:
        return True
    return any(_TEST_FOLDER.match(part) for part in path.parts[-4:-1])


def is_test(path: PurePath) -> bool:
    """Tell whether a file is a test, or there for tests alone: a benchmark is none."""
    if path.name == "conftest.py" or _OF_TESTS.match(path.name) is not None:
        return True
    return any(part in ("test", "tests") for part in path.parts[-4:-1])


def is_of_cuda(tree: ProgramTree | None, filename: str) -> bool:
    """Tell whether a file is a module, and no test, of a package that names CUDA: its tensors may lie there."""
    path = PurePath(filename)
    if tree is None or is_for_tests(path):
        return False
    return not tree.names_cuda.isdisjoint(path.parts[:-1])


_IMPORTS_TDEV = re.compile(rb"^(?:import|from)[ \t]+tdev\b", re.MULTILINE)


# What is rewritten wherever it is reached; a question may stay, and a module that has nothing else imports no tdev.
_CALLS_TORCH_CUDA = re.compile(rb"torch\.cuda\.(?!is_|get_|device_count\b|current_device\b)\w")


def _brings_tdev(raw: bytes) -> bool:
    """Tell whether a file will import tdev, or does: a second run finds what the first one did."""
    return b"torch.cuda." in raw or b"tdev" in raw and _IMPORTS_TDEV.search(raw) is not None


_STARTS = b"\nif __name__ == "
_SCRIPTS = re.compile(r"(?:examples?|scripts?|tools|demos?|tutorials?)\Z")


def is_script(path: PurePath, raw: bytes) -> bool:
    """Tell whether a file is a program, by its text or by a folder around it: others take no devices from it."""
    starts = _STARTS in raw or raw.startswith(_STARTS[1:])
    return starts or any(map(_SCRIPTS.match, path.parts[-4:-1]))


def _called_here(raw: bytes, name: bytes) -> set[str]:
    """Return a name with those of the modules that a file imports by it: ``import pkg.core as c``."""
    modules = re.findall(rb"(\w+)[ \t]+as[ \t]+" + name + rb"\b", raw)
    return {each.decode("ascii", "ignore") for each in (name, *modules)}


def _reached(known: set[tuple[str, str]], ways: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """Return what is known of classes, and of those that a way leads to from them."""
    found, todo = set(known), list(known)
    while todo:
        name, attr = todo.pop()
        more = {(other, attr) for other in ways.get(name, ())} - found
        found |= more
        todo += more
    return found


def _is_of_another_framework(raw: bytes) -> bool:
    return _SAYS_TORCH.search(raw) is None and _ANOTHER_FRAMEWORK.search(raw) is not None


def _is_in_a_block_of_the_module(raw: bytes, at: int) -> bool:
    """Tell whether an indented line stands below an ``if`` or the like at the margin, and in no function."""
    while (end := raw.rfind(b"\n", 0, at)) >= 0:
        at = end
        line = raw[raw.rfind(b"\n", 0, end) + 1 : end]
        if _OPENS_A_SCOPE.match(line):
            return False
        if line[:1].strip(b" \t\r#)]}"):
            return _BLOCK.match(line) is not None
    return False


def _is_called_as_scripts(name: str) -> bool:
    return _TEST_FOLDER.match(name) is not None or _SCRIPTS.match(name) is not None


def imported_from(written: str, here: str, is_package: bool) -> str:
    """Return the whole name of the module that ``from … import`` names in ``here``; ``is_package`` if that is a package."""
    named = written.lstrip(".")
    dots = len(written) - len(named)
    if not dots:
        return named
    around = here.split(".")
    kept = around[: len(around) - dots + is_package]
    return ".".join([*kept, *filter(None, [named])])


def dotted_name(path: PurePath, top: str, home: PurePath | None) -> str:
    """Return the name by which a module is imported whose outermost package is ``top``."""
    around = path.parts[:-1] if home is None else path.parts[len(home.parts) : -1]
    parts = [*around, *([] if path.stem == "__init__" else [path.stem])]
    start = parts.index(top) if top in parts else len(parts) - 1
    return ".".join(parts[start:])


def _has_kernels(raw: bytes, signs: set[bytes]) -> bool:
    imported, decorated = _KERNELS
    if imported.match(b"\n" + raw[:200]) or _in_code(imported, raw):
        return True
    if (b"triton" in signs or b"uda" in signs) and _in_code(decorated, raw):
        return True
    return any(pattern.search(raw) for sign in signs for pattern in _EXTENSIONS.get(sign, ()))


def _in_code(pattern: re.Pattern[bytes], raw: bytes) -> bool:
    """Tell whether a pattern is found outside of comments and of what is in three quotes."""
    if pattern.search(raw) is None:
        return False
    return pattern.search(without_prose(raw.decode("latin-1")).encode("latin-1")) is not None


def uses(raw: bytes) -> tuple[set[str], set[str]]:
    """Return the names that say CUDA or GPU and are used, and those asked beside other accelerators."""
    used: set[str] = set()
    asked: set[str] = set()
    arms: bool | None = None
    for line in raw.splitlines():
        if not (b"uda" in line or b"CUDA" in line or b"gpu" in line or b"GPU" in line):
            continue
        if _BINDS.match(line):
            continue
        names = {
            found.group().decode("ascii", "ignore")
            for found in _WORD.finditer(line)
            if not line[found.end() :].lstrip().startswith(b"=") or b"==" in line
        }
        used |= names
        if names and b"if" in line:
            if arms is None:
                arms = _ARMS.search(raw) is not None or _ARM_IN_LINE.search(raw) is not None
            asked |= names if arms else set()
    return used, asked
