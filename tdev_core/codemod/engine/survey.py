"""Reads off many files, by their bytes alone, what a rule asks about beyond its own file.

One pass over the tree before the first file is rewritten: who imports the name ``torch`` from whom, which
functions answer whether there is CUDA and who asks them, which modules hold kernels. Names stand for their
last parts, so that an answer may be yes too often and never no too often.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from tdev_core.codemod.engine.api import ProgramTree

_GIVES_TORCH = re.compile(
    rb"from[ \t]+([.\w]+)[ \t]+import[ \t]*(?:\([^)]*?|[\w, \t]*?)\btorch[ \t]*(?:[,)\r\n#]|\Z)"
)
_PACKAGES = (
    "triton|cupy|cupyx|pycuda|pynvml|py3nvml|apex|flash_attn|xformers|tensorrt|torch_tensorrt|"
    "transformer_engine|deep_ep|causal_conv1d|mamba_ssm"
)
# Each begins with what is rare in a text, which `re` looks for many times faster than for `^`.
KERNELS = (
    rf"\n(?:import|from)[ \t]+(?:{_PACKAGES})\b",
    r"@(?:triton\.(?:jit|autotune)|cuda\.jit)\b",
)
_KERNELS = tuple(re.compile(pattern.encode()) for pattern in KERNELS)
_EXTENSIONS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"load_inline\(|cpp_extension\b",
        rb"import[ \t]+_C\b",
        rb"\._C[ \t]+import",
        rb"torch\.ops\.(?!aten|prim)",
    )
)
_EXTENSION_SIGNS = (b"load_inline", b"cpp_extension", b"_C", b"torch.ops.")
_DEFINED = re.compile(
    rb"^[ \t]*def[ \t]+(\w*(?:[cC]uda|CUDA|[gG]pu|GPU)\w*)[ \t]*\("
    rb"|^(\w*(?:CUDA|GPU|cuda|gpu)\w*)[ \t]*(?::[^=\n]+)?=[^\n]*(?:is_available|device_count)\(",
    re.MULTILINE,
)
_ANSWERS = (b"cuda.is_available", b"cuda.device_count")
_WORD = re.compile(rb"\w*(?:[cC]uda|CUDA|[gG]pu|GPU)\w*")
_OTHERS = rb"mps|xpu|npu|hpu|mlu|musa|mtia|xla|tpu"
_ARMS = re.compile(rb"^[ \t]*(?:el)?if\b[^\n]*(?:\b|_)(?:" + _OTHERS + rb")(?:\b|_)", re.MULTILINE)
_ARM_IN_LINE = re.compile(rb"\belse\b[^\n]*\bif\b[^\n]*(?:\b|_)(?:" + _OTHERS + rb")(?:\b|_)")
_BINDS = re.compile(rb"[ \t]*(?:def|class|from|import|global|nonlocal)\b|[ \t]*[\"']")


class Survey:
    """Facts of the files seen so far."""

    def __init__(self) -> None:
        self._modules: set[str] = set()
        self._kernels: set[str] = set()
        self._gives_torch: set[str] = set()
        self._defined: set[str] = set()
        self._called: set[str] = set()
        self._beside: set[str] = set()
        self._say_cuda: list[bytes] = []
        self._size = 0

    def see(self, path: PurePath, raw: bytes, top: str) -> None:
        """Take a file into account; ``top`` is what an absolute import of it starts with."""
        self._modules.add(top)
        if b"torch" in raw:
            for found in _GIVES_TORCH.finditer(raw):
                source = found[1].decode("ascii", "ignore").rstrip(".")
                if source and not source.startswith("torch"):
                    self._gives_torch.add(source.rpartition(".")[2])
        if _has_kernels(raw):
            self._kernels.add(path.parent.name if path.stem == "__init__" else path.stem)
        if b"uda" in raw or b"CUDA" in raw or b"gpu" in raw or b"GPU" in raw:
            self._questions(raw)

    def _questions(self, raw: bytes) -> None:
        if any(answer in raw for answer in _ANSWERS):
            for found in _DEFINED.finditer(raw):
                self._defined.add((found[1] or found[2]).decode("ascii", "ignore"))
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

    def tree(self) -> ProgramTree:
        """Return what is known of the tree."""
        # What nobody defines need not be looked for, and few files use what somebody does.
        self._uses(*(name.encode() for name in self._defined))
        return ProgramTree(
            modules=frozenset(self._modules),
            kernels=frozenset(self._kernels),
            gives_torch=frozenset(self._gives_torch),
            called=frozenset(self._called & self._defined),
            beside=frozenset(self._beside & self._defined),
        )


_KEPT = 64 << 20
"""The bytes of texts that are kept until it is known what is looked for in them."""


def _has_kernels(raw: bytes) -> bool:
    if any(pattern.search(raw) for pattern in _KERNELS) or _KERNELS[0].match(b"\n" + raw[:200]):
        return True
    return any(sign in raw for sign in _EXTENSION_SIGNS) and any(
        pattern.search(raw) for pattern in _EXTENSIONS
    )


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
