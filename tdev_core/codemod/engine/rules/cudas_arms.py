"""Leaves the arms that only CUDA reaches, or only another vendor's accelerator, by the tests around them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

import libcst as cst

from tdev_core.codemod.engine.analysis.kinds import Kind
from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.statements import FUNCTIONS
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.arguments import Call
from tdev_core.codemod.engine.rules.arms import (
    ARMS,
    NAMES,
    chain_names_other,
    enclosing_function,
    names_other,
    rest_is_others,
    top_choice,
)
from tdev_core.codemod.engine.rules.device_arms import gives_devices
from tdev_core.codemod.engine.rules.kernels import imported_packages
from tdev_core.codemod.engine.rules.reference_rules import NO_DIFFERENCE
from tdev_core.codemod.engine.rules.speaks_of_others import said_of_others
from tdev_core.codemod.engine.rules.stand_ins import is_answered
from tdev_core.codemod.engine.rules.type_questions import asked_by

_ASKS_FOR_CUDA = re.compile(
    r"\bcuda\.is_available\(|\bis_(?:torch_)?cuda_available\(|\bcuda_is_available\(|\.is_cuda\b"
    r"|==\s*[\"']cuda[\"']|\.startswith\([\"']cuda"
)
# Of a device that is there: the question stays, whatever its arm gives.
_OF_THE_TYPE = re.compile(r"\.type\s*==|\.type\.startswith\(|\.is_cuda\b")
_DENIES = re.compile(r"\bnot\b(?!\s+(?:in|None)\b)|!=(?!\s*[\"']cpu[\"'])|\bor\b")
# What a condition has been rid of besides: `not cpu and not mps and torch.cuda.is_available()`.
_NOT_THE_OTHERS = re.compile(
    rf"\bnot\s+(?:\w+\.)*(?:\w+_)?(?:cpu|{NAMES})\b(?![.(\[])\s+and\b(?!.*\bor\b)", re.DOTALL
)
# Only NVIDIA's or only ROCm's build gets past these.
_OF_THE_BUILD = re.compile(
    r"(?:not\s+)?(?<!\w)(?:torch\.)?version\.hip\b(?:\s+is\s+(?:not\s+)?None)?"
    r"|(?<!\w)(?:torch\.)?cuda\.get_device_capability\([^()]*\)(?:\[\d\])?\s*[<>=]+\s*[\d(][\d, ]*\)?"
)
# Asked of torch itself, which goes on answering: only a build for CUDA gets by.
_BUILT_FOR_CUDA = re.compile(r"(?<!\w)torch\.version\.cuda\s+is\s+not\s+None\b")
# Accelerators whose own versions of torch a program is written for in such an arm.
_OF_A_VENDOR = re.compile(
    rf"==\s*[\"'](?:{NAMES})[\"']|\.startswith\(\s*\(?\s*[\"'](?:{NAMES})[:\"'](?![^)]*cuda)"
)


def cudas_arms(file: File) -> None:
    """Find the arms that only CUDA reaches, because their chain has arms for other accelerators too.

    And those that only another vendor's accelerator reaches.
    """
    for choice in file.tree.of(cst.If, cst.IfExp):
        test = file.tree.text(choice.test)
        if _OF_A_VENDOR.search(test) and not _DENIES.search(test):
            file.untouched.append(file.tree.span(choice.body))
        if _OF_THE_BUILD.search(test) and _ASKS_FOR_CUDA.search(_OF_THE_BUILD.sub("", test)):
            if not _DENIES.search(_OF_THE_BUILD.sub("", test)):
                file.untouched.append(file.tree.span(choice.body))
                continue
        if isinstance(choice, cst.If) and _BUILT_FOR_CUDA.search(test) and not _DENIES.search(test):
            if file.options.style == "explicit" and "version.hip" not in file.tree.text(choice):
                file.untouched.append(file.tree.span(choice.body))
                continue
        asked = _NOT_THE_OTHERS.sub("", test)
        if not _ASKS_FOR_CUDA.search(asked) or _DENIES.search(asked):
            continue
        if isinstance(choice, cst.If):
            beside = chain_names_other(file, choice) or rest_is_others(file, choice)
        else:
            beside = names_other(file, top_choice(file, choice), choice.test)
        if beside and not _OF_THE_TYPE.search(test):
            if _asks_for_what_was_typed(file, choice.test):
                file.reached.append(file.tree.span(choice.body))
                continue
            if gives_devices(file, choice.test):
                continue
        of_others = asked == test and names_other(file, choice.test)
        if (beside or said_of_others(file, choice)) and not of_others:
            file.untouched.append(file.tree.span(choice.body))
    for value in file.tree.of(cst.MatchValue):
        case = file.tree.parents[value]
        if not isinstance(case, cst.MatchCase) or string_value(value.value) != "cuda":
            continue
        match = file.tree.parents[case]
        if isinstance(match, cst.Match) and names_other(file, match):
            if not file.flow.kinds(match.subject) & {Kind.CUDA, Kind.TYPED}:
                file.untouched.append(file.tree.span(case.body))


def _asks_for_what_was_typed(file: File, test: cst.BaseExpression) -> bool:
    """Tell whether a test compares a word that a person typed with CUDA's: that is ``"cuda"`` on any machine.

    Its arm is reached wherever that was typed, though the chain has others.
    """
    asked = asked_by(file, test)
    if asked is None or asked.of_a_tensor or file.options.program:
        return False
    if file.flow.kinds(asked.operand) & {Kind.CUDA, Kind.TYPED}:
        return True
    home = enclosing_function(file, test)
    if not isinstance(asked.operand, cst.Name) or home is None:
        return False
    names = [each.name.value for each in (*home.params.posonly_params, *home.params.params)]
    name = asked.operand.value
    at = names.index(name) if name in names else None
    given = (
        Call(tuple(call.args)).argument(name, at)
        for call in file.tree.of(cst.Call)
        if isinstance(call.func, cst.Name) and call.func.value == home.name.value
    )
    return any(
        value is not None and bool(file.flow.kinds(value) & {Kind.CUDA, Kind.TYPED})
        for value in given
    )


CALLS_CUDA = re.compile(r"\bcuda\.\w|[\"']cuda\b|\.cuda\(")


def arms_that_stay(file: File) -> None:
    """Say of an arm that was left for its test that it was, where nothing else is said of the two."""
    told = sorted(start for _, start, _ in file.findings)
    for low, high in file.parallel:
        if not any(low <= at < high for at in told):
            said = "this is CUDA's arm beside those of other accelerators; left as it is"
            file.find_at(ARMS, low, said)
            told.append(low)
    for choice in file.tree.of(cst.If, cst.IfExp) if file.untouched else ():
        arm = file.tree.span(choice.body)
        if arm not in file.untouched or not CALLS_CUDA.search(file.tree.text(choice.body)):
            continue
        begin = file.tree.span(choice.test)[0]
        low, high = min(begin, arm[0]), max(file.tree.span(choice.test)[1], arm[1])
        if not any(low <= at < high for at in told):
            file.find(
                ARMS,
                choice.test,
                "opens an arm that one kind of device alone reaches; left as it is",
            )


_TRIES_CUDA = re.compile(r"[\"']cuda\b|\bcuda\.is_available\(")


def tried_beside_others(file: File) -> None:
    """Leave a ``try`` for CUDA whose neighbour tries another accelerator: the first that works is used, and told."""
    for tried in file.tree.of(cst.Try):
        parent = file.tree.parents[tried]
        block = getattr(parent, "body", ())
        at = list(block).index(tried) if tried in block else 0
        near = [*block[max(0, at - 1) : at], *block[at + 1 : at + 2]]
        found = _TRIES_CUDA.search(file.tree.text(tried.body))
        if found is None or names_other(file, tried.body):
            continue
        if any(isinstance(n, cst.Try) and names_other(file, n.body) for n in near):
            file.untouched.append(file.tree.span(tried.body))
            file.tried.append(file.tree.span(tried.body))


_FAKE = re.compile(r"(?i)\bfake\w*mode\w*\b")


def under_a_fake(file: File) -> None:
    """Leave what is made under a ``FakeTensorMode``: no device is used there, and ``"cuda"`` is a word on any machine."""
    if "ake" not in file.tree.source:
        return
    for block in file.tree.of(cst.With):
        if any(
            _FAKE.search(file.tree.text(item.item)) and not isinstance(item.item, cst.IfExp)
            for item in block.items
        ):
            file.untouched.append(file.tree.span(block.body))
            if CALLS_CUDA.search(file.tree.text(block.body)):
                said = "no device is used under a fake mode; left as it is"
                file.find(ARMS, block.items[0], said, "note")


def spread_over_devices(file: File) -> None:
    """Leave what a model does where it lies on several devices, which CUDA alone has: ``if self.model_parallel:``, of transformers."""
    if "self.model_parallel" not in file.tree.source or file.options.program:
        return
    for choice in file.tree.of(cst.If):
        if file.tree.text(choice.test) == "self.model_parallel":
            file.untouched.append(file.tree.span(choice.body))
            if CALLS_CUDA.search(file.tree.text(choice.body)):
                said = (
                    "done for a model that lies on several devices, as on CUDA alone; left as it is"
                )
                file.find(NO_DIFFERENCE, choice.test, said)


_IN_ITS_PLACE = re.compile(
    rf"^[ \t]*torch\.cuda(?:\.\w+)+[ \t]*=(?!=)[^\n]*\btorch\.(?:{NAMES})\.", re.MULTILINE
)


_PUT_THERE = re.compile(r"^[ \t]*(torch\.cuda(?:\.\w+)+)[ \t]*=(?!=)", re.MULTILINE)
_VENDORS = re.compile(
    r"^(?:import|from)[ \t]+(intel_extension_for_pytorch|torch_npu|torch_mlu)\b", re.MULTILINE
)


def in_cudas_place(file: File) -> None:
    """Leave what puts another accelerator's functions in the place of CUDA's: ``torch.cuda.Stream = torch.xpu.Stream``.

    The statement, and the ``if``, the ``try`` and the function around it as long as they do little else: a program may begin
    so, and go on with what it does on CUDA. A file that imports a vendor's own build of torch, and puts anything there, is
    about nothing else.
    """
    if file.options.program:
        return
    vendor = file.on_a_line(_VENDORS, "intel_extension_for_pytorch", "torch_npu", "torch_mlu")
    put = file.in_code(_PUT_THERE, "torch.cuda") if vendor is not None else None
    if vendor is not None and put is not None:
        file.untouched.append((0, len(file.tree.source) + 1))
        said = f"{vendor[1]}'s functions are put in the place of CUDA's in this file; left as it is"
        file.find_at(ARMS, put.start(1), said, "note")
        return
    if file.in_code(_IN_ITS_PLACE, "torch.cuda") is None or (tree := file.python) is None:
        return
    told: set[ast.stmt] = set()
    for statement in tree.everything:
        if not isinstance(statement, ast.Assign) or not _is_put_there(tree, statement, True):
            continue
        home: ast.stmt = statement
        for around in tree.ancestors(statement):
            if isinstance(around, (ast.If, ast.Try, ast.FunctionDef, ast.AsyncFunctionDef)):
                if not _mostly_puts(tree, around):
                    # What decides about it is no question for the rest.
                    if isinstance(around, ast.If):
                        file.untouched.append(tree.span(around.test))
                    break
                home = around
            if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)):
                break
        if home not in told:
            told.add(home)
            file.untouched.append(tree.span(home))
            said = "puts another accelerator's functions in the place of CUDA's; left as it is"
            file.find_at(ARMS, tree.span(statement)[0], said, "note")


def _is_put_there(tree: PythonTree, statement: ast.stmt, of_another: bool = False) -> bool:
    """Tell whether a statement gives ``torch.cuda`` an attribute, ``of_another`` accelerator's or any."""
    pattern = _IN_ITS_PLACE if of_another else _PUT_THERE
    return isinstance(statement, ast.Assign) and bool(pattern.match(tree.source(statement)))


