"""Finds the questions for CUDA that a file asks by a name alone, which the text of the file does not show to be one.

``if SKIP_CUDA_TESTS: raise SkipTest``, of a helper that is not there; ``if not cuda.is_compiled(): raise``, of the project's own
extension; ``if self.use_cuda:`` of a test that is given its parameters. Words decide there, since none of these is made of what
tdev answers: a name of a module of the tree, read or not, may be, and is never one of them. ``@require_cuda`` of another file,
which goes on asking for CUDA, is known by that.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.elsewhere import Others
from tdev_core.codemod.engine.python.gates import Gates
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.statements import is_self
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.survey import is_for_tests

_MAY_ASK = re.compile(r"(?:_|only)cuda(?=_|\b)|\bcuda_\w|cuda\.is_", re.IGNORECASE)
_IS_THERE = re.compile(
    r"_*(?:is|has|have|with|test|run)_(?:torch_|pytorch_)?cuda(?:_(?:is_)?available|_tests?|_support)?"
    r"|\w*cuda_(?:is_)?(?:available|supported|compiled|built|installed|present|found)",
    re.IGNORECASE,
)
_IS_NOT = re.compile(r"_*(?:no|skip|without|disable)_(?:torch_)?cuda(?:_tests?)?", re.IGNORECASE)
# What stands above a test that it skips: `@requires_cuda`.
_SKIPS = re.compile(
    r"_?(?:(?:requires?|needs?|skip_if_(?:no|not)|skip_if_without|skip_unless|only)_?cuda|cuda_(?:only|required))",
    re.IGNORECASE,
)
_OF_A_TEST = re.compile(r"(?:use|test|with|has|run)_cuda")
_OWN = re.compile(r"(?:\w+\.)*cuda\.is_(?:compiled|built|supported|enabled)\Z")
_FOREIGN = re.compile(r"(?:numba\.cuda|cupy\.cuda|pycuda|cuda)\.is_available\Z")
_TORCHS = re.compile(r"(?:torch(?!\.testing\b)|tdev)(?:\.|\Z)")
_SET_OUTSIDE = re.compile(r"(?:os\.)?(?:getenv|environ\.get)\(")


def asked_by_words(file: File) -> list[tuple[Span, bool]]:
    """Return these questions by their places, and whether each asks for another device instead."""
    tree = file.options.tree
    if tree is None:
        return []
    kept = tree.cudas_questions | tree.cudas_decorators
    source = file.tree.source
    renames = ".type.replace(" in source and _CALLS_IT.search(file.code) is not None
    if not renames and _MAY_ASK.search(source) is None and not any(name in source for name in kept):
        return []
    python = file.python
    return list(_asked(file, python, tree)) if python is not None else []


def _asked(file: File, python: PythonTree, tree: ProgramTree) -> Iterator[tuple[Span, bool]]:
    imported, _ = python.names
    kept = tree.cudas_questions | tree.cudas_decorators
    for name, places in python.reads.items():
        if name in kept and Known.of(tree).is_own(imported.get(name, "?")):
            yield from ((python.span(place), False) for place in places)
            continue
        unknown = name in imported and _is_unknown(file, imported[name])
        denied = _IS_NOT.fullmatch(name) is not None
        if name == "cuda" and unknown:
            if _is_bound_once(python, name, outside=False):
                yield from ((span, False) for span in _of_a_module(python, places))
        elif denied or _IS_THERE.fullmatch(name) is not None:
            outside = name not in imported and "test" in name.lower()
            if (unknown or outside) and _is_bound_once(python, name, outside=outside):
                yield from ((python.span(place), denied) for place in places)
        elif _SKIPS.fullmatch(name) is not None and unknown:
            if _is_bound_once(python, name, outside=False):
                yield from ((python.span(place), False) for place in places)
    if is_for_tests(PurePath(file.filename)):
        yield from ((span, False) for span in _of_tests(file, python))
    yield from ((span, False) for span in _by_another_word(file, python))


# `def device_type(self, x): return x.device.type.replace("cuda", "gpu").upper()`: MPS has a word of its own there.
_CALLS_IT = re.compile(
    r"def[ \t]+(\w+)\([^()]*\)[^:\n]*:\s*(?:\"{3}(?:(?!\"{3}).)*\"{3}\s*)?"
    r"return[ \t]+[\w.]+\.type\.replace\(\s*[\"']cuda[\"']\s*,\s*[\"'](\w+)[\"']\s*\)(?:\.(upper|lower)\(\))?[ \t]*\n",
    re.DOTALL,
)


def _by_another_word(file: File, python: PythonTree) -> Iterator[Span]:
    """Yield the comparisons with what a function of the file calls CUDA's type: ``self.device_type(x) == "GPU"``."""
    words = {
        name: getattr(word, case)() if case else word
        for name, word, case in _CALLS_IT.findall(file.code)
    }
    for node in python.everything if words else ():
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=word)],
            ) if words.get(name) == word:
                yield python.span(node)
            case _:
                pass


