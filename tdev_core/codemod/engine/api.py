"""What the runner and the engine say to each other.

The engine is one pure function, :func:`rewrite`: text in, text, edits and findings out. It
reads no files, imports no torch, and imports libcst only when :func:`rewrite` is called, so
that :func:`may_concern` can turn most of a tree away for the price of a read.

Invariants:

- the result's ``code`` is the source with ``edits`` applied; nothing outside the edits'
  spans differs by a byte;
- lines and columns are 1-based, columns count characters (not bytes), end columns are
  exclusive;
- ``rewrite(rewrite(s).code).code == rewrite(s).code``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

Style = Literal["explicit", "alias", "accelerator"]
Severity = Literal["error", "warning", "note"]
Parameters = tuple[tuple[str, "int | None"], ...]

STYLES: tuple[Style, ...] = ("explicit", "alias", "accelerator")


@dataclass(frozen=True)
class Options:
    """How to rewrite: the style of the result, and whether findings leave comments.

    ``style="accelerator"`` is ``--target accelerator``: upstream's generic APIs, no tdev.
    ``annotate`` adds ``# tdev: <rule>: <message>`` after each line that has an error or a
    warning; a line that carries such a comment already is left alone.
    """

    style: Style = "explicit"
    annotate: bool = False


@dataclass(frozen=True)
class Replacement:
    """A generic spelling of one ``torch.cuda`` name.

    ``parameters`` maps the parameters of the ``torch.cuda`` function to those of the
    replacement: a name, ``"/0"`` for a positional-only parameter at that position, or
    ``None`` for one the replacement does not have (a call that passes it is reported).
    """

    name: str
    parameters: Mapping[str, str | None] = field(default_factory=dict)
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Names:
    """Facts about torch, given in so that the engine needs no torch.

    Dotted names are the public ones (``torch.cuda.synchronize``). A position of ``None``
    means keyword-only; positions of methods do not count ``self``.
    """

    routed: frozenset[str]
    device_params: Mapping[str, Parameters]
    device_methods: Mapping[str, Parameters]
    classes: frozenset[str]
    accelerator: Mapping[str, Replacement]
    modules: frozenset[str]
    version: str = ""

    @classmethod
    def load(cls, path: str | Path | None = None) -> Names:
        """Read a names file; without a path, the one shipped beside the engine.

        Raises ``ValueError`` with the file and the entry for a file of another shape.
        """
        where = Path(path) if path is not None else Path(__file__).with_name("names.json")
        return _load(where)


@dataclass(frozen=True)
class Edit:
    """One replaced span: ``before`` stood there, ``after`` does now."""

    rule: str
    line: int
    column: int
    end_line: int
    end_column: int
    before: str
    after: str


@dataclass(frozen=True)
class Finding:
    """Something a person has to look at.

    ``severity``: ``error`` for what no backend but CUDA can do, ``warning`` for what the
    engine cannot decide, ``note`` for what it left alone on purpose. ``docs`` is a path below
    ``docs/codemod/`` with an anchor.
    """

    rule: str
    line: int
    column: int
    message: str
    severity: Severity
    docs: str


@dataclass(frozen=True)
class Result:
    """The new text of one file, how it came about, and what is left for a person."""

    code: str
    edits: tuple[Edit, ...] = ()
    findings: tuple[Finding, ...] = ()
    statements: tuple[int, ...] = field(default=(), compare=False, repr=False)
    """The offsets at which an outermost statement of the old text starts a line; empty if unknown."""


@dataclass(frozen=True)
class Rule:
    """A rule's identity and its words; ``doc`` is what the rule's page says."""

    id: str
    title: str
    doc: str
    severity: Severity | None
    """The severity of its findings; None for a rule that only edits."""


class SyntaxError_(ValueError):
    """The source is not Python 3 as libcst knows it; ``line`` and ``column`` are 1-based."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class WholeTextNeeded(Exception):
    """A rule asks about text that was left out before the file was parsed."""


