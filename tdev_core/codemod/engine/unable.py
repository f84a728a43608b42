"""Reads off the bytes of a tree which of its functions and classes work on CUDA and the CPU alone, and what uses them.

Such a one takes a device and refuses all others, or computes in double precision wherever its tensors lie, which MPS
cannot. A device that is chosen for it by a program which runs on the CPU where there is no CUDA has to stay so chosen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from tdev_core.codemod.engine.vocabulary import RUNTIMES, names_of_runtimes, without_prose

_UNIT = re.compile(rb"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", re.MULTILINE)
_MARGIN = re.compile(rb"^[^\s#)\]}]", re.MULTILINE)
_TWO = rb"\s*(?:[\"'](?:cuda|cpu)[\"'],?\s*){2}"
# `else: raise ValueError(f"Unsupported device type: {kind}")`
_CHAIN = re.compile(
    rb"else:[ \t]*\n\s*raise[ \t]+\w+\(\s*[fF]?[\"'](?i:un\w+|invalid|no such)[ \t](?i:device)\b"
)
_REFUSES = (
    # `assert device in ["cpu", "cuda"]`, and as an `if` that raises; each from what `re` finds fast
    re.compile(rb"assert[ \t]+[^\n=]*?[ \t]in[ \t]*[\[({]" + _TWO + rb"[\])}]"),
    re.compile(rb"not[ \t]+in[ \t]*[\[({]" + _TWO + rb"[\])}]:[^\n]*\n\s*raise\b"),
    re.compile(rb"Literal\[" + _TWO + rb"\]"),
    _CHAIN,
)
_ASKS_FOR_BOTH = re.compile(
    rb"==[ \t]*[\"']cuda[\"'](?s:.*)==[ \t]*[\"']cpu[\"']|==[ \t]*[\"']cpu[\"'](?s:.*)==[ \t]*[\"']cuda[\"']"
)
# Before it goes to the CPU: `x.double().cpu()`.
_DOUBLE = re.compile(
    rb"(?:\.double\(\)|\.to\(\s*(?:dtype[ \t]*=[ \t]*)?torch\.(?:float64|double)\s*\))(?:\.detach\(\))?\.cpu\(\)"
    # `x = x.double()`, and then what is made of it goes there: `(x[:, 0] - shift).cpu()`
    rb"|\b(\w+)[ \t]*=[ \t]*\1\.double\(\)[ \t]*\n[^\n]*(?<![\w.])\1\b[^\n]*\)\.cpu\(\)"
)
# Which torch makes double where they lie: `w = torch.tensor(rows.weights, device=self.device)`, and then `WeightedRandomSampler(w, …)`.
_WEIGHTS = re.compile(
    rb"\b(\w+)[ \t]*=[ \t]*torch\.(?:as_)?tensor\([^\n]*\bdevice[ \t]*=[^\n]*\n"
    rb"(?:[^\n]*\n){0,3}?[^\n]*\bWeightedRandomSampler\(\s*\1\b"
)
_OTHERS = re.compile(rb"(?<![a-z])(?:mps|xpu|npu|hpu)(?![a-z])", re.IGNORECASE)


_RUNTIMES = tuple(name.encode() for name in RUNTIMES)


def _tells_a_runtime(raw: bytes) -> re.Pattern[bytes] | None:
    """Return what finds a device that a file hands to a package which knows CUDA's and the CPU's alone; None where it imports none.

    ``ctranslate2.models.Whisper(path, device=device)``, and no word of the file's own.
    """
    if not any(name in raw for name in _RUNTIMES):
        return None
    names = names_of_runtimes(raw.decode("latin-1")) - {""}
    of = "|".join(map(re.escape, sorted(names))).encode("latin-1")
    told = rb"(?:\.\w+)*\((?:[^()]|\([^()]*\))*\bdevice[ \t]*=[ \t]*(?:\w+\.)*\w*device\b"
    return re.compile(rb"(?<![\w.])(?:" + of + rb")" + told) if names else None


def units(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the functions and classes at the margin of a text, each with its text."""
    at = 0
    for found in _UNIT.finditer(raw):
        if found.start() < at:
            continue
        margin = _MARGIN.search(raw, found.end())
        at = margin.start() if margin is not None else len(raw)
        yield found[1].decode(), raw[found.start() : at]


