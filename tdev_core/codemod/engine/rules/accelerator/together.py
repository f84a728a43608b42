"""Has a question and what it decides about change together, or not at all.

``if torch.accelerator.is_available(): model.cuda(i)`` asks for CUDA where there is none, while both
lines as they were, or both in generic names, do not. So this looks at what the other passes have
planned: where something of CUDA's is left in what a question decides about, the question stays, and
with it all that it decides about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import descendants, dotted, string_value
from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.file import Change, File, Question
from tdev_core.codemod.engine.rules.accelerator.literals import current_accelerator
from tdev_core.codemod.engine.rules.accelerator.questions import spelling
from tdev_core.codemod.engine.rules.accelerator.reported import UNGUARDED
from tdev_core.codemod.engine.rules.accelerator.rules import ACCELERATOR, GAP
from tdev_core.codemod.engine.rules.accelerator.whole import requirements, whole
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.guards import after_early_exit
from tdev_core.codemod.engine.rules.kernels import CUDA_ONLY, KERNEL
from tdev_core.codemod.engine.rules.references import AVAILABILITY, every_reference
from tdev_core.codemod.engine.rules.strings import STRINGS

_LEFT = frozenset({GAP.id, CUDA_ONLY.id, KERNEL.id})
_STREAMS = re.compile(r"[sS]tream|Event")
_KEEPS = "decides about what only CUDA has; left as it is, with what it decides about"
# Strings, and comments, which may hold quotes of their own.
_STRING = re.compile(
    r"#[^\n]*|[rRfFbBuU]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')",
    re.DOTALL,
)
_CODE = re.compile(r"\{[^{}]*\}")
# A message, not a key: it says CUDA as a word, or asks for it by its name in torch.
_MESSAGE = re.compile(r"(?<![.\w:{])cuda(?![.\w:])|torch\.cuda\.|\bnvml\b|nvidia", re.IGNORECASE)


def together(file: File) -> None:
    """Take back what is planned for questions, and for what they decide about, where that stays CUDA's."""
    settle(file, set())


def settle(file: File, dropped: set[int]) -> None:
    """Do so until it holds; ``dropped`` are the places at which something planned will not be done."""
    for rule in (whole, requirements):
        for span, why in list(rule(file)):
            _take_back(file, [span], 0, why)
    _patched_alone(file)
    _beside_a_kept_device(file)
    _beside_a_kept_number(file)
    _beside_what_raises(file)
    asked = [f for f in every_reference(file) if f.name in AVAILABILITY and f.package == "torch"]
    waiting = {f.node: list(decides_about(file, f.node)) for f in asked if not file.kept(f.node)}
    kept = _ask_generically(file)
    for question in kept:
        _take_back(file, _spans_of(file, question), _line(file, question.node))
    waiting |= {q.node: _spans_of(file, q) for q in file.questions if q not in kept}
    if not waiting:
        return
    left = dropped | {
        start
        for (rule, start, _), finding in file.findings.items()
        if rule in _LEFT and finding.severity != "note" and start not in file.harmless
    }
    for sum_ in file.tree.of(cst.BinaryOperation):
        text = string_value(sum_.left)
        if text in ("cuda", "cuda:") and not _planned(file, file.tree.span(sum_.left)):
            left.add(file.tree.span(sum_)[0])
    for node in list(waiting):
        if _planned(file, file.tree.span(node)) and (line := _lies(file, node)):
            file.find(GAP, node, f"the message in line {line} says CUDA; left as it is, with that")
            left |= _take_back(file, [file.tree.span(node)], 0)
    again = True
    while again:
        again = False
        for node, spans in list(waiting.items()):
            at = file.tree.span(node)
            stays = not _planned(file, at)
            held = any(a <= start < b for start in left for a, b in spans)
            if not stays and not held and not _only_harmless(file, at, spans):
                continue
            if not stays:
                file.find(GAP, node, f"{file.tree.text(node)} {_KEEPS}")
            del waiting[node]
            left |= _take_back(file, [at, *spans], _line(file, node))
            again = True
    _asked_for_alone(file, [f.node for f in asked if not _planned(file, file.tree.span(f.node))])


_SWITCH = re.compile(r"(?:use_)?(?:cuda|gpu)\Z")


