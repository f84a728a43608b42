"""Finds questions that only decide what is told, or whether memory is page-locked: they stay CUDA's."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree

_MESSAGE = r"(?:print|\w*(?:log|logger|logging|warnings)\.(?:debug|info|warn|warning|error|critical|exception))\("
ONLY_TELLS = "opens a message that says CUDA; left as it is: reword it, or it is said of any device"
_TELLS = re.compile(rf"\s*{_MESSAGE}")
_TELLS_OF_CUDA = re.compile(r"cuda|nvidia", re.IGNORECASE)


def only_tells_of_cuda(file: File, node: cst.CSTNode) -> bool:
    """Tell whether all that a question opens is a message that says CUDA: it would say so of another device."""
    asked = file.tree.parents[node] if isinstance(file.tree.parents[node], cst.Call) else node
    test, choice = asked, file.tree.parents[asked]
    # Whether there is CUDA is one question: what else is asked is no part of it.
    while (
        asked is not node
        and isinstance(choice, cst.BooleanOperation)
        and isinstance(choice.operator, cst.And)
    ):
        test, choice = choice, file.tree.parents[choice]
    if not isinstance(choice, cst.If) or choice.test is not test or choice.orelse is not None:
        return False
    if test is not asked and isinstance(file.tree.parents[choice], cst.If):
        return False  # an `elif`: the arms before it ask in another way
    if not _TELLS.match(file.tree.text(choice.body)):
        return False
    tree = file.python
    at = tree.at(file.tree.span(asked)) if tree is not None else None
    around = tree.ancestors(at) if tree is not None and at is not None else iter(())
    home = next((p for p in around if not isinstance(p, ast.BoolOp)), None)
    if not isinstance(home, ast.If):
        return False
    if not all(_TELLS.match(ast.unparse(statement)) for statement in home.body):
        return False
    inside = [node for statement in home.body for node in ast.walk(statement)]
    if any(isinstance(node, ast.Attribute) and "cuda" in node.attr for node in inside):
        return False  # it tells something of the device, which another one has too
    said = [node.value for node in inside if isinstance(node, ast.Constant)]
    return any(isinstance(text, str) and _TELLS_OF_CUDA.search(text) for text in said)


_REASON = re.compile(
    r"\s*\w*(?:reason|message|msg|error|why)\w*[ \t]*=[ \t]*[a-z]?[\"'][^\n]*\bCUDA\b[^\n]*\s*"
)


def gives_a_reason(file: File, node: cst.CSTNode) -> bool:
    """Tell whether all that a question opens is a text that says why CUDA is needed: ``reason = "… not CUDA"``."""
    choice = file.tree.parents[node]
    if not isinstance(choice, cst.If) or choice.test is not node:
        return False
    return _REASON.fullmatch(file.tree.text(choice.body)) is not None


COMPILES = "decides whether what stays on the CPU is compiled; left as it is"
_COMPILED = re.compile(r"\s*(?:[\w.]+[ \t]*=[ \t]*)?torch\.compile\([^\n]*\)\s*")
_CUDAS_WORD = re.compile(r"cuda|gpu", re.IGNORECASE)
# But for a dtype, and for the device of a tensor that is there.
_TAKES_TO_A_DEVICE = re.compile(
    r"\.to\((?!\s*(?:dtype\s*=\s*)?torch\.\w+\s*\))|\bdevice_map\b|\bprepare\(|\bTrainer\b|\bpipeline\("
    r"|\bDEVICE\b|\bdevice[ \t]*=(?!=)(?![ \t]*(?:[\w.]+\.)?device\b)"
)


def only_compiles(file: File, asked: cst.CSTNode) -> bool:
    """Tell whether a question only has something compiled, in a file that takes nothing to a device: it says CUDA in such ones alone."""
    if _TAKES_TO_A_DEVICE.search(file.code) is not None:
        return False
    choice = file.tree.parents[asked]
    if not isinstance(choice, cst.If) or choice.test is not asked or choice.orelse is not None:
        return False
    if _COMPILED.fullmatch(file.tree.text(choice.body)) is None:
        return False
    return len(_CUDAS_WORD.findall(file.code)) == file.code.count(file.tree.text(asked))


CHOOSES_A_WORD = "decides a word of another library's, which knows CUDA and no device of tdev's"
_GPU = re.compile(r"[\"']gpu[\"']", re.IGNORECASE)


def only_chooses_a_word(file: File, asked: cst.CSTNode) -> bool:
    """Tell whether all that a question decides is ``"gpu"``: ``Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu")``.

    So does one that sets another entry of the dictionary that takes the word, or another argument of the call: how many of them.
    """
    choice = file.tree.parents[asked]
    if isinstance(choice, cst.UnaryOperation):
        asked, choice = choice, file.tree.parents[choice]
    if isinstance(choice, cst.IfExp) and choice.test is asked:
        arms = [file.tree.text(choice.body), file.tree.text(choice.orelse)]
        if not (all(map(_LITERAL.fullmatch, arms)) and any(map(_GPU.fullmatch, arms))):
            return False
        holder = file.tree.parents[choice]
        if isinstance(holder, (cst.Assign, cst.AnnAssign)):
            target = holder.targets[0].target if isinstance(holder, cst.Assign) else holder.target
            if isinstance(target, (cst.Name, cst.Attribute)):
                word = re.escape(file.tree.text(target))
                handed = rf"\w\s*=\s*{word}\s*[,)]|[\"']\]\s*=\s*{word}\s*\n"
                return re.search(handed, file.code) is not None
        return True
    if not isinstance(choice, cst.If) or choice.test is not asked:
        return False
    if isinstance(choice.orelse, cst.If):
        return False
    bodies = [choice.body, *([choice.orelse.body] if isinstance(choice.orelse, cst.Else) else [])]
    lines = [line for body in bodies for line in file.tree.text(body).strip().splitlines()]
    sets = [_SETS.fullmatch(line.strip()) for line in lines]
    if not all(sets):
        return False
    if any(found and _GPU.fullmatch(found["value"]) for found in sets):
        return True
    around = next(
        p for p in file.tree.ancestors(choice) if isinstance(p, (cst.FunctionDef, cst.Module))
    )
    text = file.tree.text(around)
    return all(
        found and found["entry"] and re.search(_TAKES_GPU.format(re.escape(found["base"])), text)
        for found in sets
    )


_LITERAL = re.compile(r"None|-?\d+|[\"'](?!cuda)\w*[\"']")
_ENTRY = r"\[[\"']\w+[\"']\]"
_SETS = re.compile(rf"(?P<base>[\w.]+)(?P<entry>{_ENTRY})?\s*=\s*(?P<value>{_LITERAL.pattern})")
_TAKES_GPU = rf"(?<![\w.]){{}}{_ENTRY}\s*=[^\n]*[\"']gpu[\"']"
_IN_A_MESSAGE = re.compile(rf"\A{_MESSAGE}\Z")
_BUILD = re.compile(r"\btorch\.version\.(?:cuda|hip)\b|\bcudnn\.version\(\)")


def is_told_as_cudas(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an answer is put into words as CUDA's: ``f"cuda.available={torch.cuda.is_available()}"``.

    Beside the version of CUDA in a table, too. Nothing is decided by it, and of another device it would be untrue.
    """
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        match parent:
            case cst.FormattedStringExpression(equal=equal):
                return equal is not None or _named_before(file, parent)
            case cst.DictElement(key=key):
                table = file.tree.parents[parent]
                named = _KEY.search(string_value(key) or "") is not None and not _is_read(file, key)
                return key is not below and (named or _tells_the_build(file, table))
            case cst.Element():
                if said_before(file, parent):
                    return True
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
                return _is_only_told(file, node, name)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript() as entry)]):
                return _KEY.search(_key_of(entry)) is not None
            case cst.If(test=test, orelse=None) if test is below:
                return _takes_down_more(file, parent)
            case cst.Arg():
                call = file.tree.parents[parent]
                if not isinstance(call, cst.Call):
                    return False
                if _told_by_a_call(file, call, parent) or _is_printed_alone(file, call, below):
                    return True
                if not (
                    isinstance(call.func, cst.Name) and call.func.value in ("str", "int", "bool")
                ):
                    return False
            case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Modulo()):
                if left is not below and _says_cuda(_last_words(file, left)):
                    return True
            case cst.IfExp(test=test, body=cst.SimpleString(), orelse=cst.SimpleString()):
                if test is not below:
                    return False
            case cst.IfExp() if _COUNTED.match(file.tree.text(parent.body)):
                pass
            case cst.Call() | cst.Tuple() | cst.Attribute():
                pass
            case _:
                return False
        below = parent
    return False


