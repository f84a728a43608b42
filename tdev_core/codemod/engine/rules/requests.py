"""Tells what was asked for from what there is: ``if device == "cuda" and not torch.cuda.is_available()``.

The word is the caller's there, or that of a command line, and not the device in use. Asked of that, the
condition could never be true, and the way out that it opens would be dead.
"""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.lines import Span

_NAMED = re.compile(
    r"==\s*(?:(?:\w+\.)*device\([\"']cuda[\"']\)\.type|[\"']cuda[\"'])|[\"']cuda[\"']\s*(?:==|in\b)|\.startswith\(\s*[\"']cuda:?[\"']"
)
_NOT_NAMED = re.compile(r"!=\s*[\"']cuda[\"']|[\"']cuda[\"']\s*(?:!=|not\s+in\b)")
_THERE = r"(?:\w+\.)*(?:cuda\.is_available|is_(?:torch_)?cuda_available|cuda_is_available)\(\)"
_COUNT = r"(?:\w+\.)*cuda\.device_count\(\)\s*"
_MISSING = re.compile(rf"\bnot\s+\(?\s*{_THERE}|{_COUNT}(?:==\s*0|<\s*1)\b")
_IS_THERE = re.compile(rf"(?<!not ){_THERE}|{_COUNT}(?:>\s*0|>=\s*1)\b")
_FIRST = r"\s*(?:#[^\n]*\s*)*if\s+"
_MISSING_IN_THE_ARM = re.compile(rf"(?:^|\n)[ \t]*if\s+(?:{_MISSING.pattern})\s*:")
_FIRST_MISSING = re.compile(rf"{_FIRST}(?:{_MISSING.pattern})")


def beside_a_request(file: File, question: cst.CSTNode) -> bool:
    """Tell whether the question if there is CUDA decides about a device that was asked for by its name."""
    if file.options.program:
        return False
    return _beside(file, question, _NAMED, _NOT_NAMED) or _in_the_arm_of(file, question)


def compared_with_the_word(file: File, question: cst.CSTNode) -> bool:
    """Tell whether the word beside a question is what a device's type is compared with afterwards.

    ``if kind == "cuda" and not is_available(): skip()``, and then ``assert x.device.type == kind``: asked of
    another accelerator, that would fail where it was skipped.
    """
    beside = next((p for p in file.tree.ancestors(question) if isinstance(p, cst.If)), None)
    home = next((p for p in file.tree.ancestors(question) if isinstance(p, cst.FunctionDef)), None)
    if beside is None or home is None:
        return False
    if _TYPE_OF_THE_WORD.search(file.code) is not None:
        return True
    words = set(re.findall(r"(?<![\w.\"'])[a-z_]\w*(?![\w.\"'(])", file.tree.text(beside.test)))
    words -= {"and", "or", "not", "in"}
    names = "|".join(
        [*map(re.escape, sorted(words)), *_BEFORE_A_METHOD.findall(file.tree.text(beside.test))]
    )
    after = file.tree.source[file.tree.span(beside)[1] : file.tree.span(home)[1]]
    compared = rf"\.type(?:\s*==\s*|\.startswith\(\s*)(?:{names})\b"
    return bool(names) and re.search(compared, after) is not None


# Of a helper that checks where something has come to: `assert tensor.device.type == device_input`.
_TYPE_OF_THE_WORD = re.compile(r"\bassert\b[^\n]*\.type\s*==\s*\w*device\w*\s*(?:\n|,|#|\Z)")
_BEFORE_A_METHOD = re.compile(r"(?<![\w.])([a-z_]\w*)\.startswith\(")


