"""Tells the question whether torch was built with CUDA from ``torch.version.cuda`` as a version."""

from __future__ import annotations

import ast
import re
from functools import partial
from itertools import pairwise

import libcst as cst

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.compare import binds_tighter
from tdev_core.codemod.engine.rules.guards import guards_cuda_only
from tdev_core.codemod.engine.rules.kept_questions import LEFT, kept_question
from tdev_core.codemod.engine.rules.taken import is_only_told
from tdev_core.codemod.engine.rules.tellings import said_before
from tdev_core.codemod.engine.rules.torchscript import left_to_script

VERSION = rule(
    "cuda-version",
    "`torch.version.cuda`",
    None,
    """
    Where it is taken apart, compared or handed on, it comes from tdev: `"0.0"` on every
    backend but CUDA, so that `int(torch.version.cuda.split(".")[0])` is a number below all that a
    kernel could ask for. `"0.0"` is false: `if torch.version.cuda:` asks whether torch was built with
    CUDA, and is told the truth.

    So is `torch.version.cuda is None`. It stays where torch itself is still asked; where the name has
    become tdev's it becomes `not torch.version.cuda`, and `is not None` becomes
    `bool(torch.version.cuda)`. Beside an arm that takes `torch.version.hip` apart it chooses between
    the two builds for a GPU, in a program that takes it for granted that it runs on one: there it has
    a version.

    In a function that is called after TensorRT, or returns it as its answer (`get_cuda_version`), it stays torch's. So it does in the `explicit` style where it is
    only told, by `print`, a logger, put into a text or as a value of a report's table: who reads that wants to know
    what is installed.

    A file that asks it nothing else (`if torch.version.cuda:`, `is None`) goes on asking torch in the
    `explicit` style: the answer is the same. So does one in the `alias` style that has nothing else from tdev.
    """,
)

NAME = "torch.version.cuda"

# ROCm's version as a version, not as a question: `version.hip is None`, `not version.hip`.
_HIP = re.compile(
    r"(?<!bool\()(?<!not )(?<![\w.])(?:\w+\.)?version\.hip\b(?!\s*(?:is\b|==|!=|and\b|or\b|:))"
)


def build_version(file: File, found: Reference) -> None:
    """Take a reference to ``torch.version.cuda`` from tdev, unless it only asks for the build."""
    asked = file.tree.parents[found.node]
    if _for_another(file, found.node) or _told_of_cuda(file, found) or _is_recorded(file, asked):
        return
    if found.name == NAME and (_is_told(file, found) or _is_only_asked(file, found)):
        return
    if _is_known_there(file, found):
        return
    if not file.options.program and _is_what_a_function_tells(file, asked):
        kept_question(
            file, found, VERSION, f"{found.name} is what the function tells; {LEFT}", "note"
        )
        return
    alias = file.options.style == "alias" and not file.options.program
    if alias and found.package == "torch" and _is_known_wherever_it_is_taken(file):
        # torch answers as well who asks nothing else; where the file is tdev's, it says 0.0 and has to be asked otherwise.
        file.do_besides(partial(_ask, file, found, asked))
        return
    _ask(file, found, asked)


_TELLER = re.compile(
    r"(?:get_)?(?:torch_)?(?:cuda|build)_?version\Z|version_of_cuda\Z", re.IGNORECASE
)


def _is_what_a_function_tells(file: File, asked: cst.CSTNode) -> bool:
    """Tell whether a function that is called after it returns the version as it is: ``def get_cuda_version(): return torch.version.cuda``."""
    home = enclosing_function(file, asked) if isinstance(asked, cst.Return) else None
    return home is not None and _TELLER.match(home.name.value) is not None


def _ask(file: File, found: Reference, asked: cst.CSTNode) -> None:
    if found.name != NAME or not _asks_for_none(asked, found.node) or _chooses_a_gpu(file, asked):
        if not left_to_script(file, found.node, NAME):
            file.use(VERSION, found)
        return
    if file.options.style == "explicit" and found.target == "torch":
        return
    file.use(VERSION, found)
    assert isinstance(asked, cst.Comparison)
    inner = file.tree.span(found.node)
    if isinstance(asked.comparisons[0].operator, (cst.IsNot, cst.NotEqual)):
        before, after = "bool(", ")"
    else:
        before, after = ("(not ", ")") if binds_tighter(file, asked) else ("not ", "")
    file.wrap(VERSION, file.tree.span(asked), before, inner, after)


_TENSORRT = re.compile(r"tensor_?rt", re.IGNORECASE)
_FAISS = re.compile(r"^[ \t]*(?:import|from)[ \t]+faiss\b", re.MULTILINE)


_RECORD = re.compile(r"\bcuda_?version\b")