def _mostly_puts(tree: PythonTree, around: ast.AST) -> bool:
    """Tell whether at least half of the plain statements in a block put something there; those that do nothing are not counted."""
    plain = [
        each
        for each in ast.walk(around)
        if isinstance(each, ast.stmt)
        and not hasattr(each, "body")
        and not isinstance(each, (ast.Pass, ast.Return, ast.Import, ast.ImportFrom))
        and not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
    ]
    return 2 * sum(_is_put_there(tree, each) for each in plain) >= len(plain)


_A_CONSTANT = re.compile(
    rf"(\w+)[ \t]*=[ \t]*torch\.device\([\"'](cuda|cpu|{NAMES})[\"']\)\s*(?:#.*)?"
)


def named_beside_others(file: File) -> None:
    """Leave ``CUDA_DEVICE = torch.device("cuda")`` in a row with such a constant of another accelerator."""
    if "torch.device(" not in file.tree.source:
        return
    for line in file.tree.of(cst.SimpleStatementLine):
        found = _A_CONSTANT.fullmatch(file.tree.text(line).strip())
        if found is None or found[2] != "cuda" or "cuda" not in found[1].lower():
            continue
        block = list(getattr(file.tree.parents[line], "body", ()))
        kinds = [_A_CONSTANT.fullmatch(file.tree.text(n).strip()) for n in block]
        low = high = block.index(line) if line in block else 0
        while low > 0 and kinds[low - 1] is not None:
            low -= 1
        while high + 1 < len(block) and kinds[high + 1] is not None:
            high += 1
        if any(
            kind is not None and kind[2] not in ("cuda", "cpu") for kind in kinds[low : high + 1]
        ):
            file.untouched.append(file.tree.span(line))
            said = f"{found[1]} is CUDA's device beside those of other accelerators; left as it is"
            file.find(ARMS, line, said)


