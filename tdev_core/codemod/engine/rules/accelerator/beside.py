"""Keeps with what stays CUDA's what cannot do without it: tensors that meet, a block that raises, a switch of tests."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import descendants, dotted, string_value
from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.accelerator.decided import decides_about
from tdev_core.codemod.engine.rules.accelerator.plans import line_of, planned, take_back
from tdev_core.codemod.engine.rules.accelerator.reported import IN_A_DICTIONARY, UNGUARDED
from tdev_core.codemod.engine.rules.accelerator.rules import GAP
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.references import every_reference
from tdev_core.codemod.engine.rules.strings import STRINGS


def beside_a_kept_device(file: File) -> None:
    """Take back what is planned for a function in which a tensor goes to a device that stays CUDA's.

    What the function makes elsewhere meets that tensor, as in a collective.
    """
    left = {
        start
        for (rule, start, _), f in file.findings.items()
        if f.message.endswith((UNGUARDED, IN_A_DICTIONARY))
    }
    for node in file.tree.of(cst.SimpleString) if left and file.changes else ():
        if file.tree.span(node)[0] in left and _moves(file, node):
            if (home := enclosing_function(file, node)) is not None:
                line = line_of(file, node)
                why = f"stays CUDA's with the device in line {line}"
                take_back(file, [file.tree.span(home)], line, why)


def beside_a_kept_number(file: File) -> None:
    """Take back the number of a device that goes on to what stays: ``"cuda:" + str(n)`` as a key, ``storage.cuda(n)``."""
    if not file.changes:
        return
    kept: list[tuple[cst.BaseExpression, cst.CSTNode]] = []
    for sum_ in file.tree.of(cst.BinaryOperation):
        if string_value(sum_.left) == "cuda:" and not planned(file, file.tree.span(sum_.left)):
            kept.append((sum_, sum_.right))
    for call in file.tree.of(cst.Call):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "cuda":
            if call.args and not _changes(file, file.tree.span(call)):
                kept += [(call, arg.value) for arg in call.args]
    for whole, number in kept:
        used = {n.value for n in descendants(number) if isinstance(n, cst.Name)}
        home = enclosing_function(file, whole) or file.tree.module
        line = line_of(file, whole)
        for assign in file.tree.of(cst.Assign) if used else ():
            if (enclosing_function(file, assign) or file.tree.module) is not home:
                continue
            if any(dotted(target.target) in used for target in assign.targets):
                why = f"stays CUDA's with the device in line {line}"
                take_back(file, [file.tree.span(assign)], line, why)


def _changes(file: File, span: Span) -> bool:
    return any(span[0] <= change.start < span[1] for change in file.changes.values())


def beside_a_kept_index(file: File) -> None:
    """Take back the number and the count of devices in a function that goes on choosing among CUDA's."""
    if not file.changes:
        return
    for found in every_reference(file):
        if found.name not in _CHOOSE or planned(file, file.tree.span(found.node)):
            continue
        home = enclosing_function(file, found.node)
        low, high = file.tree.span(home) if home is not None else (0, 0)
        line = line_of(file, found.node)
        for change in list(file.changes.values()):
            if low <= change.start < high and _NUMBERS.search(
                file.tree.source[change.start : change.end]
            ):
                why = f"stays CUDA's with {found.name} in line {line}"
                take_back(file, [(change.start, change.end)], line, why)


_CHOOSE = ("torch.cuda.set_device", "torch.cuda.device")
_NUMBERS = re.compile(r"\b(?:device_count|current_device)\b")
_NO_OTHER = re.compile(r"(torch\.cuda\.[\w.]+)(?:: (?:it has no|give torch)| goes, or may go, )")

# Asked where there is no CUDA, these answer no, or nothing.
_ANSWERS_ANYWHERE = re.compile(r"is_|ipc_collect\Z|get_arch_list\Z|\w+_all\Z")