def _is_recorded(file: File, asked: cst.CSTNode) -> bool:
    """Tell whether a version is compared with the one that something was built for: ``info["cuda_version"] != …``."""
    whole = file.tree.parents[asked] if isinstance(asked, cst.ComparisonTarget) else asked
    return (
        isinstance(whole, cst.Comparison)
        and isinstance(whole.comparisons[0].operator, (cst.Equal, cst.NotEqual))
        and _RECORD.search(file.tree.text(whole).replace(NAME, "")) is not None
    )


def _for_another(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a version is taken apart for TensorRT or faiss, which know NVIDIA's alone."""
    if file.in_code(_FAISS) is not None:
        return True
    if _TENSORRT.search(file.tree.text(file.tree.statement(node))):
        return True
    home = enclosing_function(file, node)
    return home is not None and _TENSORRT.search(home.name.value) is not None


def _told_of_cuda(file: File, found: Reference) -> bool:
    """Tell whether a version is what a choice gives whose question stays torch's: ``version.cuda if is_available() else …``."""
    if file.options.style != "explicit" or found.target != "torch":
        return False
    choice = file.tree.parents[found.node]
    return (
        isinstance(choice, cst.IfExp)
        and choice.body is found.node
        and isinstance(choice.test, cst.Call)
        and file.resolver.torch_name(choice.test.func) == "torch.cuda.is_available"
    )


_TELLS = re.compile(
    r"\w*(?:print|echo|log|info|debug|warn|warning|error|critical|exception)\Z", re.IGNORECASE
)


def _is_told(file: File, found: Reference) -> bool:
    """Tell whether a version is told as it is, in a file that goes on asking torch for it."""
    if file.options.style != "explicit" or found.target != "torch":
        return False
    return _tells(file, found.node)


def _tells(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a version is printed or logged, formatted, or a value of a table."""
    parent = file.tree.parents[node]
    while isinstance(parent, cst.IfExp) and parent.test is not node:
        node, parent = parent, file.tree.parents[parent]
    row = file.tree.parents[parent] if isinstance(parent, cst.BooleanOperation) else parent
    if isinstance(row, cst.Element) and said_before(file, row):
        return True
    if isinstance(parent, cst.DictElement):
        return parent.value is node
    if isinstance(parent, cst.Arg) and _is_message(file.tree.parents[parent]):
        return True
    said = _put_into_words(file, node)
    return said is not None and (
        _is_said(file, said) or is_only_told(file, node) or _is_kept_to_be_told(file, said)
    )


def _is_message(call: cst.CSTNode) -> bool:
    """Tell whether a call is one of ``print``, a logger or the like."""
    if not isinstance(call, cst.Call):
        return False
    func = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return isinstance(func, cst.Name) and _TELLS.match(func.value) is not None


def _put_into_words(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the text that a version is put into: an f-string, ``"…".format(…)``, ``"…" % …``, or what is joined by ``+``.

    Joined as it is, it has to be one: torch's may be None.
    """
    said: cst.CSTNode | None = None
    below = node
    for parent in file.tree.ancestors(node):
        match parent:
            case cst.FormattedStringExpression(format_spec=spec) if spec is not None:
                return None  # which None has none of
            case cst.FormattedString():
                said = parent
            case cst.Call(
                func=cst.Attribute(value=cst.SimpleString(value=text), attr=cst.Name("format"))
            ):
                if re.search(r"\{[^{}]*:", text) is not None:
                    return None
                said = parent
            case cst.BinaryOperation(operator=cst.Add()) if below is node:
                break
            case cst.BinaryOperation(operator=cst.Add() | cst.Modulo()):
                said = parent
            case (
                cst.FormattedStringExpression()
                | cst.ConcatenatedString()
                | cst.Arg()
                | cst.Element()
                | cst.Tuple()
            ):
                pass
            case cst.Call(func=cst.Name("str")):
                pass
            case _:
                break
        below = parent
    return said


def _is_said(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a text goes to what tells it, and is no address or name of a file."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Call):
            return _is_message(parent)
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
    return False


# Not `cuda_version`, which may be taken apart where it is read.
_OF_A_REPORT = re.compile(r"(?!\w*cuda)\w*(?:version|info|report|summary)\w*\Z", re.IGNORECASE)


def _is_kept_to_be_told(file: File, said: cst.CSTNode) -> bool:
    """Tell whether a text is kept in an attribute called after a version, which the file reads to tell it and for nothing else."""
    kept = file.tree.parents[said]
    tree = file.python
    match kept:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name(name)))]):
            pass
        case _:
            return False
    if tree is None or _OF_A_REPORT.match(name) is None:
        return False
    reads = [
        node
        for node in tree.everything
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
    ]
    parts = (ast.Attribute, ast.Subscript)
    return bool(reads) and all(
        _is_in_a_message(tree, each) and not isinstance(next(tree.ancestors(each), None), parts)
        for each in reads
    )