def is_a_request(file: File, comparison: cst.CSTNode, operand: cst.CSTNode) -> bool:
    """Tell whether a comparison with ``"cuda"`` asks for a word beside the question if there is CUDA."""
    said = file.tree.text(comparison)
    if file.options.program or not (_NAMED.search(said) or _NOT_NAMED.search(said)):
        return False
    if _beside(file, comparison, _MISSING, _IS_THERE):
        return True
    # The type of a device is no longer the word: what else stands in the arm is for whatever is used.
    if (
        isinstance(operand, cst.Call)
        or isinstance(operand, cst.Attribute)
        and operand.attr.value == "type"
    ):
        return False
    below = comparison
    for parent in file.tree.ancestors(comparison):
        if isinstance(parent, cst.If):
            asks = below is parent.test
            return asks and _MISSING_IN_THE_ARM.search(file.tree.text(parent.body)) is not None
        if not isinstance(parent, cst.BooleanOperation):
            return False
        below = parent
    return False


def _beside(
    file: File, node: cst.CSTNode, needed: re.Pattern[str], otherwise: re.Pattern[str]
) -> bool:
    """Tell whether a condition needs something else besides, or is true without ``node`` by its opposite."""
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            other = parent.left if parent.right is below else parent.right
            wanted = needed if isinstance(parent.operator, cst.And) else otherwise
            if wanted.search(file.tree.text(other)):
                return True
        elif isinstance(parent, (cst.BaseSuite, cst.BaseSmallStatement, cst.Lambda, cst.Arg)):
            return False
        elif not isinstance(parent, (cst.UnaryOperation, cst.Call)):
            return False
        below = parent
    return False


_OF_THE_TYPE = r"(?<![\w.])([\w.]+)\.type\s*==\s*[\"']cuda[\"']"
_NOT_THERE = r"not\s+(?:\w+\.)*cuda\.is_available\(\)"
_ABSENT = re.compile(_NOT_THERE)
"""By itself, as `re` looks for what begins with a word many times faster than for a choice."""
_REQUESTED = re.compile(rf"{_OF_THE_TYPE}\s+and\s+{_NOT_THERE}|{_NOT_THERE}\s+and\s+{_OF_THE_TYPE}")


def _requested(text: str) -> set[str]:
    """Return what is asked for its type beside the question if there is CUDA, in either order."""
    return {name for names in _REQUESTED.findall(text) for name in names if name}


def requested_devices(file: File, home: cst.FunctionDef | None) -> set[str]:
    """Return the devices that a function makes of what was asked for, and asks whether they are there.

    ``if device.type == "cuda" and not torch.cuda.is_available(): device, dtype = cpu, torch.float32``: of the device in
    use that could never be true.
    """
    if home is None or file.options.program:
        return set()
    if (known := file.requested.get(home)) is None:
        text = file.tree.text(home)
        file.requested[home] = known = {
            name
            for name in _requested(text)
            if re.search(rf"(?<![\w.]){re.escape(name)}\s*=\s*(?:\w+\.)?device\(", text)
        }
    return known


_CONSTANT = r"(?<![\w.])(?:[\w.]+)\s*==\s*([A-Za-z_]\w*)"
_COMPARED = re.compile(rf"{_CONSTANT}\s+and\s+{_NOT_THERE}|{_NOT_THERE}\s+and\s+{_CONSTANT}")


def is_compared_beside_the_question(file: File, call: cst.CSTNode) -> bool:
    """Tell whether a module's device is what tests compare theirs with before they ask whether it is there.

    ``GPU = torch.device("cuda")``, ``if device == GPU and not torch.cuda.is_available(): skip()``: made the CPU where there
    is nothing else, it would be that of the CPU's turn as well.
    """
    source = file.tree.source
    if file.options.program or " and " not in source or _ABSENT.search(source) is None:
        return False
    above = file.tree.ancestors(call)
    kept = next(p for p in above if not isinstance(p, (cst.Element, cst.List, cst.Tuple)))
    if not isinstance(kept, cst.Assign):
        return False
    names = {name for found in _COMPARED.findall(source) for name in found if name}
    tree = file.python if names else None
    made = tree.at(file.tree.span(call)) if tree is not None else None
    if tree is None or made is None:
        return False
    below: ast.AST = made
    at: int | None = None
    for parent in tree.ancestors(made):
        if isinstance(parent, (ast.List, ast.Tuple)) and at is None:
            at = next(i for i, each in enumerate(parent.elts) if each is below)
        elif isinstance(parent, ast.Assign) and parent in tree.module.body:
            targets = [
                each.elts[at]
                if at is not None and isinstance(each, (ast.List, ast.Tuple))
                else each
                for each in parent.targets
                if at is None or isinstance(each, (ast.List, ast.Tuple)) and at < len(each.elts)
            ]
            return any(isinstance(each, ast.Name) and each.id in names for each in targets)
        else:
            return False
        below = parent
    return False


