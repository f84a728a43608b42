"""A tiny engine for tests of everything around the real one; it also misbehaves on request.

``torch.cuda.synchronize`` becomes ``tdev.cuda.synchronize``, a line ``import torch`` is followed by
``import tdev``, and ``cupy`` is a finding. Words in the source make it fail in every way there is.
"""

from __future__ import annotations

import ast
import os
import re
import signal
import time

from tdev_core.codemod.engine import Edit, Finding, Names, Options, Result, SyntaxError_
from tdev_core.codemod.text import apply_edits, lines

SLEEP = 30.0
_CALL = re.compile(r"torch\.cuda\.synchronize")


def may_concern(raw: bytes) -> bool:
    return b"torch" in raw


def rewrite(source: str, names: Names, options: Options, *, filename: str) -> Result:
    if "CRASH" in source:
        raise RuntimeError("asked to crash")
    if "DIE" in source:
        os.kill(os.getpid(), signal.SIGKILL)
    if "SLEEP" in source:
        time.sleep(SLEEP)
    if "SHOUT" in source:
        print("the engine prints this", flush=True)
    if "LIE" in source:
        return Result(source.replace("LIE", "TRUTH"))
    if "BREAK" in source:
        edit = Edit("break", 1, 1, 1, 1, "", "( ")
        return Result(apply_edits(source, [edit]), (edit,))
    try:
        ast.parse(source)
    except SyntaxError as error:
        raise SyntaxError_(error.msg, error.lineno or 1, error.offset or 1) from None
    edits, findings = [], []
    rows = lines(source)
    for number, row in enumerate(rows, 1):
        for match in _CALL.finditer(row):
            columns = match.start() + 1, match.end() + 1
            after = "tdev.cuda.synchronize"
            edits.append(
                Edit("calls", number, columns[0], number, columns[1], match.group(), after)
            )
        if row.rstrip("\r\n") == "import torch" and "import tdev" not in source:
            end = row[len("import torch") :] or "\n"
            column = len("import torch") + 1
            edits.append(Edit("imports", number, column, number, column, "", f"{end}import tdev"))
        if "cupy" in row:
            where = number, row.index("cupy") + 1
            findings.append(Finding("cupy", *where, "only CUDA has it", "error"))
        if "hint" in row:
            findings.append(Finding("hint", number, 1, "left alone on purpose", "note"))
    return Result(apply_edits(source, edits), tuple(edits), tuple(findings))
