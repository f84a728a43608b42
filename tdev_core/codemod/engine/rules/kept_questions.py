"""Reports names whose text stays, and what becomes of their answers once the imports are known."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.api import Rule, Severity
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.kernels import KERNEL

LEFT = "left as it is"
ANSWERS_ITS_CALLERS = "its callers get the answer for what is used"
ANSWERED = "from tdev it answers for the device in use"


def kept_question(
    file: File,
    found: Reference,
    rule: Rule,
    message: str,
    severity: Severity,
    answered: str = ANSWERED,
) -> None:
    """Report a name whose text stays; :func:`kept_questions` says what becomes of its answer."""
    at = file.tree.span(found.node)[0]
    for told in [k for k in file.findings if k[1] == at and k[2].endswith(ANSWERS_ITS_CALLERS)]:
        del file.findings[told]  # it is CUDA's own to them, now that it stays
    if (key := file.find(rule, found.node, message, severity)) is not None:
        file.asked[key] = found, answered


def kept_questions(file: File) -> None:
    """Say of each kept question whether its answer stays too, now that it is known where its name comes from."""
    for key, (found, answered) in file.asked.items():
        finding = file.findings[key]
        if from_tdev(file, found):
            message = finding.message.replace(LEFT, answered)
            level = "warning" if finding.rule == KERNEL.id else finding.severity
            file.findings[key] = replace(finding, message=message, severity=level)


_SET = re.compile(r"^[ \t]*torch((?:\.\w+)+)[ \t]*=(?!=)", re.MULTILINE)
# Settings, which tdev's modules hand on to torch's.
_SETTINGS = re.compile(
    r"\.(?:backends|_dynamo|_inductor|_logging|fx\.experimental|multiprocessing|compiler)\b"
)


def sets_names_of_torchs(file: File) -> bool:
    """Tell whether a file puts functions of its own in torch's place, which others call by torch's name: ``torch.stft = stft``."""
    return any(not _SETTINGS.match(name) for name in _SET.findall(file.code))


_STAR = re.compile(r"^from[ \t]+([.\w]+)[ \t]+import[ \t]*\(?[ \t]*\*", re.MULTILINE)


def is_rebound(file: File) -> bool:
    """Tell whether ``from utils import *`` below the import of torch may bring a ``torch`` of its own: that of a module that stays.

    So do packages such as fastai. What a module of the tree brings that imports no torch at its margin, none.
    """
    tops = [b for b in file.wanted if b.target == "torch" and b.scope is file.scopes.top]
    if not tops or "*" not in file.tree.source:
        return False
    first = min(file.tree.span(b.node)[0] for b in tops)
    tree = file.options.tree
    for found in _STAR.finditer(file.code, first):
        top, _, _ = found[1].partition(".")
        last = found[1].rpartition(".")[2]
        if top in ("torch", "tdev") or top in sys.stdlib_module_names:
            continue
        own = tree is not None and (not top or top in tree.modules or top in tree.near)
        if not own or tree is None or last in tree.torch_of or last not in tree.stems:
            return True
    return False


def needs_torchs_name(file: File) -> bool:
    """Tell whether an alias would have the file say another thing than it does, or it has none beside ``import tdev``.

    The latter has been written so by an earlier run.
    """
    tops = file.scopes.top.bindings
    if all(any(b.target == name for b in tops.get(name, ())) for name in ("torch", "tdev")):
        return True
    changed = any((b.target or "") == "torch" for b in file.wanted)
    return changes_kept_questions(file) or (
        changed
        and (file.saves_scripts or sets_names_of_torchs(file))
        or any(b.kind == "from" and b.target == "torch" for b in file.wanted)
    )


def changes_kept_questions(file: File) -> bool:
    """Tell whether the imports, once changed, would answer a question for the device in use that has to stay CUDA's."""
    return any(
        answered == ANSWERED and found.package == "torch" and from_tdev(file, found)
        for found, answered in file.asked.values()
    )


def from_tdev(file: File, found: Reference) -> bool:
    """Tell whether a reference is tdev's once the imports are changed."""
    if found.package == "tdev":
        return True
    moved = list(file.repointed)
    if file.options.style == "alias":
        moved += file.wanted
    return any(binding in moved for binding in found.bindings)