def _is_in_a_message(tree: PythonTree, node: ast.AST) -> bool:
    for parent in tree.ancestors(node):
        match parent:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if _TELLS.match(name):
                return True
            case ast.stmt():
                return False
            case _:
                pass
    return False


def _is_only_asked(file: File, found: Reference) -> bool:
    """Tell whether a file asks torch nothing but whether it was built with CUDA: the answer is the same there."""
    if file.options.style != "explicit":
        return False
    return only_asks_for_the_build(file) and not _chooses_a_gpu(file, file.tree.parents[found.node])


def only_asks_for_the_build(file: File) -> bool:
    """Tell whether a version is asked for nothing but whether there is one, and looked at where that is so; or told."""
    imports = (cst.ImportAlias, cst.AsName, cst.Attribute)
    asked = [
        n
        for n in file.tree.of(cst.Attribute, cst.Name)
        if file.resolver.torch_name(n) == NAME and not isinstance(file.tree.parents[n], imports)
    ]
    return bool(asked) and all(
        _is_test(file, n) or _tells(file, n) or _asked_before(file, n) for n in asked
    )


def _is_known_wherever_it_is_taken(file: File) -> bool:
    """Tell whether each use of a version asks if there is one, tells it, or stands in a choice that asks: torch's None does no harm."""
    uses = [n for n in file.tree.of(cst.Attribute, cst.Name) if file.resolver.torch_name(n) == NAME]
    imports = (cst.ImportAlias, cst.AsName)
    return all(
        _is_test(file, n)
        or _tells(file, n)
        or any(
            isinstance(around, (cst.If, cst.IfExp))
            and inside is not around.test
            and _VERSION.search(file.tree.text(around.test))
            for inside, around in pairwise((n, *file.tree.ancestors(n)))
        )
        for n in uses
        if not isinstance(file.tree.parents[n], imports)
    )


_VERSION = re.compile(r"\bversion\.cuda\b")


def _is_known_there(file: File, found: Reference) -> bool:
    """Tell whether a version is asked in the same expression whether it is None: it is CUDA's where it is taken apart."""
    if file.options.style != "explicit" or found.target != "torch":
        return False
    if _asked_before(file, found.node):
        return True
    below: cst.CSTNode = found.node
    for parent in file.tree.ancestors(found.node):
        if isinstance(parent, cst.IfExp) and below is not parent.test:
            test = parent.test
            if _chooses_a_gpu(file, test):
                return False
            if isinstance(test, cst.Comparison) and file.resolver.torch_name(test.left) == NAME:
                is_none = isinstance(test.comparisons[0].operator, (cst.Is, cst.Equal))
                return _asks_for_none(test, test.left) and below is (
                    parent.orelse if is_none else parent.body
                )
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
        below = parent
    return False


def _asked_before(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a version stands behind its own question: ``version.cuda and newer(version.cuda, "11.0")``."""
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation) and below is parent.right:
            if isinstance(parent.operator, cst.And):
                left = parent.left
                if isinstance(left, cst.Comparison) and _asks_for_none(left, left.left):
                    there = isinstance(left.comparisons[0].operator, (cst.IsNot, cst.NotEqual))
                    return there and file.resolver.torch_name(left.left) == NAME
                return file.resolver.torch_name(left) == NAME
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
        below = parent
    return False


def _is_test(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a name is asked whether it is true, or compared with None."""
    parent = file.tree.parents[node]
    if _asks_for_none(parent, node):
        return True
    while isinstance(parent, (cst.BooleanOperation, cst.UnaryOperation)):
        node, parent = parent, file.tree.parents[parent]
    return isinstance(parent, (cst.If, cst.IfExp, cst.While)) and parent.test is node


def _asks_for_none(asked: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Tell whether a name is compared with None: ``is``, ``==`` and their opposites."""
    if not isinstance(asked, cst.Comparison) or asked.left is not node:
        return False
    target = asked.comparisons[0]
    return (
        len(asked.comparisons) == 1
        and isinstance(target.operator, (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual))
        and isinstance(target.comparator, cst.Name)
        and target.comparator.value == "None"
    )


def _chooses_a_gpu(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question's arms, or the function that keeps its answer, take ROCm's version."""
    if guards_cuda_only(file, node, _HIP):
        return True
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.If):
            return False
        if isinstance(parent, (cst.Assign, cst.AnnAssign)):
            home = enclosing_function(file, parent)
            return home is not None and _HIP.search(file.tree.text(home)) is not None
    return False
