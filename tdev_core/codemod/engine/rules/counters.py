"""Finds counters of memory whose number means CUDA's where a function may be run on the CPU, too.

There torch's are 0, and tdev's count what the process holds: what is compared with them, or what a function says of a device
that is not CUDA's, would no longer be true.
"""

from __future__ import annotations

import re

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import enclosing_function

_NUMBERS = r"cuda\.(?:max_)?memory_(?:allocated|reserved)\("
_COUNTER = re.compile(
    rf"torch\.(?:{_NUMBERS[:-2]}|cuda\.reset_(?:peak|max|accumulated)_memory\w*)\Z"
)
# With another number, whatever it was counted by: `assert torch.cuda.memory_allocated() == before`.
_COMPARED = re.compile(
    rf"[!=]=\s*(?:\w+\.)*{_NUMBERS}|\b{_NUMBERS}[^()]*\)\s*[!=]=|\bassertEquals?\([^\n]*{_NUMBERS}"
)
_FOR_CUDA_ALONE = re.compile(r"\bif\b[^.]*\bCUDA\s+device\b")
_ASKS = r"(?i:cuda|gpu|device|accelerator)"
_OPENS = re.compile(rf"(?:if|elif|while)\b.*{_ASKS}")
_LEAVES = re.compile(
    rf"^[ \t]+(?:if\b[^\n]*{_ASKS}[^\n]*:\s*(?:return|raise|[\w.]*skip)|assert\b[^\n]*\bcuda\.is_available\()",
    re.MULTILINE,
)
# What runs on CUDA whatever it is given has nothing to say of the CPU.
_MOVES = re.compile(
    r"\.cuda\(|\.to\(\s*[\"']cuda|\bdevice\s*=\s*[\"']cuda[\"':]|@[^\n]*(?i:cuda|gpu)"
)


def counts_what_cuda_holds(file: File, found: Reference) -> bool:
    """Tell whether a counter of memory is one of a function that compares such a number, or has it for CUDA's devices alone.

    Nothing there asks for CUDA first. All counters of the function stay together.
    """
    if file.options.program or not _COUNTER.match(found.name):
        return False
    home = enclosing_function(file, found.node)
    if home is None:
        return False
    start, end = file.tree.span(home)
    text = file.code[start:end]
    if _MOVES.search(file.code[file.code.rfind("\n\n", 0, start) + 1 : end]) is not None:
        return False
    places = [each.start() for each in _COMPARED.finditer(text)]
    if _FOR_CUDA_ALONE.search(home.get_docstring() or "") is not None:
        places += [each.start() for each in re.finditer(_NUMBERS, text)]
    return any(not _is_asked_above(text, at) for at in places)


def _is_asked_above(text: str, at: int) -> bool:
    """Tell whether a question stands above a place of a function that lets nothing else than CUDA there."""
    if _LEAVES.search(text, 0, at) is not None:
        return True
    lines = text[:at].split("\n")
    depth = len(lines[-1]) - len(lines[-1].lstrip())
    for line in reversed(lines):
        inner = len(line) - len(line.lstrip())
        if line.strip() and inner <= depth:
            if _OPENS.match(line.strip()) is not None and (inner < depth or line is lines[-1]):
                return True
            depth = min(depth, inner)
    return False