def _is_read(file: File, key: cst.BaseExpression) -> bool:
    """Tell whether the file asks a table for what it has under a key: then something may be decided by it."""
    word = re.escape(string_value(key) or "")
    return re.search(rf"(?:\[|\bget\(|\bpop\()\s*[\"']{word}[\"']", file.code) is not None


def _is_printed_alone(file: File, call: cst.Call, asked: cst.CSTNode) -> bool:
    """Tell whether an answer is all that a statement prints: ``print(torch.cuda.is_available())``."""
    return (
        isinstance(asked, cst.Call)
        and file.tree.text(asked.func).endswith("is_available")
        and len(call.args) == 1
        and isinstance(call.func, cst.Name)
        and call.func.value == "print"
        and isinstance(file.tree.parents[call], cst.Expr)
    )


_KEY = re.compile(r"cuda.*(?:avail|version|enabled|support|count|\?)|avail.*cuda", re.IGNORECASE)


def _key_of(entry: cst.Subscript) -> str:
    """Return the string that an entry of a dictionary is kept under, if it is one."""
    match entry.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=key))]:
            return string_value(key) or ""
        case _:
            return ""


def _takes_down_more(file: File, choice: cst.If) -> bool:
    """Tell whether all that a question opens are more facts under CUDA's name, in a record that has its answer under one.

    ``facts["cuda_available"] = …``, and ``if torch.cuda.is_available(): facts["cuda_device"] = torch.cuda.get_device_name(0)``.
    """
    records = set()
    for statement in choice.body.body:
        match statement:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript() as entry)])]
            ) if _TELLS_OF_CUDA.search(_key_of(entry)):
                records.add(file.tree.text(entry.value))
            case _:
                return False
    name = re.escape(records.pop()) if len(records) == 1 else ""
    answers = rf"(?<![\w.]){name}\[[\"'](\w+)[\"']\][ \t]*=[ \t]*(?:\w+\.)*cuda\.is_available\(\)"
    return bool(name) and any(map(_KEY.search, re.findall(answers, file.code)))