# A file that mentions one of these is read closely; ``cuda`` alone is enough (a file may only hold
# `"cuda" in str(device)`), ``torch`` alone is not.
WORDS = (
    "cuda CUDA nccl NCCL nvidia-smi nvcc GradScaler autocast_gpu autocast_enabled custom_fwd "
    "custom_bwd fork_rng data_ptr init_process_group get_backend init_device_mesh "
    "default_tensor_type new_group cpp_extension @triton flex_attention sdpa_kernel varlen_attn "
    "emit_nvtx"
).split()
_PACKAGES = (
    "cupy cupyx triton pynvml py3nvml nvidia nvidia_smi apex flash_attn tensorrt torch_tensorrt "
    "transformer_engine cudf bitsandbytes xformers tilelang deep_ep causal_conv1d mamba_ssm"
).split()
# Two patterns, each with a word to start from, which `re` looks for many times faster than for
# one pattern of alternatives, and twenty times faster than for each package.
_IMPORTS = (
    rf"import[ \t]+(?:{'|'.join(_PACKAGES)})\b",
    rf"from[ \t]+(?:(?:{'|'.join(_PACKAGES)})\b|torch[ \t]+import[ \t]+\*)",
)
_PATCHES = r"""patch(?:\.\w+)*\(\s*["']?torch\b"""
# What a person types a device into, and objects that hold what was typed.
SETTINGS = (
    r"args?|opts?|options?|cfg|conf|config|configs|settings|hparams?|hps|flags|namespace|cli|kwargs"
)

_IMPORT, _FROM = (re.compile(pattern) for pattern in _IMPORTS)
PATCHED = re.compile(_PATCHES)
"""A test that puts something else in the place of a name of torch's."""
_PATCHED_BYTES = re.compile(_PATCHES.encode())
_IMPORT_BYTES, _FROM_BYTES = (re.compile(pattern.encode()) for pattern in _IMPORTS)
_MAY_MATTER = (b"device", b"load", b"pin_memory", b"jit")
_WORDS_BYTES = [word.encode() for word in WORDS]


def signs(text: str) -> Iterator[int]:
    """The offset of each word that :func:`mentions` looks for."""
    yield from (found.start() for found in PATCHED.finditer(text))
    for word in (*WORDS, "import *", *_PACKAGES):
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, at + 1)


def mentions(text: str) -> bool:
    """Whether a text says anything that only code for CUDA says."""
    # Plain searches for words are many times faster than one pattern of alternatives.
    if any(word in text for word in WORDS):
        return True
    return (_IMPORT.search(text) or _FROM.search(text) or PATCHED.search(text)) is not None


def may_concern(raw: bytes) -> bool:
    """False when no rule could change or report this file; a cheap test on its bytes.

    A file that says nothing of CUDA is read closely if it may make a device out of a name or a
    number, load a checkpoint, have something compiled, or ask for page-locked memory.
    """
    # Most files that may concern a rule say so here; the long list is for the others.
    if b"torch" in raw and any(word in raw for word in _MAY_MATTER):
        return True
    if any(word in raw for word in _WORDS_BYTES):
        return True
    found = _IMPORT_BYTES.search(raw) or _FROM_BYTES.search(raw) or _PATCHED_BYTES.search(raw)
    return found is not None


def rewrite(source: str, names: Names, options: Options, *, filename: str = "<string>") -> Result:
    """Apply every rule to one file's text.

    ``source`` must keep its own newlines (decode with ``newline=""``). Raises
    :class:`SyntaxError_` for text that does not parse.
    """
    from tdev_core.codemod.engine.driver import run

    return run(source, names, options, filename)


@lru_cache(maxsize=4)
def _load(path: Path) -> Names:
    data = json.loads(path.read_text(encoding="utf-8"))
    wanted = {f for f in Names.__dataclass_fields__}
    if not isinstance(data, dict) or set(data) != wanted:
        raise ValueError(f"{path}: a names file has the keys {sorted(wanted)}")
    try:
        return Names(
            routed=frozenset(data["routed"]),
            device_params=_parameters(data["device_params"]),
            device_methods=_parameters(data["device_methods"]),
            classes=frozenset(data["classes"]),
            accelerator={
                key: Replacement(v["name"], dict(v["parameters"]), tuple(v["order"]))
                for key, v in data["accelerator"].items()
            },
            modules=frozenset(data["modules"]),
            version=data["version"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: not a names file: {error!r}") from error


def _parameters(data: dict[str, list[list[object]]]) -> dict[str, Parameters]:
    return {
        key: tuple((str(name), at if isinstance(at, int) else None) for name, at in pairs)
        for key, pairs in data.items()
    }


if TYPE_CHECKING:
    RULES: tuple[Rule, ...]


def __getattr__(name: str) -> object:
    # RULES lives with the rules; importing this module must stay free of them.
    if name == "RULES":
        from tdev_core.codemod.engine.rules import RULES

        return RULES
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
