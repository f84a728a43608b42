"""Changes a device flow whole, or leaves it whole.

What the other passes have planned for a flow (:mod:`.flows`) is done where three things hold:

- nothing that it reaches is CUDA's alone (:mod:`.kept`): no tensor or module that is made on the accelerator meets
  code that goes on with CUDA, and no such code what is made elsewhere;
- nothing in it tells of another accelerator, belongs to a process group, computes in double precision or works
  with a package that may know the CPU and CUDA alone, and nothing of that kind joins it to the rest of the tree
  (:mod:`.reasons`);
- what it asks about CUDA's presence decides about what changes with it. A question for anything else is CUDA's, and
  stays by itself.

A comment, a docstring or a name may go on saying CUDA. A flow that stays is reported once for each function or class
in which something was planned, with its lines, the line that decides and what it says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import dotted
from tdev_core.codemod.engine.file import File, Question
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.accelerator.decided import decides_about
from tdev_core.codemod.engine.rules.accelerator.flows import Links, Unit, units_of
from tdev_core.codemod.engine.rules.accelerator.kept import Reading
from tdev_core.codemod.engine.rules.accelerator.literals import current_accelerator
from tdev_core.codemod.engine.rules.accelerator.questions import spelling
from tdev_core.codemod.engine.rules.accelerator.reasons import Reasons
from tdev_core.codemod.engine.rules.accelerator.rules import ACCELERATOR, GAP
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.backend_questions import AVAILABILITY
from tdev_core.codemod.engine.rules.guards import availability_guards
from tdev_core.codemod.engine.rules.strings import STRINGS


def whole_or_not(file: File) -> None:
    """Take back what is planned for a flow that would be changed in part."""
    _ask_generically(file)
    python = file.python
    if python is None:
        file.changes.clear()
    if not file.changes or python is None:
        return
    _keep_cudas_arms(file, python)
    _keep_lonely_questions(file)
    _count_on_one(file)
    reasons = Reasons(file, python)
    units = units_of(file, python)
    if why := reasons.of_all():
        _leave(file, units, dict.fromkeys(units, why))
        return
    for flow, around in _flows(file, python, reasons, units):
        opened = any(map(reasons.opens, flow))
        whys = {unit: reasons.why(unit, opened=opened) for unit in flow}
        if opened and not any(whys.values()):
            whys = {unit: reasons.why(unit, opened=True) for unit in around}
            if not any(whys.values()) and any(map(reasons.tells, flow)):
                whys = dict.fromkeys(flow, reasons.asked_by_a_word(units))
        first = next((unit for unit in whys if whys[unit]), None)
        if first is not None:
            met = f"it meets {first.name}, which stays: {whys[first]}"
            _leave(file, flow, {unit: whys.get(unit) or met for unit in flow})
    if (line := _ends_without_cuda(file, python)) is not None:
        why = f"the file cannot be imported without CUDA: line {line} ends that, which stays: change it, and run again"
        changing = {unit for unit in units if any(c in unit.changes for c in file.changes.values())}
        _leave(file, units, {unit: why for unit in units if unit in changing})


_ASKS_CUDA = re.compile(r"(?:\w+\.)*cuda\.is_available\(\)")
_EXITS = re.compile(r"(?:(?:sys|os|pytest)\.)?_?(?:exit|quit|skip)\(")


def _ends_without_cuda(file: File, python: PythonTree) -> int | None:
    """Return the line outside functions that demands CUDA and goes on to: ``assert torch.cuda.is_available()``."""
    answers: dict[str, ast.expr] = {}
    for statement in python.module.body if "cuda.is_available" in file.tree.source else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                answers[name] = value
                continue
            case ast.Assert(test=test):
                pass
            case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=body) if _ends(body):
                pass
            case ast.If(test=test, orelse=body) if body and _ends(body):
                pass
            case _:
                continue
        parts = (
            test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        )
        for part in parts:
            asked = answers.get(part.id, part) if isinstance(part, ast.Name) else part
            low, high = python.span(asked)
            stays = not any(low <= change.start < high for change in file.changes.values())
            if stays and _ASKS_CUDA.fullmatch(ast.unparse(asked)) is not None:
                return statement.lineno
    return None


def _ends(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise) or _EXITS.match(ast.unparse(body[-1])) is not None


def leave(file: File, places: list[int], why: str) -> None:
    """Take back what is planned for the units of these places and for what changes with them, and report it."""
    python = file.python
    if python is None:
        file.changes.clear()
        return
    units = units_of(file, python)
    reasons = Reasons(file, python)
    for flow, _ in _flows(file, python, reasons, units):
        if any(unit.holds(at) for unit in flow for at in places):
            _leave(file, flow, dict.fromkeys(flow, why))


def _flows(
    file: File, python: PythonTree, reasons: Reasons, units: list[Unit]
) -> list[tuple[list[Unit], list[Unit]]]:
    """Return the flows in which something changes, each with what matters to it where a question opens it."""
    ending = [unit for unit in units if unit.changes or reasons.is_hard(unit)]
    if _is_one(file, python):
        return [(ending, units)]
    reading = reasons.reading
    links = Links(units, lambda node: reading.changes(node) or any(reading.kept([node])))
    wider = links.flows([unit for unit in units if reasons.matters(unit)])
    flows = [flow for flow in links.flows(ending) if any(unit.changes for unit in flow)]
    return [(flow, next(w for w in wider if flow[0] in w)) for flow in flows]


def _is_one(file: File, python: PythonTree) -> bool:
    """Tell whether a file has one flow: an import changes for all of it, or a name is patched for all of it."""
    if file.pieces or any(change.rule == STRINGS.id for change in file.changes.values()):
        return True
    spans = [python.span(node) for node in python.imports]
    return any(low <= c.start < high for c in file.changes.values() for low, high in spans)


def _leave(file: File, units: list[Unit], whys: dict[Unit, str]) -> None:
    """Take back what is planned for units, and report each in which something was."""
    for unit in units:
        if not unit.changes or unit not in whys:
            continue
        for change in unit.changes:
            file.changes.pop((change.start, change.end), None)
        tree = file.tree
        for low, high in unit.spans:
            here = [change.start for change in unit.changes if low <= change.start < high]
            if here:
                end = max(low, min(high, len(tree.source)) - 1)
                first, last = (tree.position(at)[0] for at in (low, end))
                said = f"{unit.name} (lines {first} to {last}) is left whole: {whys[unit]}"
                file.find_at(GAP, here[0], said)


# -- questions that stay -------------------------------------------------------------------------


def _keep_cudas_arms(file: File, python: PythonTree) -> None:
    """Take back what is planned in the arms of a question about what something is: it is CUDA's there."""
    arms = list(Reading(file, python, python.names[0]).cudas_arms(python.module))
    for low, high in arms:
        for span in [s for s in file.changes if low <= s[0] < high]:
            del file.changes[span]
            file.find_at(GAP, span[0], "it stays with the question for CUDA around it", "note")