_COUNTED = re.compile(r"(?:\w+\.)*cuda\.device_count\(\)\Z")


def said_before(file: File, part: cst.Element) -> bool:
    """Tell whether a row of several says CUDA before one of them: ``("CUDA available?", …)``."""
    several = file.tree.parents[part]
    parts = list(getattr(several, "elements", ()))
    at = parts.index(part) if part in parts else 0
    return at > 0 and _TELLS_OF_CUDA.search(_last_words(file, parts[at - 1].value)) is not None


def _is_only_told(file: File, node: cst.CSTNode, name: str) -> bool:
    """Tell whether ``cuda_available`` is written into messages and tables, and decides nothing."""
    tree = file.python
    at = tree.at(file.tree.span(node)) if tree is not None and _KEY.search(name) else None
    if tree is None or at is None:
        return False
    homes = (
        p for p in tree.ancestors(at) if isinstance(p, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    home = next(homes, None)
    uses = [
        each
        for each in ast.walk(home or tree.module)
        if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
    ]
    return home is not None and bool(uses) and all(_is_written(tree, each) for each in uses)


def _is_written(tree: PythonTree, use: ast.Name) -> bool:
    for parent in tree.ancestors(use):
        match parent:
            case ast.FormattedValue() | ast.Dict():
                return True
            case ast.Call(func=ast.Name(id="str")):
                pass
            case ast.If(test=test, body=body, orelse=[]) if test is use:
                return _takes_down_the_build(body)
            case ast.Call(func=func):
                return _IN_A_MESSAGE.match(ast.unparse(func) + "(") is not None
            case _:
                return False
    return False


def _takes_down_the_build(body: list[ast.stmt]) -> bool:
    """Tell whether all that statements do is to keep CUDA's version, and what else is told of its devices, for a report."""
    return _BUILD.search(ast.unparse(ast.Module(body, []))) is not None and all(
        isinstance(each, ast.Assign) and _FACT.search(ast.unparse(each.value)) is not None
        for each in body
    )


_FACT = re.compile(
    r"\bversion\.(?:cuda|hip)\b|\bcudnn\.version\(\)|\.(?:get_device_\w+|device_count)\("
)
_DEVICE = re.compile(r"""[a-zA-Z]*["']+cuda:\{?\s*""")


def _named_before(file: File, part: cst.FormattedStringExpression) -> bool:
    """Tell whether the words before a part of an f-string, up to the part before, say CUDA.

    The name of a device is no word: ``f"cuda:{rank % torch.cuda.device_count()}"``.
    """
    whole = file.tree.parents[part]
    text = file.tree.source[file.tree.span(whole)[0] : file.tree.span(part)[0]]
    if _DEVICE.fullmatch(text) is not None:
        return False
    return _TELLS_OF_CUDA.search(text.rpartition("}")[2]) is not None


def _told_by_a_call(file: File, call: cst.Call, given: cst.Arg) -> bool:
    """Tell whether a call says CUDA and then its argument: ``print("CUDA:", x)``, ``"CUDA: {}".format(x)``."""
    name = file.tree.text(call.func)
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "format":
        text = call.func.value
        if isinstance(text, cst.Name) and _is_of_the_file(file, text):
            return _says_cuda(_words_of_a_form(file, text.value, call.args, given))
        return _says_cuda(_last_words(file, text))
    if _IN_A_MESSAGE.match(name + "(") is None:
        return False
    before = call.args[: call.args.index(given)]
    return bool(before) and _TELLS_OF_CUDA.search(_last_words(file, before[-1].value)) is not None


def _is_of_the_file(file: File, name: cst.Name) -> bool:
    """Tell whether a name is bound once, at the margin of the file."""
    bound = file.scopes.of(name).lookup(name.value)
    return len(bound) == 1 and bound[0].scope is file.scopes.top


_GAP = re.compile(r"\{(\w*)[^{}]*\}")


def _words_of_a_form(file: File, name: str, given: Sequence[cst.Arg], arg: cst.Arg) -> str:
    """Return the words of a line in front of what a constant text of the file takes: ``|cuda|{}|``, filled by ``FORM.format(…)``."""
    tree = file.python if any(not each.star for each in given) else None
    for statement in tree.module.body if tree is not None else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=each)], value=ast.Constant(value=str(text))):
                if each != name:
                    continue
                wanted = arg.keyword.value if arg.keyword is not None else str(given.index(arg))
                text = text.replace("{{", "  ").replace("}}", "  ")
                for at, gap in enumerate(_GAP.finditer(text)):
                    if (gap[1] or str(at)) == wanted:
                        before = text[: gap.start()].rpartition("\n")[2]
                        return before.rpartition("}")[2]
            case _:
                pass
    return ""


