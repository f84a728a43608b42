"""Leaves the states of CUDA's random numbers where a checkpoint keeps them under CUDA's name.

Another accelerator's state under that name could not be restored where the checkpoint is loaded, nor CUDA's there.
"""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File

_KEY = re.compile(r"[\"'][\w.]*(?:cuda\w*(?:rng|random)|(?:rng|random)\w*cuda)\w*[\"']")
_SAVES, _LOADS = re.compile(r"\btorch\.save\("), re.compile(r"\btorch\.load\(")
# What a choice that gets or sets them speaks of, by itself or by a class that does.
_SPEAKS_OF_THEM = re.compile(
    r"\bcuda\.(?:random\.)?[gs]et_rng_state|(?i:rng|generator|random_state)"
)
_STATES = re.compile(r"\bcuda\.(?:random\.)?[gs]et_rng_state(?:_all)?\b")


def is_of_saved_states(file: File, found: Reference) -> bool:
    """Tell whether a name gets or sets such a state, or asks for CUDA in a choice that does."""
    if "cuda" not in file.tree.source or _STATES.search(file.code) is None:
        return False
    kept = _SAVES.search(file.code) is not None and _LOADS.search(file.code) is not None
    if not kept and _KEY.search(file.code) is None:
        return False
    if _STATES.search(found.name) is not None:
        return True
    if not found.name.endswith(("is_available", "device_count")):
        return False
    below: cst.CSTNode = found.node
    chain: cst.CSTNode | None = None
    for parent in file.tree.ancestors(found.node):
        if isinstance(parent, (cst.If, cst.IfExp)) and (
            below is parent.test or below is parent.orelse
        ):
            chain = parent
        elif chain is not None or isinstance(parent, (cst.BaseSuite, cst.BaseSmallStatement)):
            break
        below = parent
    return chain is not None and _SPEAKS_OF_THEM.search(file.tree.text(chain)) is not None