_MEMORY = re.compile(r"\.(?:reset_(?:peak|max)_|max_)?memory_\w+\Z")


def _count_on_one(file: File) -> None:
    """Take back a count of memory in a function whose other counts go on asking CUDA: they are compared."""
    source = file.tree.source
    for home in file.tree.of(cst.FunctionDef):
        low, high = file.tree.span(home)
        stays = [
            found
            for (_, start, _), found in file.findings.items()
            if low <= start < high and "ask first" in found.message and "memory" in found.message
        ]
        for span in [s for s in file.changes if low <= s[0] < high] if stays else ():
            if _MEMORY.search(source[slice(*span)]):
                del file.changes[span]
                said = f"it counts what line {stays[0].line} counts, which stays"
                file.find_at(GAP, span[0], said, "note")


# -- questions that decide about nothing --------------------------------------------------------

_ASKS = re.compile(r"(?:is_available|device_count)\Z")


def _keep_lonely_questions(file: File) -> None:
    """Take back each question that decides about nothing which changes with it: it is about CUDA, and stays.

    One that chooses between plain values (``600 if torch.cuda.is_available() else 50``) goes with another question of
    its function that does not stay.
    """
    source = file.tree.source
    while True:
        asked = {span for span in file.changes if _ASKS.search(source[slice(*span)])}
        for span, why in _lonely_imports(file, asked):
            del file.changes[span]
            file.find_at(GAP, span[0], why)
        found = {
            span: (node, _stays_alone(file, node, asked))
            for node in (file.tree.of(cst.Attribute, cst.Name) if asked else ())
            if (span := file.tree.span(node)) in asked
            and file.resolver.torch_name(node) in AVAILABILITY
        }
        kept = [enclosing_function(file, node) for node, why in found.values() if not why]
        lonely = {
            span: (node, why)
            for span, (node, why) in found.items()
            if why
            and not (enclosing_function(file, node) in kept and _chooses_plain_values(file, node))
        }
        for span, (node, why) in lonely.items():
            del file.changes[span]
            file.find(GAP, node, why)
        if not lonely:
            return


