"""Finds the tests that stay CUDA's with what skips them.

They assert its name, or try its flash attention; compute in double precision; or leave the device to the code that they
test, which knows MPS.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.arms import names_other
from tdev_core.codemod.engine.rules.compare import expects_what_is_not_seen, is_asserted
from tdev_core.codemod.engine.rules.demands import counts
from tdev_core.codemod.engine.rules.speaks_of_others import knows_mps, tests_what_knows_mps
from tdev_core.codemod.engine.rules.type_questions import asked_by, judge
from tdev_core.codemod.engine.vocabulary import without_prose

# `self.assertEqual(p.device.type, "cuda")`, which no rule has a spelling for.
_OF_CUDA = re.compile(
    r"\bassert\w+\((?:[^()\"']|\([^()]*\))*[\"']cuda(?::\d+)?[\"']|(?i:(?<![a-z])flash(?![a-z]))"
)
# `assert p.device.type in place`, of `place = "cuda:0"`.
_TYPE_OF_A_WORD = re.compile(
    r"\bassert\b[^\n]*\.type\s+(?:(?:in|==)\s+(\w+)\b(?![.(\[])|in\s+[\"']cuda)"
)
_TEST = re.compile(r"\bdef[ \t]+test")
_SKIPS = re.compile(r"(?:\w+\.)*skip(?:if|unless)\(", re.IGNORECASE)


def skips_a_test_of_cudas(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a question skips a test where CUDA is not, or whether tests are there at all, that hold on CUDA alone."""
    below, denied, skips = question, False, False
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.UnaryOperation):
            denied = True
        elif isinstance(parent, cst.Call) and (called := _SKIPS.match(file.tree.text(parent))):
            # Of the whole test, or of one of the values that it is given: `pytest.param("cuda", marks=…)`.
            skips = denied or "unless" in called[0].lower()
        elif isinstance(parent, cst.Decorator):
            test = file.tree.parents[parent]
            named = isinstance(test, cst.FunctionDef) and test.name.value.startswith("test")
            return skips and named and _is_of_cuda(file, test)
        elif isinstance(parent, cst.If) and below is parent.test:
            tests = file.tree.source[slice(*file.tree.span(parent.body))]
            return _TEST.search(tests) is not None and _is_of_cuda(file, parent.body)
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
        below = parent
    return False


def _is_of_cuda(file: File, node: cst.CSTNode) -> bool:
    text = without_prose(file.tree.source[slice(*file.tree.span(node))])
    words = _TYPE_OF_A_WORD.findall(text)
    return (
        _OF_CUDA.search(text) is not None
        or any(
            not word or re.search(rf"\b{word}[ \t]*=[ \t]*[\"']cuda\b", text) is not None
            for word in words
        )
        or bool(words)
        and any(
            low <= file.tree.span(each)[0] < high and expects_what_is_not_seen(file, each)
            for low, high in (file.tree.span(node),)
            for each in file.tree.of(cst.Comparison)
        )
    )


