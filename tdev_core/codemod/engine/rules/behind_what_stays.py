"""Finds what is reached on CUDA alone, because nothing but what stays CUDA's leads there.

That is what a kept answer opens, and functions and classes that nothing else uses: private ones, which their file uses alone,
and those that say CUDA in their name and that no other file of the tree names.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.elsewhere import Others
from tdev_core.codemod.engine.python.gates import Gates
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.arms import ARMS
from tdev_core.codemod.engine.rules.asked_by_words import asked_by_words
from tdev_core.codemod.engine.rules.backend_questions import ASKED
from tdev_core.codemod.engine.rules.kernels import CUDA_ONLY, KERNEL, POINTER, TOOL
from tdev_core.codemod.engine.rules.reference_rules import PRIVATE

_HEAD = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", re.MULTILINE)
_NEAR = 6
"""The functions above a change of which it may lie in one: others are nested in that."""
_PRIVATE = re.compile(r"_[a-zA-Z]\w*\Z")


def _is_of_its_file(file: File, name: str) -> bool:
    """Tell whether no other file uses a function or class of this name."""
    if _PRIVATE.match(name) is not None:
        return True
    return file.options.tree is not None and name in file.options.tree.cuda_alone


def behind_what_stays(file: File) -> None:
    """Leave what nothing but what stays leads to; where something has changed there, it is for another look to leave it.

    Arms that an answer opens which a question that stays has given, wherever it is kept, and functions that are called from
    there. A decorator may call a function, and so may who is handed it.
    """
    if file.options.all or file.options.program:
        return
    changed = sorted(_changed(file))
    words = asked_by_words(file) if changed else []
    asks = bool(words) or _may_ask_again(file)
    questions = _questions(file)
    private = file.untouched and changed and _changes_a_private_one(file)
    python = file.python if asks or private or questions else None
    if python is None:
        return
    others = Others(file.options.tree, file.tree.source)
    gates = Gates(python, [*file.gates, *words], file.untouched, _classes(file), others)
    told = Gates(python, file.gates, (), (), others) if words else gates
    behind: dict[Span, str] = {}
    _grow(file, python, gates, behind, told)
    for span, said in behind.items():
        if bisect_left(changed, span[1]) > bisect_left(changed, span[0]):
            file.behind[span] = said
        else:
            file.untouched.append(span)
    if not file.behind:
        _leave_idle_questions(file, python, gates, questions, changed)


def _grow(
    file: File, python: PythonTree, gates: Gates, behind: dict[Span, str], told: Gates
) -> None:
    """Add what is reached from what stays alone, until there is no more of it.

    Args:
        told: knows the questions which have been reported, so that what they open needs no word of its own.
    """
    grown = True
    while grown:
        grown = False
        for span, said in _past_what_refuses(python, gates):
            if span not in behind and span not in gates.stays:
                behind[span] = said
                gates.stays.append(span)
                grown = True
        for span, test in gates.opened():
            if span not in behind:
                behind[span] = ""
                if gates.is_asked(test):
                    silent = told.is_asked(test)
                else:
                    silent = gates.is_an_arm(span, test)
                if not silent:
                    behind[span] = f"only CUDA gets past {_short(python.source(test))}"
                # No half of a condition is rewritten; what stands after the kept one is left with that.
                if isinstance(test, ast.BoolOp) and not gates.is_asked(test):
                    first = python.span(test)[0], python.span(test.values[-1])[0]
                    behind.setdefault(first, "stands beside what stays CUDA's")
                gates.stays.append(span)
                grown = True
        for span, name in _asked_for(python, gates):
            if span not in behind:
                behind[span] = f"{name} is read by nothing but what stays CUDA's"
                gates.stays.append(span)
                grown = True
        for span, name in _called_from(file, python, gates):
            if span not in behind:
                behind[span] = f"{name} is called by nothing but what stays CUDA's"
                gates.stays.append(span)
                grown = True


def _past_what_refuses(python: PythonTree, gates: Gates) -> Iterator[tuple[Span, str]]:
    """Yield each function of the file that raises for all but CUDA, and what follows a call of it: ``device = _checked(device)``.

    With what is said of that. Of one at the margin that does so whenever it is called: nothing returns before, no decorator may
    catch it, and nothing else has its name.
    """
    refusing = {
        function.name: python.span(function)
        for function in python.module.body
        if isinstance(function, ast.FunctionDef)
        and not function.decorator_list
        and _refuses(function, gates)
    }
    for name in _bound_twice(python) if refusing else ():
        refusing.pop(name, None)
    yield from ((span, "") for span in refusing.values())  # whose question has been reported
    for statement in python.statements if refusing else ():
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in refusing:
                pass
            case ast.Assign(value=ast.Call(func=ast.Name(id=name))) if name in refusing:
                pass
            case _:
                continue
        block = python.block(statement)
        if block and block[-1] is not statement:
            rest = python.span(statement)[1], python.span(block[-1])[1]
            yield rest, f"only CUDA gets past {name}()"


def _bound_twice(python: PythonTree) -> set[str]:
    """Return the names that more than one definition, parameter, import or assignment of the file binds."""
    found: Counter[str] = Counter()
    for node in python.everything:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] += 1
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found[node.id] += 1
        elif isinstance(node, ast.arg):
            found[node.arg] += 1
        elif isinstance(node, ast.alias):
            found[(node.asname or node.name).partition(".")[0]] += 1
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name:
            found[node.name] += 1
    return {name for name, count in found.items() if count > 1}


def _refuses(function: ast.FunctionDef, gates: Gates) -> bool:
    if any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(function)):
        return False
    for statement in function.body:
        match statement:
            case ast.If(test=test, body=[*before, ast.Raise()]) if gates.truth(test) == "no":
                inside = (part for each in before for part in ast.walk(each))
                return not any(isinstance(part, ast.Return) for part in inside)
        if any(isinstance(each, ast.Return) for each in ast.walk(statement)):
            return False
    return False


_AUTOCAST = "torch.is_autocast_enabled"
_QUESTIONS = (*ASKED, "torch.cuda.is_initialized", _AUTOCAST)


def _questions(file: File) -> dict[Span, str]:
    """Return the questions for CUDA that have become tdev's, if something stays in the file that they may open."""
    found: dict[Span, str] = {}
    stays = file.asked or file.gates or {*_STAY, ARMS.id} & {rule for rule, _, _ in file.findings}
    for node in file.used if stays or "version.cuda" in file.code else ():
        reference = file.resolver.reference(node)
        if reference is not None and reference.name in _QUESTIONS and not file.stays(node):
            found[file.tree.span(node)] = reference.name
    return found