# What goes on where there is no such tool, which has then printed nothing.
_RUNS_THE_TOOL = re.compile(r"(?:\w+\.)*(?:popen|getoutput)\(\s*[fF]?[\"']nvidia-smi\b")
# What refuses all but CUDA where it is called, whatever tdev answers: a program or a library of NVIDIA's, Lightning's word for its devices.
_CHECKED = frozenset({"check_output", "check_call"})
_STARTS_NVML = frozenset({"nvmlInit", "nvmlInitWithFlags", "nvmlInit_v2"})
_MAY_MOVE = re.compile(r"\bcuda\b|\bdevice\b")
_OF_LIGHTNING = frozenset({"Fabric", "Trainer"})
_LIGHTNING = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:pytorch_)?lightning\w*\b", re.MULTILINE)


def after_what_refuses(file: File) -> None:
    """Leave what follows a call in its block that fails wherever there is no CUDA: ``check_output(["nvidia-smi"])``.

    Torch's private start of CUDA fails there as well. By itself, or by a function at the margin of the file; and all that a
    script does which calls it as its program.
    """
    source = file.tree.source
    if file.options.all or file.options.program:
        return
    nvml = "nvmlInit" in source and not _answers_nvml(file)
    starts = "_lazy_init(" in source
    if not (
        "nvidia-smi" in source or nvml or starts or "accelerator=" in source and "cuda" in source
    ):
        return
    tree = file.python
    lightning = file.in_code(_LIGHTNING, "lightning") is not None
    failing = _failing(tree, lightning, nvml) if tree is not None else {}
    if starts and tree is not None:
        starts_cuda = "torch.cuda._lazy_init"
        of_torch = {name for name, full in tree.names[0].items() if full == starts_cuda}
        if file.options.style == "explicit":  # where torch keeps its name
            of_torch.add(starts_cuda)
        failing.update(dict.fromkeys(of_torch, starts_cuda))
    runs_the_tool = "nvidia-smi" in source and _RUNS_THE_TOOL.search(source) is not None
    for statement in tree.statements if tree is not None else ():
        if tree is None or not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)):
            continue
        refuses = _refuses(statement.value, lightning, nvml)
        if refuses is None and isinstance(statement.value, ast.Call):
            refuses = failing.get(ast.unparse(statement.value.func))
            if refuses is None and runs_the_tool:
                around = (p for p in tree.ancestors(statement) if isinstance(p, FUNCTIONS))
                home = next(around, None)
                apart = home is not None and _takes_apart(tree, home, statement)
                refuses = "nvidia-smi" if apart else None
        if refuses is None:
            continue
        match next(tree.ancestors(statement), None):
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                is_main = True
            case _:
                is_main = False
        block = tree.block(statement)
        is_main = is_main and _only_prepares(tree, block[: block.index(statement)])
        if is_main:
            # A program that ends so has done nothing before.
            rest = tree.span(block[0])[0], tree.span(block[-1])[1]
        elif block[-1] is statement:
            continue
        else:
            rest = tree.span(statement)[1], tree.span(block[-1])[1]
        named = _MAY_MOVE if is_main else CALLS_CUDA
        if named.search(source, *rest) is not None:
            file.untouched.append(rest)
            said = f"{refuses} refuses all but CUDA, and what follows with it; left as it is"
            file.find_at(ARMS, tree.span(statement)[0], said, "note")


