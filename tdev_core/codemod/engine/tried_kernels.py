"""Finds the names of a module that are there only where its kernels for CUDA were built, or are installed.

``try: ops = load(sources=["ops.cu"]); def fused(x): … except Exception: fused = None``: whoever imports ``fused`` behind a
question for CUDA asks for that. What else the module has, a way for the CPU say, is not told by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# At the margin, with all that stands in it.
_TRIED = re.compile(
    rb"^try:[^\n]*\n((?:[ \t]+[^\n]*\n|[ \t\r]*\n)+)except\b[^\n]*:[^\n]*\n", re.MULTILINE
)
_BUILDS = re.compile(
    rb"\.cuh?[\"']|^[ \t]+import[ \t]+(?:fused_\w+|\w+_cuda)[ \t\r]*$", re.MULTILINE
)
_SIGNS = (b".cu", b"import fused_", b"_cuda")
_BINDS = re.compile(rb"^(?: {4}|\t)(?:def[ \t]+(\w+)[ \t]*\(|(\w+)[ \t]*=(?!=))", re.MULTILINE)
_BINDS_OTHERWISE = rb"^[ \t]*(?:(?:def|class)[ \t]+%b\b|%b[ \t]*=(?!=|[ \t]*None\b)|(?:from|import)[ \t][^\n]*\b%b\b)"


def tried_kernels(raw: bytes) -> Iterator[str]:
    """Yield the names that a module binds beside the kernels that it tries to build or to import, and nowhere else but to None."""
    may = b"try:" in raw and any(sign in raw for sign in _SIGNS)
    for tried in _TRIED.finditer(raw) if may else ():
        if _BUILDS.search(tried[1]) is None:
            continue
        rest = raw[: tried.start(1)] + raw[tried.end(1) :]
        for name in {one or other for one, other in _BINDS.findall(tried[1])}:
            if re.search(_BINDS_OTHERWISE.replace(b"%b", name), rest, re.MULTILINE) is None:
                yield name.decode()
