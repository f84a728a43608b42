"""Finds what says CUDA in files that are no Python: configuration, scripts, images. Nothing is rewritten.

Lines are read as text: what a file means to its tool cannot be known here, where it says CUDA can.
"""

from __future__ import annotations

import re

from tdev_core.codemod.embedded.rules import OTHER_FILE
from tdev_core.codemod.model import Outcome, Place, Remark, Status

MAX_SIZE = 256 * 1024
"""Larger files (bytes) are data."""

_GATE = re.compile(
    rb"cuda|nvidia|nvcc|nvcr\.io|--gpus|accelerator\W{1,4}gpu|whl/cu\d", re.IGNORECASE
)
_KINDS = tuple(
    (re.compile(pattern), message)
    for pattern, message in (
        (
            r"\bnvidia/cuda:[\w.-]+|\bnvcr\.io/[\w./:-]+",
            "an image for NVIDIA GPUs; another device needs another image",
        ),
        (
            r"--gpus\b|\bnvidia\.com/gpu\b|\bruntime:\s*[\"']?nvidia\b|\bdriver:\s*[\"']?nvidia\b",
            "asks for NVIDIA GPUs; leave it out on another device",
        ),
        (
            r"\b(?:torch|th)\.cuda\.\w+(?:\.\w+)*|\.cuda\(",
            "PyTorch's CUDA in a file that is not read as Python; write tdev's there by hand",
        ),
        (r"\b(?:nvidia-smi|nvcc)\b", "NVIDIA's tool, which another device does not have"),
        (
            r"\b(?:CUDA_[A-Z][A-Z0-9_]*|NVIDIA_(?:VISIBLE_DEVICES|DRIVER_CAPABILITIES))\b",
            "a variable that CUDA alone reads",
        ),
        (
            r"\bdownload\.pytorch\.org/whl/cu\d+|\bpytorch-cuda\b|\bcudatoolkit\b|\bcupy-cuda\d+x\b",
            "a package built for CUDA; another device needs another",
        ),
        (
            r"\baccelerator[\"']?\s*[:=]\s*[\"']?(?:gpu|cuda)\b",
            "names a kind of accelerator to Lightning; `auto` takes the one that is there",
        ),
        (
            r"(?:[:=,\[]|^|\s)\s*-?\s*(?P<n>\"cuda(?::\d+)?\"|'cuda(?::\d+)?'|cuda(?::\d+)?)(?=\s*(?:[,}\]#;]|$))",
            "a device by name, which works as it is: tdev translates it where it is used",
        ),
    )
)


def look(raw: bytes) -> Outcome:
    """Return an outcome with a note for each line that says CUDA in one of the ways that are known."""
    if len(raw) > MAX_SIZE or b"\0" in raw or not _GATE.search(raw):
        return Outcome(Status.UNCHANGED)
    if b'"tdev.codemod"' in raw[:300]:
        return Outcome(Status.UNCHANGED)  # a baseline or a report of ours
    remarks = []
    for number, row in enumerate(raw.decode("utf-8", "replace").split("\n"), 1):
        if row.lstrip().startswith(("#", "//", ";")):
            continue
        for pattern, message in _KINDS:
            if found := pattern.search(row):
                group = "n" if "n" in pattern.groupindex else 0
                name, column = found[group], found.start(group) + 1
                place = Place(number, column, number, column + len(name))
                remarks.append(Remark(OTHER_FILE.id, place, message, "note", name))
    return Outcome(Status.UNCHANGED, remarks=tuple(remarks))