_PREPARES = re.compile(r"(?:\w+\.)*(?:device|add_argument|parse_args|[A-Z]\w*)\Z")


def _only_prepares(tree: PythonTree, before: Sequence[ast.stmt]) -> bool:
    """Tell whether statements do no more than ask who started the program, and make devices and objects of what is said."""
    _, defined = tree.names
    calls = [call for each in before for call in ast.walk(each) if isinstance(call, ast.Call)]
    names = [ast.unparse(call.func) for call in calls]
    return all(isinstance(each, (ast.Assign, ast.Expr)) for each in before) and all(
        _PREPARES.match(name) or name in defined and ".parse_args(" in tree.source(defined[name])
        for name in names
    )


def _failing(tree: PythonTree, lightning: bool, nvml: bool) -> dict[str, str]:
    """Return the functions at the margin of a file that fail, whenever they are called, of what refuses all but CUDA.

    None that may return before, none that runs only when somebody asks for its next value, and none that a decorator may catch.
    """
    found = {}
    for function in tree.module.body:
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            continue
        if any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(function)):
            continue
        for statement in function.body:
            if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)):
                refuses = _refuses(statement.value, lightning, nvml)
                if refuses is not None or _takes_apart(tree, function, statement):
                    found[function.name] = f"{function.name}, by {refuses or 'nvidia-smi'},"
            if any(isinstance(each, ast.Return) for each in ast.walk(statement)):
                break
    return found