def _asked_for_alone(file: File, kept: list[cst.BaseExpression]) -> None:
    """Take back what a switch of functions decides about that is only turned on where CUDA itself was asked for.

    ``def check(cuda=False)`` with ``if torch.cuda.is_available(): check(cuda=True)``: a test of a library's.
    """
    spans: list[Span] | None = None
    on: dict[str, int] = {}
    for arg in file.tree.of(cst.Arg) if kept and file.changes else ():
        name = arg.keyword.value if arg.keyword is not None else ""
        if not _SWITCH.match(name) or getattr(arg.value, "value", "") != "True":
            continue
        if spans is None:
            spans = [span for node in kept for span in decides_about(file, node)]
        at = file.tree.span(arg)[0]
        inside = any(a <= at < b for a, b in spans)
        on[name] = 0 if not inside else on.get(name, _line(file, arg))
    for choice in file.tree.of(cst.If, cst.IfExp) if any(on.values()) else ():
        test = choice.test
        if isinstance(test, cst.Name) and (line := on.get(test.value)):
            home = enclosing_function(file, choice)
            if home is not None and any(
                p.name.value == test.value
                for p in (*home.params.params, *home.params.kwonly_params)
            ):
                why = f"is turned on by {test.value}=True in line {line} alone, which stays CUDA's"
                _take_back(file, [file.tree.span(choice)], 0, why)


def _only_harmless(file: File, at: Span, spans: list[Span]) -> bool:
    """Tell whether a question decides about nothing but what is CUDA's and does nothing elsewhere."""
    if not any(a <= start < b for start in file.harmless for a, b in spans):
        return False
    return not any(
        a <= change.start < b and not at[0] <= change.start < at[1]
        for change in file.changes.values()
        for a, b in spans
    )


def _ask_generically(file: File) -> list[Question]:
    """Plan the questions whose arms are generic, and report and return the others."""
    kept = []
    for question in file.questions:
        node = question.node
        if _planned(file, file.tree.span(node)):
            continue
        current = current_accelerator(file, node)
        text = spelling(file, question, current)
        if text is not None and _is_generic(file, question):
            file.replace_node(ACCELERATOR, node, text)
            continue
        kept.append(question)
        if text is not None:
            said = (
                f"asks for CUDA alone; where any accelerator will do, compare with {current}.type"
            )
            file.find(question.rule, node, said)
        elif question.said:
            file.find(question.rule, node, question.said)
    return kept


def _is_generic(file: File, question: Question) -> bool:
    """Tell whether something of what a question decides about changes: then it is not CUDA's alone."""
    low, high = file.tree.span(_condition(file, question.node))
    return any(
        a <= change.start < b and not low <= change.start < high
        for change in file.changes.values()
        for a, b in _spans_of(file, question)
    )