def _leave_idle_questions(
    file: File,
    python: PythonTree,
    gates: Gates,
    questions: dict[Span, str],
    changed: list[int],
) -> None:
    """Leave each question that opens something which stays, and nothing that changes: it is CUDA's with that.

    Where several stand in one condition, they do so together. A report that has the version of CUDA in it, if that is there,
    has the name of CUDA's device beside it.
    """
    asked = {start for start, _ in questions}
    others = [at for at in changed if at not in asked]
    telling = _tellings(file)
    stay = sorted(_what_stays(file, asked, _STAY))
    # The state of CUDA's autocast is asked for the arms of a chain, which ends in an error for all others.
    beside = sorted(_what_stays(file, asked, {*_STAY, ARMS.id}))
    for together in _by_condition(python, questions):
        supposed = gates.supposing(together)
        opened: dict[Span, str] = {}
        _grow(file, python, supposed, opened, supposed)
        if not opened or any(_moves(python, span) for span in opened):
            continue
        if telling and any(_VERSION.search(file.code, *span) for span in opened):
            if not any(_has([at for at in others if at not in telling], span) for span in opened):
                for span in together:
                    file.behind[span] = f"{questions[span]} opens what is told of CUDA"
                file.behind.update({span: "" for span in opened if _has(others, span)})
                continue
        if all(gates.keeps_for_cuda(span) for span in opened):
            for span in together:
                said = f"{questions[span]} opens what is kept for where only CUDA comes"
                file.behind[span] = said
            file.behind.update({span: "" for span in opened if _has(others, span)})
            continue
        if any(_has(others, span) for span in opened):
            continue
        near = beside if _AUTOCAST in map(questions.get, together) else stay
        if any(_has(near, span) for span in opened) or _uses_what_stays(
            file, python, opened, stay, others
        ):
            for span in together:
                said = f"{questions[span]} opens nothing but what stays CUDA's"
                file.behind[span] = said