_INDEX = re.compile(r"cuda:(?:%[dis]|\{\w*\})?")


# Of a command line that is made up: `python train.py --cuda {}`.
_OPTION = re.compile(r"(?:^|\s)--?[\w-]+[= ]?\Z")


def _says_cuda(words: str) -> bool:
    """Tell whether words in front of a value say CUDA; the name of a device, ``"cuda:" + str(i)``, says nothing."""
    if _INDEX.fullmatch(words) is not None or _OPTION.search(words) is not None:
        return False
    return _TELLS_OF_CUDA.search(words) is not None


def _last_words(file: File, node: cst.BaseExpression) -> str:
    """Return what the last string of an expression says; nothing where it ends otherwise."""
    match node:
        case cst.SimpleString():
            return string_value(node) or ""
        case cst.ConcatenatedString(right=right) | cst.BinaryOperation(right=right):
            return _last_words(file, right)
        case cst.FormattedString():
            return file.tree.text(node).rpartition("}")[2]
        case _:
            return ""


def _tells_the_build(file: File, table: cst.CSTNode) -> bool:
    """Tell whether a table has the version of CUDA for a value."""
    values = [e.value for e in getattr(table, "elements", ()) if isinstance(e, cst.DictElement)]
    return any(_BUILD.fullmatch(file.tree.text(value)) for value in values)