def _condition(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Return the whole condition that a question is a part of."""
    whole = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            whole = parent
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            break
    return whole


def _spans_of(file: File, question: Question) -> list[Span]:
    """What a question decides about, with the whole condition that it is a part of.

    An assertion, and what raises, is about the function that it stands in: that is ported as a whole.
    """
    spans = list(decides_about(file, question.node, question.yes))
    spans.append(file.tree.span(_condition(file, question.node)))
    for parent in file.tree.ancestors(question.node):
        raises = isinstance(parent, cst.If) and _RAISES.search(file.tree.text(parent.body))
        if raises or isinstance(parent, cst.Assert) or isinstance(question.node, cst.Call):
            home = enclosing_function(file, parent)
            if home is not None:
                spans.append(file.tree.span(home.body))
        if isinstance(parent, (cst.If, cst.BaseSmallStatement, cst.BaseSuite)):
            break
    return spans


def _beside_a_kept_device(file: File) -> None:
    """Take back what is planned for a function in which a tensor goes to a device that stays CUDA's.

    What the function makes elsewhere meets that tensor, as in a collective.
    """
    left = {start for (rule, start, _), f in file.findings.items() if f.message.endswith(UNGUARDED)}
    for node in file.tree.of(cst.SimpleString) if left and file.changes else ():
        if file.tree.span(node)[0] in left and _moves(file, node):
            if (home := enclosing_function(file, node)) is not None:
                line = _line(file, node)
                why = f"stays CUDA's with the device in line {line}"
                _take_back(file, [file.tree.span(home)], line, why)


def _beside_a_kept_number(file: File) -> None:
    """Take back the number of a device that is put behind a ``"cuda:"`` which stays, as in a key of a table."""
    for sum_ in file.tree.of(cst.BinaryOperation) if file.changes else ():
        if string_value(sum_.left) != "cuda:" or _planned(file, file.tree.span(sum_.left)):
            continue
        used = {n.value for n in descendants(sum_.right) if isinstance(n, cst.Name)}
        home = enclosing_function(file, sum_) or file.tree.module
        line = _line(file, sum_)
        for assign in file.tree.of(cst.Assign):
            if (enclosing_function(file, assign) or file.tree.module) is not home:
                continue
            if any(dotted(target.target) in used for target in assign.targets):
                why = f"stays CUDA's with the device in line {line}"
                _take_back(file, [file.tree.span(assign)], line, why)


_NO_OTHER = re.compile(r"(torch\.cuda\.[\w.]+)(?:: (?:it has no|give torch)| goes, or may go, )")

# Asked where there is no CUDA, these answer no, or nothing.
_ANSWERS_ANYWHERE = re.compile(r"is_|ipc_collect\Z|get_arch_list\Z|\w+_all\Z")


def _beside_what_raises(file: File) -> None:
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
            line = _line(file, node)
            why = f"stays CUDA's with {name} in line {line}"
            _take_back(file, [file.tree.span(block)], line, why)


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


def _moves(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a device is that of a call: ``x.to(…)``, ``device=…``."""
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Arg):
            call = file.tree.parents[parent]
            to = isinstance(call, cst.Call) and (dotted(call.func) or ".to").endswith(".to")
            named = parent.keyword is not None and parent.keyword.value == "device"
            return to or named and file.resolver.torch_name(getattr(call, "func", call)) is not None
        if not isinstance(parent, cst.IfExp) or below is parent.test:
            return False
        below = parent
    return False


def _patched_alone(file: File) -> None:
    """Take back a patched name that the file does not ask for itself: the code that does may stay CUDA's."""
    source = file.tree.source
    asked = {source[c.start : c.end] for c in file.changes.values() if c.rule != STRINGS.id}
    for change in [c for c in file.changes.values() if c.rule == STRINGS.id]:
        name = source[change.start : change.end].strip("\"'")
        if name not in asked:
            del file.changes[change.start, change.end]
            said = f"{name} is patched for code elsewhere; it changes with that"
            file.find_at(GAP, change.start, said, "note")


def _lies(file: File, node: cst.CSTNode) -> int:
    """Return the line of a message that would be wrong once a question is asked of any accelerator."""
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.If, cst.IfExp)) and below is parent.test:
            return _message(file, parent)
        if isinstance(parent, cst.Call) and below is not parent.func:
            if _PRINTS.search(file.tree.text(parent.func)) and (line := _message(file, parent)):
                return line
        if isinstance(parent, (cst.BaseSuite, cst.BaseSmallStatement)):
            return 0
        below = parent
    return 0


def _message(file: File, node: cst.CSTNode) -> int:
    """Return the line of the first message below ``node`` that says CUDA; 0 where there is none."""
    for found in _STRING.finditer(file.tree.source, *file.tree.span(node)):
        text = _CODE.sub("", found.group())
        if text[0] != "#" and " " in text.strip("\"' ") and _MESSAGE.search(text):
            return file.tree.position(found.start())[0]
    return 0


_RAISES = re.compile(r"\A\s*raise\b")
# What is printed, and the label of a report: `add(output, "Has CUDA", …)`.
_PRINTS = re.compile(
    r"(?:^|\.)(?:print|echo|log\w*|info|debug|warn\w*|error|critical|write|add|\w*append)\Z"
)


def _planned(file: File, at: Span) -> bool:
    return any(start <= at[0] and at[1] <= end for start, end in file.changes)


def _line(file: File, node: cst.CSTNode) -> int:
    return file.tree.position(file.tree.span(node)[0])[0]