def _is_unknown(file: File, full: str) -> bool:
    """Tell whether what an import names comes from a module that is none of the tree's, nor torch's."""
    tree = file.options.tree
    module = full.rpartition(".")[0].lstrip(".")
    if tree is None or not module or _TORCHS.match(full) is not None:
        return False
    return module.rpartition(".")[2] not in tree.stems and not _is_unread(tree, full)


def _is_unread(tree: ProgramTree, full: str) -> bool:
    """Tell whether an import is of what lies in the same project, and is not looked at in this run."""
    top = full.lstrip(".").partition(".")[0]
    return top in tree.near and top not in tree.modules | tree.stems


def _of_a_module(python: PythonTree, places: list[ast.Name]) -> Iterator[Span]:
    imported, _ = python.names
    for place in places:
        asked: ast.AST = next(python.ancestors(place))
        if isinstance(asked, ast.Attribute):
            full = f"{imported['cuda']}.{asked.attr}"
            if _OWN.match(full) or _FOREIGN.match(full):
                yield python.span(asked)


_READS_ALONE = frozenset({"os", "getenv", "environ", "bool", "int", "str"})


def _is_set_outside(value: ast.expr) -> bool:
    """Tell whether a value is what the environment says, and nothing else: ``os.getenv("SKIP_CUDA_TESTS", "0") == "1"``."""
    if _SET_OUTSIDE.match(ast.unparse(value)) is None:
        return False
    names = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    return names <= _READS_ALONE


def _is_bound_once(python: PythonTree, name: str, *, outside: bool) -> bool:
    """Tell whether one import gives a name its value, or the environment; a constant stands for what could not be imported."""
    imports = told = 0
    for each in python.statements:
        match each:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                imports += sum((alias.asname or alias.name) == name for alias in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if each.name == name:
                if not isinstance(next(python.ancestors(each)), ast.ClassDef):
                    return False
            case _:
                pass
    for place in python.binds.get(name, ()):
        match next(python.ancestors(place)):
            case ast.Assign(targets=[_], value=ast.Constant()):
                pass
            case ast.Assign(targets=[_], value=value) if outside and _is_set_outside(value):
                told += 1
            case _:
                return False
    return (imports, told) == ((0, 1) if outside else (1, 0))


def _of_tests(file: File, python: PythonTree) -> Iterator[Span]:
    """Yield the parameters of tests that say CUDA and that nothing of the tree sets."""
    tree = file.options.tree
    asked = [
        node
        for node in python.everything
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and _OF_A_TEST.fullmatch(node.attr)
        and is_self(node.value)
    ]
    imported, _ = python.names
    if tree is None or not asked or any(_is_unread(tree, full) for full in imported.values()):
        return
    gates = Gates(python, (), (), (), Others(tree, file.tree.source))
    for node in asked:
        above = next(python.ancestors(node))
        if node.attr not in tree.given_to_tests and gates.is_unset(node):
            if not (isinstance(above, ast.Call) and above.func is node):
                yield python.span(node)