PINS = "decides about page-locked memory, which torch has for CUDA; left as it is"
COPIES = "decides about copies that nobody waits for, which are right on CUDA alone; left as it is"


def why_it_pins(file: File, node: cst.CSTNode) -> str | None:
    """Return what is said of an answer that goes to ``pin_memory`` or ``non_blocking``."""
    if asks_to_copy_unwaited(file, node):
        return COPIES
    return PINS if asks_to_pin(file, node) else None


def asks_to_pin(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the answer goes to what is called ``pin_memory``, or ``non_blocking``: a loader warns where that is no CUDA."""
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.If) and below is parent.test:
            return _PINNED.fullmatch(file.tree.text(parent.body)) is not None
        match parent:
            case cst.BooleanOperation() if _IS_PINNED.search(file.tree.text(parent)):
                return True
            case cst.Arg(keyword=cst.Name(value=name)) if name in _FOR_CUDA:
                return True
            case cst.DictElement(key=key) if below is not key:
                return string_value(key) in _FOR_CUDA
            case cst.Element():  # `non_blocking, count = torch.cuda.is_available(), -1`
                several = file.tree.parents[file.tree.parents[parent]]
                return isinstance(several, cst.Assign) and _gives_to_one_of(file, several, parent)
            case (
                cst.Assign(targets=[cst.AssignTarget(target=target)]) | cst.AnnAssign(target=target)
            ):
                return _PINS.search(file.tree.text(target)) is not None
            case cst.Arg() | cst.Call() | cst.BooleanOperation() | cst.UnaryOperation():
                pass
            case cst.IfExp(test=test, body=cst.Dict(elements=entries)) if below is test:
                # `options = {"num_workers": 1, "pin_memory": True} if use_cuda else {}`
                keys = {string_value(e.key) for e in entries if isinstance(e, cst.DictElement)}
                return "pin_memory" in keys <= _OF_LOADERS
            case cst.IfExp():
                pass
            case _:
                return False
        below = parent
    return False


def asks_to_copy_unwaited(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the answer goes to what is called ``non_blocking``: other accelerators read what is not there yet."""
    return asks_to_pin(file, node) and "non_blocking" in file.tree.text(file.tree.statement(node))


# All that an arm does: `batch = batch.pin_memory()`.
_PINNED = re.compile(r"\s*(?:[\w.]+[ \t]*=[ \t]*)?[\w.]+\.pin_memory\(\)\s*")
_PINS = re.compile(
    r"(?:^|[.\"'])_?(?:use_|should_)?(?:pin(?:ned)?_mem(?:ory)?|non_blocking)(?:[\"']\])?\Z"
)
_IS_PINNED = re.compile(r"\band\s+[\w.]+\.is_pinned\(\)")
_FOR_CUDA = frozenset({"pin_memory", "non_blocking"})
_OF_LOADERS = frozenset(
    {"pin_memory", "num_workers", "shuffle", "drop_last", "persistent_workers", "prefetch_factor"}
)


def _gives_to_one_of(file: File, assigned: cst.Assign, part: cst.Element) -> bool:
    """Tell whether a part of several values goes to a variable of such a name."""
    target, given = assigned.targets[0].target, assigned.value
    if not isinstance(target, cst.Tuple) or not isinstance(given, cst.Tuple):
        return False
    at = given.elements.index(part)
    if at >= len(target.elements):
        return False
    return _PINS.search(file.tree.text(target.elements[at].value)) is not None
