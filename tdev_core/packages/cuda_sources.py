"""Read C++ and CUDA sources as far as to tell whether the C++ ones stand without the CUDA ones.

Texts are read with their comments blanked, and without what stands under a preprocessor condition that asks for CUDA, since
no such macro is defined where only C++ is compiled. What cannot be told from the text is left to the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "Kernel", "asks_for_cuda", "compiled", "cuda_header", "defined", "kernels", "lent", "with_headers",
]  # fmt: skip

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", re.DOTALL)
_CALLED = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*(?:<[^;{}()]*>\s*)?\(")
_ATTRIBUTES = ("__launch_bounds__", "__attribute__", "__block_size__", "__cluster_dims__")
_DEVICE = re.compile(r"__(?:global|device)__")
_CUDA_HEADER = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"]((?:cuda|cublas|cudnn|curand|cusparse|cusolver|cufft|nccl|cub/|thrust/|cutlass/"
    r"|(?:ATen|c10|torch/csrc)/cuda/|ATen/native/cuda/)[^>\"]*)[>\"]",
    re.MULTILINE,
)
_LOCAL_HEADER = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"]+)\"", re.MULTILINE)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(.*)$")
_CUDA_MACRO = re.compile(r"\b(?!\w*(?:NO|WITHOUT|DISABLE)\w*)\w*(?:CUDA|NVCC)\w*\b")
_WORDS = frozenset(
    ("if", "for", "while", "switch", "catch", "return", "sizeof", "decltype", "defined", "alignas")
)


@dataclass(frozen=True)
class Kernel:
    """A ``__global__`` function: its name, and the file and the line in which it begins."""

    name: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.name} ({self.file}:{self.line})"


def kernels(text: str, file: str) -> list[Kernel]:
    """Return the kernels that a source defines or declares, in its order, each once."""
    blank = _without_comments(text)
    found: dict[str, Kernel] = {}
    for match in re.finditer(r"\b__global__\b", blank):
        place = match.end()
        while (name := _CALLED.search(blank, place)) and name[1] in _ATTRIBUTES:
            place = _after_brackets(blank, name.end() - 1)
        if name is not None:
            line = blank.count("\n", 0, match.start()) + 1
            found.setdefault(name[1], Kernel(name[1], file, line))
    return list(found.values())


def asks_for_cuda(macro: str) -> bool:
    """Tell whether a macro, ``WITH_CUDA`` or ``WITH_CUDA=1``, has C++ call what CUDA sources define."""
    name, _, value = macro.partition("=")
    return _CUDA_MACRO.fullmatch(name) is not None and value != "0"


def compiled(text: str) -> str:
    """Return what a C++ compiler sees of a source where no macro of CUDA is defined; lines keep their numbers.

    A condition that asks for nothing of CUDA's keeps all its branches, as does one with ``||`` or ``!(``.
    """
    lines = []
    branches: list[
        bool | None
    ] = []  # of each open condition, whether this one is seen; None: it may be
    settled: list[bool] = []  # and whether one before it, or this one, is it for sure
    for line in _without_comments(text, strings=False).split("\n"):
        match = _CONDITION.match(line)
        lines.append("" if match or False in branches else line)
        if match is None:
            continue
        word, condition = match[1], match[2]
        if word.startswith("if"):
            branches.append(_holds(word, condition))
            settled.append(branches[-1] is True)
        elif branches and word == "endif":
            del branches[-1], settled[-1]
        elif branches:
            holds = None if word == "else" else _holds("if", condition)
            branches[-1] = False if settled[-1] else holds
            settled[-1] = settled[-1] or holds is True
    return "\n".join(lines)


def _holds(word: str, condition: str) -> bool | None:
    macro = _CUDA_MACRO.search(condition)
    if macro is None or "||" in condition or "!(" in condition.replace(" ", ""):
        return None
    if word == "ifndef":
        return True
    if word == "ifdef":
        return False
    before = condition[: macro.start()].replace(" ", "")
    if before.endswith(("!", "!defined(", "!defined")):
        return True if "&&" not in condition else None
    return False


def cuda_header(text: str) -> str | None:
    """Return the first header of CUDA that a text of :func:`compiled` includes; None where there is none."""
    match = _CUDA_HEADER.search(text)
    return match[1] if match else None


def with_headers(file: Path, folders: Iterable[Path] = ()) -> Iterator[tuple[Path, str]]:
    """Yield a source, and each header that it includes in quotes and that is found, with what :func:`compiled` says.

    A header is looked for beside the file that includes it and in ``folders``.
    """
    folders = list(folders)
    seen: set[Path] = set()
    waiting = [file]
    while waiting:
        path = waiting.pop(0)
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        text = compiled(path.read_text(encoding="utf-8", errors="replace"))
        yield path, text
        for name in _LOCAL_HEADER.findall(text):
            waiting += [folder / name for folder in (path.parent, *folders)]


def defined(text: str) -> dict[str, int]:
    """Return the functions of the host that a text has bodies of, by name, each with its line."""
    blank = _without_comments(text)
    found: dict[str, int] = {}
    for match in _CALLED.finditer(blank):
        if match[1] in _WORDS:
            continue
        after = _after_brackets(blank, match.end() - 1)
        tail = re.compile(r"\s*(?:(?:const|noexcept|override)\b\s*|->[^;{]*)*\{").match(
            blank, after
        )
        begins = max(blank.rfind(mark, 0, match.start()) for mark in ";{}")
        if tail and not _DEVICE.search(blank, begins + 1, match.start()):
            found.setdefault(match[1], blank.count("\n", 0, match.start()) + 1)
    return found


def lent(texts: Mapping[str, str], cuda: Mapping[str, str]) -> tuple[str, str] | None:
    """Return a function that C++ uses and that the CUDA sources alone define, and the file that uses it.

    Args:
        texts: the C++ files, each with its text as :func:`compiled` returns it.
        cuda: the CUDA files, each with its text.

    A method, a declaration that nobody uses and a function of torch's own namespaces are no use of it.
    """
    own = {name for text in texts.values() for name in defined(text)}
    theirs = {name for text in cuda.values() for name in defined(text)} - own
    for file, text in texts.items():
        blank = _without_comments(text)
        for name in sorted(theirs):
            for match in re.finditer(rf"(?<![\w.>])(?:(\w+)\s*::\s*)?&?\b{name}\b", blank):
                if match[1] not in ("at", "torch", "c10", "std") and not _declares(blank, match):
                    return name, file
    return None


def _declares(text: str, match: re.Match[str]) -> bool:
    """Tell whether a name stands in a declaration: a type before it, parameters and a semicolon behind."""
    rest = re.compile(r"\s*\(").match(text, match.end())
    if rest is None:
        return False
    behind = text[_after_brackets(text, rest.end() - 1) :].lstrip()
    before = text[: match.start()].rstrip()
    word = re.search(r"\w+$", before)
    typed = before[-1:] in ("*", "&", ">") or (word is not None and word[0] not in _WORDS)
    return typed and behind.startswith((";", "noexcept"))


def _without_comments(text: str, strings: bool = True) -> str:
    """Blank comments, and the contents of strings with ``strings``; every line keeps its number."""

    def blank(match: re.Match[str]) -> str:
        if match[0][0] == "/":
            return "\n" * match[0].count("\n") or " "
        return '""' if strings else match[0]

    return _COMMENT.sub(blank, text)


def _after_brackets(text: str, place: int) -> int:
    """Return the place behind the bracket that closes the one at ``place``."""
    depth = 0
    for at in range(place, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return at + 1
    return len(text)