def _take_back(file: File, spans: list[Span], line: int, why: str = "") -> set[int]:
    """Drop the changes inside these spans; returns where they were."""
    dropped = [c for c in file.changes.values() if any(a <= c.start < b for a, b in spans)]
    if any(_is_of_streams(file, change) for change in dropped):
        # torch's streams and CUDA's do not mix.
        dropped += [
            c for c in file.changes.values() if c not in dropped and _is_of_streams(file, c)
        ]
    said = {line}
    for change in dropped:
        del file.changes[change.start, change.end]
        here = file.tree.position(change.start)[0]
        if here not in said and (line or why):
            said.add(here)
            told = why or f"stays CUDA's with the question in line {line}"
            file.find_at(GAP, change.start, told, "note")
    return {change.start for change in dropped}


def _is_of_streams(file: File, change: Change) -> bool:
    return _STREAMS.search(file.tree.source[change.start : change.end]) is not None


def decides_about(file: File, node: cst.CSTNode, yes: bool = True) -> Iterator[Span]:
    """Yield the spans that are only reached, or only meant, where a question is answered with yes.

    An arm and its condition, what follows an early exit or an assertion, a loop over devices, what is
    decorated, and the same for a variable or a function that gives the answer.
    """
    tree = file.tree
    below = node
    for parent in tree.ancestors(node):
        match parent:
            case cst.UnaryOperation(operator=cst.Not()):
                yes = not yes
            case cst.Comparison():
                yes = yes != _asks_for_none(parent)
            case cst.If() | cst.While() if below is parent.test:
                yield tree.span(parent.test)
                yield from _arm(file, parent, yes)
                return
            case cst.IfExp() if below is parent.test:
                yield tree.span(parent)
            case cst.BooleanOperation(operator=cst.And()):
                yield tree.span(parent)
            case cst.Assert():
                block = tree.parents[tree.parents[parent]]
                yield tree.span(parent)[0], tree.span(block)[1]
                return
            case cst.For() if below is parent.iter:
                yield tree.span(parent)
                return
            case cst.CompFor() if below is parent.iter:
                yield tree.span(tree.parents[parent])
            case cst.Decorator():
                yield tree.span(tree.parents[parent])
                return
            case cst.Assign() | cst.AnnAssign() | cst.NamedExpr():
                target = (
                    parent.targets[0].target if isinstance(parent, cst.Assign) else parent.target
                )
                if (name := dotted(target)) is not None:
                    yield from _decided_by(file, parent, name)
                return
            case cst.Return():
                home = enclosing_function(file, parent)
                if home is not None:
                    yield from _decided_by(file, home, home.name.value)
                return
            case cst.BaseSuite() | cst.BaseSmallStatement() | cst.Lambda():
                return
            case _:
                pass
        below = parent


def _asks_for_none(node: cst.Comparison) -> bool:
    """Tell whether a comparison of a count is true where there is nothing: ``== 0``, ``< 1``."""
    operator, other = node.comparisons[0].operator, node.comparisons[0].comparator
    zero = isinstance(other, cst.Integer) and other.value == "0"
    return (
        isinstance(operator, cst.Equal)
        and zero
        or isinstance(operator, (cst.LessThan, cst.LessThanEqual))
    )


def _arm(file: File, choice: cst.If | cst.While, yes: bool) -> Iterator[Span]:
    if yes:
        yield file.tree.span(choice.body)
        return
    if choice.orelse is not None:
        yield file.tree.span(choice.orelse)
    later = after_early_exit(file, choice) if isinstance(choice, cst.If) else None
    if later is not None:
        yield later


def _decided_by(file: File, node: cst.CSTNode, name: str) -> Iterator[Span]:
    """Yield what the choices decide about that ask for a variable, an attribute or a function."""
    home: cst.CSTNode = enclosing_function(file, node) or file.tree.module
    if "." in name:
        owner = (p for p in file.tree.ancestors(node) if isinstance(p, cst.ClassDef))
        home = next(owner, home)
    used = re.compile(rf"(?<![.\w]){re.escape(name)}(?!\w)")
    for choice in descendants(home):
        if isinstance(choice, cst.If) and (found := used.search(file.tree.text(choice.test))):
            before = file.tree.text(choice.test)[: found.start()]
            yield from _arm(file, choice, not before.rstrip().endswith("not"))
        elif isinstance(choice, (cst.IfExp, cst.BooleanOperation)):
            asks = choice.test if isinstance(choice, cst.IfExp) else choice.left
            if used.search(file.tree.text(asks)):
                yield file.tree.span(choice)
