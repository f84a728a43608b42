"""Leaves the states of CUDA's random numbers where a checkpoint keeps them under CUDA's name.

Another accelerator's state under that name could not be restored where the checkpoint is loaded, nor CUDA's there.
"""

from __future__ import annotations

import re
from functools import lru_cache

import libcst as cst

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File

_STRING = re.compile(r"[\"']([\w.]{4,80})[\"']")
_ASKS = re.compile(r"\bcuda\.(?:is_available|device_count)\(")
_SAVES, _LOADS = (re.compile(rf"\bt(?:orch|dev)\.{name}\(") for name in ("save", "load"))
# What a choice that gets or sets them speaks of, by itself or by a class that does.
_SPEAKS_OF_THEM = re.compile(
    r"\bcuda\.(?:random\.)?[gs]et_rng_state|(?i:rng|generator|random_state)"
)
_STATES = re.compile(r"\bcuda\.(?:random\.)?[gs]et_rng_state(?:_all)?\b")


# `{"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state()}`, `torch.cuda.set_rng_state_all(states["cuda"])`
_UNDER_CUDA = re.compile(
    r"[\"']\w*cuda\w*[\"']\s*(?::|\]\s*=)\s*\w+\.cuda\.(?:random\.)?get_rng_state"
    r"|\bcuda\.(?:random\.)?set_rng_state(?:_all)?\([^()\n]*\[[\"']\w*cuda\w*[\"']\]"
    # of a record: `RandomState(torch_cpu=torch.get_rng_state(), torch_cuda=torch.cuda.get_rng_state())`
    r"|[(,]\s*\w*cuda\w*\s*=\s*\w+\.cuda\.(?:random\.)?get_rng_state"
)


# A question, and no demand at the start of a program: that is met.
_CHOOSES = re.compile(rf"(?m)^(?![ \t]*assert\b)(?![^\n]*\bnot\b)[^\n]*{_ASKS.pattern}")
_SAVED = re.compile(r"(?i)sav|checkpoint|ckpt|resume|state_dict")


@lru_cache(maxsize=4)
def _keeps_states(code: str) -> bool:
    """Tell whether a text keeps the states of CUDA's generators in a checkpoint: under a key that says so, or where it asks for CUDA."""
    if _STATES.search(code) is None:
        return False
    if "def __exit__(" in code and _SAVED.search(code) is None:
        return False  # kept for as long as a context lasts, and put back
    if _CHOOSES.search(code) is None and "rng_state_all" not in code:
        return False  # of one device it fails where there is none
    if _UNDER_CUDA.search(code) is not None:
        return True
    if any("cuda" in key and ("rng" in key or "random" in key) for key in _STRING.findall(code)):
        return True
    return all(each.search(code) is not None for each in (_ASKS, _SAVES, _LOADS))


def is_of_saved_states(file: File, found: Reference) -> bool:
    """Tell whether a name gets or sets such a state, or asks for CUDA in a choice that does."""
    if "rng_state" not in file.tree.source or not _keeps_states(file.code):
        return False
    if _STATES.search(found.name) is not None:
        return True
    if not found.name.endswith(("is_available", "device_count")):
        return False
    if _opens_them_by_name(file, found):
        return True
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


def _opens_them_by_name(file: File, found: Reference) -> bool:
    """Tell whether the answer is kept in a constant that opens nothing but such states: ``USE_CUDA = is_available()``."""
    kept = file.tree.parents[file.tree.parents[found.node]]
    target = kept.targets[0].target if isinstance(kept, cst.Assign) else None
    return isinstance(target, cst.Name) and target.value in _openers(file.code)


_OPENED = re.compile(r"(?m)^([ \t]*)if[ \t]+(\w+)[ \t]*:[ \t]*\n((?:\1[ \t]+[^\n]*\n?)+)")


# What else of CUDA's an arm may do.
_MORE = re.compile(r"\bcuda\.\w|[\"']cuda\b|\.cuda\(")


@lru_cache(maxsize=4)
def _openers(code: str) -> frozenset[str]:
    """Return the variables of a text that are asked for such states, and for nothing else."""
    arms: dict[str, list[str]] = {}
    for _, name, arm in _OPENED.findall(code):
        arms.setdefault(name, []).append(arm)
    only = {
        name
        for name, several in arms.items()
        if all(_STATES.search(arm) and not _MORE.search(_STATES.sub("", arm)) for arm in several)
    }
    return frozenset(
        name
        for name in only
        if len(re.findall(rf"(?<![\w.]){name}\b(?![ \t]*=(?!=))", code)) == len(arms[name])
    )