_VERSION = re.compile(r"\bversion\.cuda\b")
_TELLING = ("torch.cuda.get_device_name", "torch.cuda.get_device_properties")


def _tellings(file: File) -> set[int]:
    """Return where a device's name is asked for, in a file that tells the version of CUDA."""
    if "version.cuda" not in file.code:
        return set()
    asked = ((node, file.resolver.reference(node)) for node in file.used)
    return {file.tree.span(n)[0] for n, found in asked if found and found.name in _TELLING}


def _by_condition(python: PythonTree, questions: Iterable[Span]) -> list[list[Span]]:
    found: dict[int, list[Span]] = {}
    for span in questions:
        node = top = python.at(span)
        if node is None:
            continue
        for parent in python.ancestors(node):
            if not isinstance(parent, (ast.BoolOp, ast.UnaryOp, ast.Call, ast.Compare)):
                break
            top = parent
        found.setdefault(id(top), []).append(span)
    return list(found.values())


# What stays where it is reported by these.
_STAY = {KERNEL.id, CUDA_ONLY.id, PRIVATE.id, POINTER.id, TOOL.id}


def _what_stays(file: File, asked: Collection[int], rules: Collection[str]) -> Iterator[int]:
    """Yield where something stays CUDA's, by what these rules report and the other questions."""
    for rule, start, _ in file.findings:
        if rule in rules and start not in asked:
            yield start
    for found, _ in file.asked.values():
        yield file.tree.span(found.node)[0]
    for span, _ in file.gates:
        yield span[0]


def _has(places: list[int], span: Span) -> bool:
    return bisect_left(places, span[1]) > bisect_left(places, span[0])


_CUDAS_NAME = re.compile(r"cuda(?::\d+)?\Z")


def _moves(python: PythonTree, span: Span) -> bool:
    """Tell whether something is given CUDA's name, but for a row that is called so."""
    for node in python.everything:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if _CUDAS_NAME.match(node.value) and span[0] <= python.span(node)[0] < span[1]:
                parent = next(python.ancestors(node))
                row = isinstance(parent, ast.Dict) and node in parent.keys
                if not (row or isinstance(parent, (ast.Subscript, ast.Compare))):
                    return True
    return False


def _uses_what_stays(
    file: File, python: PythonTree, opened: Iterable[Span], stay: list[int], others: list[int]
) -> bool:
    """Tell whether a function or class of the file is used that is about what stays, and nothing else."""
    for node in python.module.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            span = python.span(node)
            if _has(stay, span) and not _has(others, span):
                if any(
                    low <= at < high for at in _uses(file.code, node.name) for low, high in opened
                ):
                    return True
    return False


def _short(text: str) -> str:
    return " ".join(text.split())


def _changed(file: File) -> Iterator[int]:
    """Yield where something changes, by itself or by what an import gives it."""
    yield from (start for (start, _), each in file.changes.items() if each.rule != "import")
    for node in (*file.used, *file.shims, *file.given):
        start = file.tree.span(node)[0]
        if not any(low <= start < high for low, high in file.untouched):
            yield start