def skips_a_row_beside_others(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a question skips a value that a test is given, beside one of another accelerator that has a question of its own.

    ``pytest.param("cuda", marks=skipif(…)), pytest.param("mps", marks=skipif(…))``: what runs where the latter is, is the latter.
    """
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.Call) and _ROW.match(file.tree.text(parent)):
            rows = file.tree.parents[file.tree.parents[parent]]
            return isinstance(rows, (cst.List, cst.Tuple)) and any(
                each.value is not parent
                and _ROW.match(text := file.tree.text(each.value)) is not None
                and _SKIPS.search(text) is not None
                and names_other(file, each.value)
                for each in rows.elements
            )
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            break
    return False


_ROW = re.compile(r"(?:\w+\.)*param\(")


def skips_a_test_of_no_device(file: File, question: cst.CSTNode) -> bool:
    """Tell whether all that a question decides is whether tests are run that name no device, of code that knows MPS.

    That chooses a device for itself, and goes on choosing so; what is asked is whether it has come to CUDA. So is it where
    CUDA is one of the devices that tests are run for, and they only hand each on to such code.
    """
    if "test" not in file.tree.source or not tests_what_knows_mps(file):
        return False
    opened = _opened_by(file, question)
    if None in opened or not any(isinstance(each, ast.stmt) for each in opened):
        return False
    listed = any(isinstance(each, ast.List) for each in opened)
    names = _TORCHS if listed and "parametrize" in file.tree.source else _A_DEVICE
    return not any(each is not None and _has(file, names, each, prepared=True) for each in opened)


def tries_in_double(file: File, question: cst.CSTNode) -> bool:
    """Tell whether what a question opens of a test has numbers in double precision: on MPS it would fail, where the CPU's passes."""
    if file.in_code(_DOUBLE, "double", "float64", "complex128") is None:
        return False
    return any(
        each is not None and _has(file, _DOUBLE, each) for each in _opened_by(file, question)
    )


def asks_what_stays(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a test that a question lets run asks for CUDA's type, and that stays, since the code there knows MPS.

    ``assert picked.device.type == "cuda"``, or an arm for each device that the test knows.
    """
    python = file.python if _may_ask(file) else None
    tests = _opened_by(file, question) if python is not None else []
    spans = [
        python.span(each) for each in tests if python is not None and isinstance(each, ast.stmt)
    ]
    return any(
        any(low <= file.tree.span(node)[0] < high for low, high in spans) and _is_left(file, node)
        for node in (file.tree.of(cst.Comparison) if spans else ())
    )


def lives_from_what_stays(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a test that a question lets run has a function of the file ask for CUDA's type, which goes on asking.

    ``i = on_cuda if weight.is_cuda else i``, of objects that the function does not know: elsewhere two devices would meet.
    """
    if "test" not in file.tree.source or ".is_cuda" not in file.code:
        return False
    python = file.python
    opened = _opened_by(file, question)
    tests = [each for each in opened if isinstance(each, ast.stmt)]
    if python is None or not tests:
        return False
    functions = {n.name: n for n in python.statements if isinstance(n, ast.FunctionDef)}
    left = [
        file.tree.span(node)[0]
        for node in file.tree.of(cst.Attribute)
        if node.attr.value == "is_cuda" and _goes_on_asking(file, node)
    ]
    todo, seen = list[ast.stmt](tests), set[ast.stmt]()
    while todo and left:
        each = todo.pop()
        low, high = python.span(each)
        if each not in tests and any(low <= at < high for at in left):
            return True
        seen.add(each)
        called = {
            functions[name] for name in functions.keys() & set(_WORD.findall(file.code[low:high]))
        }
        todo += called - seen
    return False


def _goes_on_asking(file: File, node: cst.Attribute) -> bool:
    asked = asked_by(file, node)
    return asked is not None and (stays := judge(file, asked).stays) is not None and stays.opens


def asserts_what_stays(file: File) -> bool:
    """Tell whether a test of the file asserts so."""
    return _may_ask(file) and any(
        is_asserted(file, node) and _is_left(file, node) for node in file.tree.of(cst.Comparison)
    )


def _may_ask(file: File) -> bool:
    return (
        "test" in file.tree.source
        and file.in_code(_ASKS_FOR_CUDA, "cuda") is not None
        and knows_mps(file)
    )


def _is_left(file: File, node: cst.Comparison) -> bool:
    """Tell whether a comparison asks for CUDA's type, and stays."""
    asked = asked_by(file, node)
    if asked is None or asked.denies:
        return False
    stays = judge(file, asked).stays
    return stays is not None and stays.opens


_ASKS_FOR_CUDA = re.compile(r"==[ \t]*[\"']cuda\b|[\"']cuda(?::\d)?[\"'][ \t]*(?:==|\bin\b)")
# A number of devices names none.
_A_DEVICE = re.compile(r"cuda|gpu|(?<!num_)(?<!n_)device", re.IGNORECASE)
# Nor does what is told, nor the name of a function that is given nothing, with the import of it.
_MESSAGE = re.compile(
    r"(?<!\w)(?:\"[^\"\n]*[ ][^\"\n]*\"|'[^'\n]*[ ][^'\n]*')(?=[ \t]*(?:[,)\n]|in\b))"
    r"|(?<![\w.])\w+\(\)|^[ \t]*from[ \t]+(?!torch\b)[^\n]*",
    re.MULTILINE,
)
# What torch is given a device by, whatever it is called.
_TORCHS = re.compile(
    r"\.(?:to|cuda)\(|\btorch\.(?!float|u?int|bool|testing|no_grad|equal|allclose)\w|\bgpu"
)
# But what has been fetched is the CPU's.
_DOUBLE = re.compile(
    r"\btorch\.(?:double|float64|complex128)\b|(?<!\.cpu\(\))(?<!\.detach\(\))\.double\(\)"
)
# What tells of tests which are run, and with what.
_OF_TESTS = re.compile(
    r"(?:\w+\.)*(?:skip(?:if|unless)|parametrize|fixture|param|expand|list|bool)\Z", re.IGNORECASE
)
_FIXTURE = re.compile(r"(?:\w+\.)*fixture\Z")
_CALLED = re.compile(r"(?<![\w.])(?:self\.|cls\.)?(\w+)\(")
_WORD = re.compile(r"[A-Za-z_]\w*")
_PREPARES = re.compile(r"set_?up", re.IGNORECASE)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _opened_by(file: File, question: cst.CSTNode) -> list[ast.AST | None]:
    """Return what an answer chooses, and the tests, or arms of tests, that it lets run; None where it does anything else."""
    python = file.python
    asked = python.at(file.tree.span(question)) if python is not None else None
    return list(_opened(python, asked, set())) if python is not None and asked is not None else []


def _opened(python: PythonTree, asked: ast.AST, seen: set[str]) -> Iterator[ast.AST | None]:
    below, no = asked, False
    for parent in python.ancestors(asked):
        match parent:
            case ast.Call(func=func) if func is below or _OF_TESTS.match(ast.unparse(func)):
                pass
            case ast.UnaryOp(op=ast.Not()):
                no = not no
            case ast.Compare(left=left) if left is below:
                no = no is not (counts(parent) is False)
            case ast.IfExp(test=test, body=body, orelse=rest):
                if below is test:
                    yield from (body, rest)
            case ast.BoolOp(values=values):
                yield from (each for each in values if each is not below)
            case ast.BinOp() | ast.List() | ast.Tuple() | ast.Starred() | ast.keyword():
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                inside = below in parent.decorator_list
                yield from _run_by(python, parent, below) if inside else (None,)
                return
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield from _by_name(python, parent, name, seen)
                return
            case ast.If(test=test) if test is below:
                yield from _by_arm(python, parent, no, seen)
                return
            case _:
                break
        below = parent
    yield None


def _run_by(python: PythonTree, decorated: ast.stmt, decorator: ast.AST) -> Iterator[ast.AST]:
    """Yield the test that a decorator stands above, or those that are given what a fixture gives."""
    func = decorator.func if isinstance(decorator, ast.Call) else decorator
    if not isinstance(decorated, _FUNCTIONS) or not _FIXTURE.match(ast.unparse(func)):
        yield decorated
        return
    for each in python.statements:
        if isinstance(each, _FUNCTIONS):
            if any(given.arg == decorated.name for given in each.args.args):
                yield each


def _by_name(
    python: PythonTree, part: ast.stmt, name: str, seen: set[str]
) -> Iterator[ast.AST | None]:
    """Follow a variable that keeps an answer, or what it chooses."""
    if name in seen:
        return
    seen.add(name)
    home = next((p for p in python.ancestors(part) if isinstance(p, _FUNCTIONS)), python.module)
    for each in python.reads.get(name, ()):
        if home is python.module or home in python.ancestors(each):
            yield from _opened(python, each, seen)


def _by_arm(
    python: PythonTree, choice: ast.If, no: bool, seen: set[str]
) -> Iterator[ast.AST | None]:
    """Yield the arm that is run on an accelerator, where it is of a test; or follow what it sets of a module."""
    arm = choice.orelse if no else choice.body
    if no and not arm:
        block = python.block(choice)
        arm = block[block.index(choice) + 1 :] if choice in block else []
    home = next((p for p in python.ancestors(choice) if isinstance(p, _FUNCTIONS)), None)
    if home is not None:
        yield from arm if home.name.lstrip("_").startswith("test") else (None,)
        return
    for each in arm:
        match each:
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield from _by_name(python, each, name, seen)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                yield from _by_name(python, each, name, seen)  # `devices.append("cuda")`
            case _:
                yield None


def _has(file: File, pattern: re.Pattern[str], opened: ast.AST, *, prepared: bool = False) -> bool:
    """Tell whether a pattern is in the code of what is opened, or in what that calls of its file, or is prepared by."""
    python = file.python
    if python is None or not isinstance(opened, (ast.stmt, ast.expr)):
        return False
    functions = {n.name: n for n in python.statements if isinstance(n, ast.FunctionDef)}
    todo: list[ast.stmt | ast.expr] = [opened]
    for each in getattr(opened, "decorator_list", ()):
        # Of the skip itself the rest has been told.
        if isinstance(each, ast.Call) and not _SKIPS.match(ast.unparse(each)):
            todo.append(each)
    around = next(python.ancestors(opened), None)
    if prepared and isinstance(around, ast.ClassDef):
        todo += [each for each in around.body if _PREPARES.match(getattr(each, "name", ""))]
    seen: set[ast.AST] = set()
    while todo:
        each = todo.pop()
        seen.add(each)
        code = file.code[slice(*python.span(each))]
        if pattern.search(_MESSAGE.sub("", code) if pattern is _A_DEVICE else code) is not None:
            return True
        called = {functions[name] for name in _CALLED.findall(code) if name in functions}
        todo += called - seen
    return False