def unable(raw: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """Return the functions and classes of a file that work on CUDA and the CPU alone by what they say themselves, and whose device it is.

    First those that ask a device, then those that ask a word: ``"cuda"`` passes there, whatever it stands for. The device that a
    runtime is told is that of what is called.
    """
    signs = []
    if b"'cpu'" in raw or b'"cpu"' in raw:
        signs += [pattern for pattern in _REFUSES if pattern.search(raw) is not None]
    if b").cpu()" in raw and _DOUBLE.search(raw) is not None:
        signs.append(_DOUBLE)
    if b"WeightedRandomSampler(" in raw and _WEIGHTS.search(raw) is not None:
        signs.append(_WEIGHTS)
    if (runtime := _tells_a_runtime(raw)) is not None:
        signs.append(runtime)
    told: dict[str, str] = {}
    words: dict[str, str] = {}
    for name, text in units(raw) if signs else ():
        for sign in signs:
            found = sign.search(text)
            if found is None or _OTHERS.search(text) is not None:
                continue
            if sign is _CHAIN and _ASKS_FOR_BOTH.search(text) is None:
                continue
            asked = text[max(0, found.start() - len(".type ")) : found.end()]
            asks_a_device = sign in (_DOUBLE, _WEIGHTS, runtime) or b".type" in asked
            whose = found[0].partition(b"(")[0].decode("latin-1") if sign is runtime else name
            (told if asks_a_device else words).setdefault(name, whose)
    return told, {name: whose for name, whose in words.items() if name not in told}


def with_users(
    told: Mapping[str, str],
    words: Mapping[str, str],
    texts: Iterable[bytes],
    modules: Collection[str],
) -> Mapping[str, str]:
    """Return these functions and classes, and those that speak of one, by its name or as one of a module's of the tree: each with whose
    device it is.

    One that asks a word itself, and speaks of no other, may choose that word.
    """
    if not told and not words:
        return {}
    texts = list(texts)
    counted = Counter(name.decode() for raw in texts for name in _UNIT.findall(raw))
    found = {**words, **told}
    new = {name: whose for name, whose in found.items() if counted[name] == 1}
    while new:
        users: dict[str, str] = {}
        for name, text in _units_with(texts, new):
            if name not in found and counted[name] == 1:
                if spoken := _spoken(text, new, modules):
                    users[name] = new[spoken]
        found |= users
        new = users
        if len(new) > _MANY:
            return dict(told)
    alone = {
        name
        for name, text in _units_with(texts, words)
        if name in words and not _spoken(text, found.keys() - {name}, modules)
    }
    return {name: whose for name, whose in found.items() if name not in alone}


def _units_with(texts: list[bytes], names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the units of the files that have one of these names: a plain search is many times faster than a pattern."""
    wanted = [name.encode() for name in names]
    for raw in texts:
        if any(name in raw for name in wanted):
            yield from units(raw)


_MANY = 60
"""Functions and classes that speak of one at once: it is then one of many ways, and no limit of theirs."""


def _spoken(text: bytes, names: Collection[str], modules: Collection[str]) -> str:
    """Return the first of these names that a text speaks of; the empty name for none."""
    if not names or (named := _named(frozenset(names))).search(text) is None:
        return ""
    code = without_prose(text.decode("latin-1")).encode("latin-1")
    own = (f for f in named.finditer(code) if f[1] is None or f[1].decode() in modules)
    return next((found[2].decode() for found in own), "")


@lru_cache(maxsize=4)
def _named(names: frozenset[str]) -> re.Pattern[bytes]:
    of = "|".join(sorted(names)).encode()
    return re.compile(rb"(?<![\w.])(?:(\w+)\.)?(%s)\b" % of)