def _takes_apart(tree: PythonTree, home: ast.AST, statement: ast.stmt) -> bool:
    """Tell whether a statement gives several variables the parts of a text, which fails of an empty one: ``a, b = line.split(",")``.

    Of one that NVIDIA's tool, run in this function, may not have printed.
    """
    match statement:
        case ast.Assign(
            targets=[ast.Tuple()],
            value=ast.Call(func=ast.Attribute(value=text, attr="split"), args=[_, *_]),
        ):
            return isinstance(home, ast.FunctionDef) and _is_of_the_tool(tree, home, text)
        case _:
            return False


def _is_of_the_tool(tree: PythonTree, home: ast.FunctionDef, text: ast.expr, deep: int = 4) -> bool:
    """Tell whether a text is part of what NVIDIA's tool has printed, with nothing that stands in for it."""
    match text:
        case ast.Name(id=name) if deep:
            given = []
            for each in ast.walk(home):
                if (
                    not isinstance(each, ast.Name)
                    or each.id != name
                    or isinstance(each.ctx, ast.Load)
                ):
                    continue
                match next(tree.ancestors(each), None):
                    case ast.Assign(targets=[target], value=value) if target is each:
                        given.append(value)
                    case ast.For(target=target, iter=value) if target is each:
                        given.append(value)
                    case _:
                        return False
            return bool(given) and all(
                _is_of_the_tool(tree, home, each, deep - 1) for each in given
            )
        case ast.Call() if _RUNS_THE_TOOL.match(tree.source(text)) is not None:
            return True
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            return _is_of_the_tool(tree, home, value, deep)
        case ast.Call(func=ast.Attribute(value=value)):
            return _is_of_the_tool(tree, home, value, deep)
        case _:
            return False


_STANDS_IN = re.compile(r"\btdev\.standins\b")


def _answers_nvml(file: File) -> bool:
    """Tell whether a stand-in answers for NVIDIA's management library, from this run on or by an earlier one."""
    if file.in_code(_STANDS_IN, "tdev.standins") is not None:
        return True
    imports = imported_packages(file)
    return any(package.name == "pynvml" and is_answered(file, node) for node, package in imports)


def _refuses(value: ast.expr | None, lightning: bool, nvml: bool) -> str | None:
    """Return what is called that fails wherever there is no CUDA."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        inner = value.func.value
        if isinstance(inner, ast.Call):  # `run([…], check=True).stdout.decode()`
            return _refuses(inner, lightning, nvml)
        if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Call):
            return _refuses(inner.value, lightning, nvml)
    if not isinstance(value, ast.Call):
        return None
    name = ast.unparse(value.func).rpartition(".")[2]
    if nvml and name in _STARTS_NVML:
        return name
    told = {each.arg: ast.unparse(each.value) for each in value.keywords}
    if name in _OF_LIGHTNING and lightning and told.get("accelerator") in ("'cuda'", '"cuda"'):
        return f'{name}(accelerator="cuda")'
    checked = name in _CHECKED or name == "run" and told.get("check") == "True"
    if checked and value.args:
        command = value.args[0]
        first = command.elts[0] if isinstance(command, ast.List) and command.elts else command
        said = ast.unparse(first)
        if "nvidia-smi" in (said if first is not command else said.partition(" ")[0]):
            return "nvidia-smi"
    return None