def asks_for_a_requested_device(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a question decides about such a device, or chooses the word that it is made of."""
    home = next((p for p in file.tree.ancestors(question) if isinstance(p, cst.FunctionDef)), None)
    names = requested_devices(file, home)
    for parent in file.tree.ancestors(question) if names else ():
        if isinstance(parent, (cst.Assign, cst.AnnAssign)) and home is not None:
            target = parent.targets[0] if isinstance(parent, cst.Assign) else parent
            word = re.escape(file.tree.text(target.target))
            made = rf"(?<![\w.])(?:{'|'.join(map(re.escape, names))})\s*=\s*(?:\w+\.)?device\(\s*{word}\s*\)"
            return re.search(made, file.tree.text(home)) is not None
        if isinstance(parent, cst.BooleanOperation):
            return not names.isdisjoint(_requested(file.tree.text(parent)))
        if not isinstance(parent, (cst.UnaryOperation, cst.Call, cst.IfExp)):
            return False
    return False


def handed_out(file: File, question: cst.CSTNode) -> list[Span] | None:
    """Return where a function returns the devices that it was asked for; None where it does more with them than to ask.

    Such a device is a word until it is returned: it becomes a real one there.
    """
    home = next((p for p in file.tree.ancestors(question) if isinstance(p, cst.FunctionDef)), None)
    names = requested_devices(file, home)
    tree = file.python if names and all(name.isidentifier() for name in names) else None
    asked = tree.at(file.tree.span(question)) if tree is not None else None
    if tree is None or asked is None or file.options.style != "explicit":
        return None
    homes = (ast.FunctionDef, ast.AsyncFunctionDef)
    function = next((p for p in tree.ancestors(asked) if isinstance(p, homes)), None)
    returned: list[Span] = []
    real = False
    for node in ast.walk(function) if function is not None else ():
        if (
            not isinstance(node, ast.Name)
            or node.id not in names
            or isinstance(node.ctx, ast.Store)
        ):
            continue
        around = list(tree.ancestors(node))
        match around[0]:
            case ast.Return():
                returned.append(tree.span(node))
            case ast.Attribute(attr="type" | "index"):
                if not isinstance(around[1], (ast.Compare, ast.FormattedValue)):
                    return None
            case ast.FormattedValue() | ast.Compare(comparators=[ast.Constant()]):
                pass
            case ast.Call(func=called) if _ASKS_OR_TELLS.search(ast.unparse(called)):
                pass
            case ast.Call(func=ast.Name(id="device") | ast.Attribute(attr="device")):
                # `return tdev.device(device)`, of an earlier run; `device = torch.device(device)`
                kept = around[1]
                real = real or isinstance(kept, ast.Return)
                if isinstance(kept, ast.Assign) and ast.unparse(kept.targets[0]) == node.id:
                    pass
                elif not isinstance(kept, ast.Return):
                    return None
            case _:
                return None
    return returned if returned or real else None


# `isinstance(device, str)`, `logger.warning("…", device)`.
_ASKS_OR_TELLS = re.compile(r"(?:\A|\.)(?:isinstance|print|format|warn|warning|info|debug|error)\Z")


def _in_the_arm_of(file: File, question: cst.CSTNode) -> bool:
    """Tell whether ``if not is_available()`` is the first thing in the arm of a request."""
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.If):
            arm = file.tree.parents[parent]
            outer = file.tree.parents.get(arm)
            if not isinstance(outer, cst.If) or outer.body is not arm:
                return False
            if not _FIRST_MISSING.match(file.tree.text(arm)):
                return False
            first = file.tree.source[slice(file.tree.span(arm)[0], file.tree.span(parent)[0])]
            test = file.tree.text(outer.test)
            return not re.search(r"\bif\b", first) and _NAMED.search(test) is not None
        if not isinstance(parent, (cst.UnaryOperation, cst.Call)):
            return False
    return False


def chooses_by_word(file: File, comparison: cst.CSTNode, operand: cst.CSTNode) -> bool:
    """Tell whether a chain compares the same operand with other words, and knows no further: it ends in an error.

    Or takes the word apart that it asked for: ``_, index = device.split(":")``.
    """
    tree = file.python
    asked = tree.at(file.tree.span(comparison)) if tree is not None else None
    if tree is None or asked is None:
        return False
    head = next(iter(tree.ancestors(asked)), None)
    if not isinstance(head, ast.If) or head.test is not asked:
        return False
    word = file.tree.text(operand)
    for choice in (head, *tree.ancestors(head)):
        if isinstance(choice, ast.If) and word in ast.unparse(choice.test):
            if _takes_apart(word, tree.text(choice.body)):
                return True
    for above in tree.ancestors(head):
        if not isinstance(above, ast.If) or above.orelse != [head]:
            break
        head = above
    same = re.sub(r"\s", "", file.tree.text(operand))
    words: list[str] = []
    link = head
    while True:
        if (said := _word(link.test, same)) is not None:
            words.append(said)
        if len(link.orelse) != 1 or not isinstance(link.orelse[0], ast.If):
            break
        link = link.orelse[0]
    ends = bool(link.orelse) and isinstance(link.orelse[-1], ast.Raise)
    return ends and any(not word.startswith("cuda") for word in words)


def answers_for_each(file: File, comparison: cst.CSTNode, operand: cst.CSTNode) -> bool:
    """Tell whether a function knows an answer for each kind of device: ``True`` for CUDA, something for the CPU, then ``False``."""
    tree = file.python if "return True" in file.tree.source else None
    asked = tree.at(file.tree.span(comparison)) if tree is not None else None
    head = (
        next(iter(tree.ancestors(asked)), None) if tree is not None and asked is not None else None
    )
    if tree is None or not isinstance(head, ast.If) or head.test is not asked:
        return False
    block = tree.block(head)
    later = block[block.index(head) + 1 :] if head in block else []
    match [*head.body, *later[-1:]]:
        case [
            ast.Return(value=ast.Constant(value=True)),
            ast.Return(value=ast.Constant(value=False)),
        ]:
            same = re.sub(r"\s", "", file.tree.text(operand))
            words = [_word(each.test, same) for each in later if isinstance(each, ast.If)]
            return any(word is not None and not word.startswith("cuda") for word in words)
        case _:
            return False


def _takes_apart(word: str, arm: str) -> bool:
    """Tell whether an arm takes a word apart: ``device.split(":")``, ``int(device[5:])``."""
    apart = rf"(?<![\w.]){re.escape(word)}(?:\.(?:r?split|r?partition|removeprefix|replace|lstrip)\(|\[\d+:\])"
    return re.search(apart, arm) is not None


def _word(test: ast.expr, operand: str) -> str | None:
    """Return the word that a test compares an operand with."""
    match test:
        case (
            ast.Compare(left=asked, ops=[ast.Eq()], comparators=[ast.Constant(value=str(word))])
            | ast.Compare(left=ast.Constant(value=str(word)), ops=[ast.In()], comparators=[asked])
        ):
            return word if re.sub(r"\s", "", ast.unparse(asked)) == operand else None
        case _:
            return None