def _may_ask_again(file: File) -> bool:
    """Tell whether an answer of a question that stays may be asked again, or an object of a class that CUDA alone has."""
    if file.gates:
        return True
    return "isinstance" in file.tree.source and any(n in file.tree.source for n in _classes(file))


def _classes(file: File) -> frozenset[str]:
    """Return the classes of which no object can be made without CUDA: of the tree, of Lightning, and torch's process group of NCCL."""
    own = file.options.tree.cudas_classes if file.options.tree is not None else frozenset()
    return own | {"CUDAAccelerator", "ProcessGroupNCCL"}


def _called_from(file: File, python: PythonTree, gates: Gates) -> list[tuple[Span, str]]:
    """Return the functions and classes of a file that nothing uses but what stays, by their places."""
    found: dict[str, list[Span]] = {}
    switched = gates.switched()
    for node in python.statements:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.decorator_list:
            # A class that is of no use without CUDA says so of its methods, too.
            own = switched and next(python.ancestors(node), None) in switched
            if own or (
                _is_of_its_file(file, node.name)
                and not gates.others.call(node.name, gates.family_of(node))
            ):
                found.setdefault(node.name, []).append(python.span(node))
    behind: list[tuple[Span, str]] = []
    for name, (span, *more) in found.items():
        if more or span in gates.stays:
            continue
        # As the code has them, in a string of it, too.
        outside = [at for at in _uses(file.code, name) if not span[0] <= at < span[1]]
        if outside and all(any(low <= at < high for low, high in gates.stays) for at in outside):
            behind.append((span, name))
    return behind


_ASKS = re.compile(r"(?:\w+\.)*cuda\.(?:is_available|device_count)\(\)\Z")


def _asked_for(python: PythonTree, gates: Gates) -> Iterator[tuple[Span, str]]:
    """Yield the questions whose answer a function keeps for what stays alone: ``n = device_count()`` before ``if stays and n > 1``."""
    for node in python.statements:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as asked):
                pass
            case _:
                continue
        home = next(python.ancestors(node), None)
        while home is not None and not isinstance(home, (ast.FunctionDef, ast.AsyncFunctionDef)):
            home = next(python.ancestors(home), None)
        if home is None or _ASKS.match(ast.unparse(asked)) is None:
            continue
        uses = [
            part
            for part in ast.walk(home)
            if isinstance(part, ast.Name) and part.id == name and part is not node.targets[0]
        ]
        places = [python.span(part)[0] for part in uses]
        if uses and all(isinstance(part.ctx, ast.Load) for part in uses):
            if all(any(low <= at < high for low, high in gates.stays) for at in places):
                yield python.span(asked), name


def _uses(code: str, name: str) -> Iterator[int]:
    """Yield where a name stands as a word of its own, but where it is defined."""
    at = code.find(name)
    while at >= 0:
        end = at + len(name)
        around = code[at - 1 : at] + code[end : end + 1]
        if (
            not any(each.isalnum() or each == "_" for each in around)
            and code[at - 4 : at] != "def "
            and code[at - 6 : at] != "class "
        ):
            yield at
        at = code.find(name, end)


def _changes_a_private_one(file: File) -> bool:
    """Tell by the lines above the changes whether one may lie in such a function or class."""
    heads = [(found.start(), found[1]) for found in _HEAD.finditer(file.tree.source)]
    starts = [start for start, _ in heads]
    for start, _ in file.changes:
        column = file.tree.position(start)[1]
        # The function is the last one above that stands further to the left; of several, any may be it.
        for at, name in heads[max(0, (here := bisect_right(starts, start)) - _NEAR) : here]:
            if _is_of_its_file(file, name) and file.tree.position(at)[1] < max(column, 2):
                return True
    return False


def leave_them(file: File, behind: Mapping[Span, str]) -> None:
    """Leave what has been found so, and say it."""
    for span, said in behind.items():
        file.untouched.append(span)
        if said:
            file.find_at(KERNEL, span[0], f"{said}; left as it is", "note")