def beside_what_raises(file: File) -> None:
    """Take back what is planned in a block that goes on to a name of CUDA's alone, which raises elsewhere.

    What stands in the block around a ``with`` or a loop comes to it as well; another arm does not.
    """
    if not file.changes:
        return
    raises = {
        start: named[1]
        for (rule, start, _), finding in file.findings.items()
        if rule == GAP.id and finding.severity != "note" and start not in file.harmless
        if (named := _NO_OTHER.match(finding.message)) is not None
    }
    for node in file.tree.of(cst.Attribute) if raises else ():
        name = raises.get(file.tree.span(node)[0])
        called = file.tree.parents[node]
        if name is None or not isinstance(called, cst.Call) or called.func is not node:
            continue
        if _ANSWERS_ANYWHERE.match(name.rpartition(".")[2]):
            continue
        if (block := _runs_with(file, node)) is not None:
            line = line_of(file, node)
            why = f"stays CUDA's with {name} in line {line}"
            take_back(file, [file.tree.span(block)], line, why)


def _runs_with(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the largest block of a function that cannot be run without what stands at ``node``."""
    found: cst.CSTNode | None = None
    below = node
    for parent in file.tree.ancestors(node):
        match parent:
            case cst.IndentedBlock():
                found = parent
            case cst.FunctionDef():
                return found if below is parent.body else None
            case cst.If() | cst.While() | cst.IfExp() if below is not parent.test:
                return found
            case cst.BooleanOperation() if below is parent.right:
                return None
            case cst.Try() | cst.Else() | cst.ExceptHandler() | cst.Finally():
                return found
            case cst.Lambda() | cst.ClassDef() | cst.Module() | cst.CompFor() | cst.Annotation():
                return None
            case _:
                pass
        below = parent
    return None


# Keywords of what makes or moves a tensor.
_OF_TENSORS = frozenset(
    {"device", "dtype", "layout", "requires_grad", "pin_memory", "non_blocking", "memory_format"}
)


def _moves(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a device is that of a call: ``x.to(…)``, ``device=…``; or of several, ``kwargs = {"device": …}``."""
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.DictElement):
            table = file.tree.parents[parent]
            if not isinstance(file.tree.parents[table], cst.Assign) or below is parent.key:
                return False
            elements = getattr(table, "elements", ())
            keys = {string_value(e.key) for e in elements if isinstance(e, cst.DictElement)}
            return keys <= _OF_TENSORS
        if isinstance(parent, cst.Arg):
            call = file.tree.parents[parent]
            to = isinstance(call, cst.Call) and (dotted(call.func) or ".to").endswith(".to")
            named = parent.keyword is not None and parent.keyword.value == "device"
            return to or named and file.resolver.torch_name(getattr(call, "func", call)) is not None
        if not isinstance(parent, cst.IfExp) or below is parent.test:
            return False
        below = parent
    return False


def patched_alone(file: File) -> None:
    """Take back a patched name that the file does not ask for itself: the code that does may stay CUDA's."""
    source = file.tree.source
    asked = {source[c.start : c.end] for c in file.changes.values() if c.rule != STRINGS.id}
    for change in [c for c in file.changes.values() if c.rule == STRINGS.id]:
        name = source[change.start : change.end].strip("\"'")
        if name not in asked:
            del file.changes[change.start, change.end]
            said = f"{name} is patched for code elsewhere; it changes with that"
            file.find_at(GAP, change.start, said, "note")


_SWITCH = re.compile(r"(?:use_)?(?:cuda|gpu)\Z")


def asked_for_alone(file: File, kept: list[cst.BaseExpression]) -> None:
    """Take back what a switch of functions decides about that is only turned on where CUDA itself was asked for.

    ``def check(cuda=False)`` with ``if torch.cuda.is_available(): check(cuda=True)``: a test of a library's.
    """
    spans: list[Span] | None = None
    on: dict[str, bool] = {}
    for arg in file.tree.of(cst.Arg) if kept and file.changes else ():
        name = arg.keyword.value if arg.keyword is not None else ""
        if not _SWITCH.match(name) or getattr(arg.value, "value", "") != "True":
            continue
        if spans is None:
            spans = [span for node in kept for span in decides_about(file, node)]
        at = file.tree.span(arg)[0]
        inside = any(a <= at < b for a, b in spans)
        on[name] = inside and on.get(name, True)
    for choice in file.tree.of(cst.If, cst.IfExp) if any(on.values()) else ():
        test = choice.test
        if isinstance(test, cst.Name) and on.get(test.value):
            home = enclosing_function(file, choice)
            if home is not None and any(
                p.name.value == test.value
                for p in (*home.params.params, *home.params.kwonly_params)
            ):
                why = f"is only turned on ({test.value}=True) where CUDA itself is asked for"
                take_back(file, [file.tree.span(choice)], 0, why)