def _lonely_imports(file: File, asked: set[Span]) -> Iterator[tuple[Span, str]]:
    """Yield the module of ``from torch.cuda import is_available`` where one of the question's uses would stay."""
    for node in file.tree.of(cst.ImportFrom):
        span = file.tree.span(node.module) if node.module is not None else (0, 0)
        if span not in file.changes or isinstance(node.names, cst.ImportStar):
            continue
        names = {f"torch.cuda.{dotted(alias.name)}" for alias in node.names}
        low, high = file.tree.span(node)
        uses = [
            use
            for use in (file.tree.of(cst.Name) if names.intersection(AVAILABILITY) else ())
            if not low <= file.tree.span(use)[0] < high and file.resolver.torch_name(use) in names
        ]
        # What else is imported there changes with it, wherever it stands.
        changed = [
            file.tree.span(u)[0] for u in uses if file.resolver.torch_name(u) not in AVAILABILITY
        ]
        whys = (
            _stays_alone(file, use, asked, changed)
            for use in uses
            if file.resolver.torch_name(use) in AVAILABILITY
        )
        if why := next(filter(None, whys), ""):
            yield span, why


def _stays_alone(
    file: File, node: cst.CSTNode, asked: set[Span], besides: Iterable[int] = ()
) -> str:
    """Return why a question stays: what it guards is CUDA's, or nothing of it changes."""
    name = file.tree.text(node)
    if (guarded := availability_guards(file, node)) is not None:
        return f"{name} guards {guarded}, and stays"
    spans = list(decides_about(file, node))
    others = [*besides, *(c.start for key, c in file.changes.items() if key not in asked)]
    if any(low <= start < high for start in others for low, high in spans):
        return ""
    return (
        f"{name} decides about nothing that is seen to have a device; where any accelerator will do, "
        "ask torch.accelerator"
    )


_PLAIN = re.compile(r"(?:[\s\w=+*/,.-]|#.*)*\Z")
_OF_ONE = re.compile(
    r"(?i)cuda|gpu|nccl|nvidia|amp|fp16|half|bf?16|float|pin|backend|rank|world|dist"
)


def _chooses_plain_values(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question is the whole test of a choice between numbers and the like, of no kind of device."""
    call = file.tree.parents[node]
    choice = file.tree.parents[call]
    if not isinstance(choice, (cst.If, cst.IfExp)) or choice.test is not call:
        return False
    arms = [choice.body, *([choice.orelse] if choice.orelse is not None else [])]
    texts = [re.sub(r"\A(?:else)?\s*:", "", file.tree.text(arm).strip()) for arm in arms]
    return all(_PLAIN.match(text) and not _OF_ONE.search(text) for text in texts)


# -- comparisons with "cuda" --------------------------------------------------------------------


def _ask_generically(file: File) -> None:
    """Plan the comparisons with ``"cuda"`` whose arms are generic, and report the others."""
    for question in file.questions:
        node = question.node
        current = current_accelerator(file, node)
        text = spelling(file, question, current)
        if text is not None and _is_generic(file, question):
            file.replace_node(ACCELERATOR, node, text)
        elif text is not None:
            file.find(
                question.rule,
                node,
                f"asks for CUDA alone; where any accelerator will do, compare with {current}.type",
            )
        elif question.said:
            file.find(question.rule, node, question.said)


def _is_generic(file: File, question: Question) -> bool:
    """Tell whether something of what a question decides about changes: then it is not CUDA's alone."""
    spans = list(decides_about(file, question.node, question.yes))
    own = file.tree.span(_condition(file, question.node))
    decided = [
        change.text
        for change in file.changes.values()
        if not own[0] <= change.start < own[1] and any(a <= change.start < b for a, b in spans)
    ]
    # What moves something beside a tensor of CUDA's wants that tensor's device: `y.to(x.device)`.
    moves = (t for t in decided if "current_accelerator" in t and not re.search(r" [!=]= ", t))
    return bool(decided) and next(moves, None) is None


def _condition(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Return the whole condition that a question is a part of."""
    whole = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            whole = parent
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            break
    return whole
