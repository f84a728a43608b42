"""Moves and constructors that tdev's shims answer: the file only has to import tdev."""

from __future__ import annotations

import re
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.analysis.kinds import Kind, Kinds
from tdev_core.codemod.engine.analysis.literals import TENSOR_TYPE
from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.arguments import Call
from tdev_core.codemod.engine.rules.speaks_of_others import runs_on_others
from tdev_core.codemod.engine.survey import GUARDED, is_for_tests, is_script
from tdev_core.codemod.engine.vocabulary import ORDINAL, mentions

MOVES = rule(
    "tdev-import",
    "Files whose only CUDA is in methods and constructors",
    "note",
    """
    `x.to("cuda")`, `model.cuda()`, `x.new_zeros(3, device="cuda")`, `nn.Linear(4, 4,
    device="cuda")` and `x.type("torch.cuda.FloatTensor")` cannot be reached by a name. Where
    CUDA is not native, importing tdev puts shims on exactly these attributes, so the calls are
    right as they stand and the tdev styles do not edit them. Writing
    `.to(tdev.device("cuda"))` instead would even be wrong: on the CPU a move of a tensor that
    says `"cuda"` has to make a copy, as it does on CUDA, and torch's own move to a device the
    tensor is on already makes none.

    A file that has such calls and nothing else gets the import that installs the shims:
    `import tdev  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)`, before its first import
    of torch; in words of pylint as well where the tree has marks for that and none for others. So does a file that hands CUDA's name to another module, or moves something to what a
    person typed (`model.to(args.device)`); a script without torch gets it among its first imports. A module that
    never names CUDA does without, in a package of which other modules import tdev, and so does a test that imports one of those.
    A file without torch that moves something itself, and is no script, is reported.

    A GPU may be given by its number: `model.to(rank)`, `x.to(self.gpu_id)`, `x.to(0)` and
    `DistributedDataParallel(model, device_ids=[local_rank])` count where the words say so.
    """,
)

# What makes a shim needed: a name of CUDA, or what a person typed.
_NEED_SHIMS = frozenset({Kind.CUDA, Kind.TYPED})
_NOTE = '  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)'
NOTE_FOR_PYLINT = "  # noqa: F401 (lets .cuda() run anywhere); pylint: disable=unused-import"


def shim_note(file: File) -> str:
    """Return the comment of an import that is there for its shims, in the words of the linter that the tree's code speaks to."""
    tree = file.options.tree
    return NOTE_FOR_PYLINT if tree is not None and tree.marked_for_pylint else _NOTE


def moves(file: File) -> None:
    """Collect the calls that need the shims."""
    if _package_brings_tdev(file):
        return
    for node in file.tree.of(cst.Call):
        if needs_shim(file, node) and not file.kept(node) and not _is_marked_for_cuda(file, node):
            file.shims.append(node)


def _package_brings_tdev(file: File) -> bool:
    """Tell whether a module that never names CUDA lies in a package that imports tdev for others of its modules.

    What it moves to is what its package was given; who gives that a name of CUDA's runs with the shims.
    """
    tree, path = file.options.tree, PurePath(file.filename)
    if tree is None or tree.of_torch_cuda.isdisjoint(path.parts[:-1]):
        return False
    raw = file.tree.source.encode()
    if is_script(PurePath(path.name), raw):
        return False
    # One of a package of its tools is imported after the package itself; what only lies in its folder need not be.
    top = min(i for i, part in enumerate(path.parts) if part in tree.of_torch_cuda)
    around = (".".join(path.parts[i:-1]) for i in range(top, len(path.parts) - 1))
    if not tree.inner_packages.isdisjoint(around):
        brings = not is_for_tests(PurePath(path.name))
    else:
        brings = not is_for_tests(path) and not is_script(path, raw)
    return brings and not mentions(file.code)  # which reads all of the text many times


_MARK = re.compile(r"(?:pytest\.)?mark\.\w*cuda\w*\Z")
_REQUIRES = re.compile(rf"(?:\w+\.)*_?(?:requires?|needs?)_\w*(?<![a-z])(?:{GUARDED}|tensorrt)")


def _is_marked_for_cuda(file: File, node: cst.Call) -> bool:
    """Tell whether a test has a mark of its own that says CUDA, or a package for it, which runs it there alone.

    ``@pytest.mark.requires_cuda``, ``@requires_tensorrt``.
    """
    marks = (
        file.unanswered(file.tree.text(each.decorator))
        for parent in file.tree.ancestors(node)
        if isinstance(parent, (cst.FunctionDef, cst.ClassDef))
        for each in parent.decorators
    )
    return any(_MARK.match(mark) or _REQUIRES.match(mark) for mark in marks)


def needs_shim(file: File, node: cst.Call) -> bool:
    """Tell whether a call is right only where tdev's shims are: it moves to CUDA, or makes something there."""
    func = node.func
    call = Call(tuple(node.args))
    if isinstance(func, cst.Attribute):
        method = func.attr.value
        if file.resolver.reference(func) is None:
            if method == "cuda":
                return not any(a.star for a in node.args) or len(node.args) < 3
            if method in file.names.device_methods:
                return _gets_cuda(file, call, method)
    name = file.resolver.torch_name(func)
    if name is None or not (name in file.names.classes or name.startswith("torch.nn.")):
        return False
    numbered = call.argument("device_ids", 1 if name.endswith("Parallel") else None)
    if numbered is not None:
        return file.tree.text(numbered) != "None"
    value = call.argument("device", None)
    if value is None and name == "torch.Generator":
        value = call.argument("device", 0)
    return value is not None and not _NEED_SHIMS.isdisjoint(file.flow.kinds(value))


def _gets_cuda(file: File, call: Call, method: str) -> bool:
    for parameter, position in file.names.device_methods[method]:
        value = call.argument(parameter, position)
        if value is None:
            continue
        text = string_value(value)
        if text is not None and TENSOR_TYPE.match(text):
            return True
        if method == "to" and ORDINAL.fullmatch(file.tree.text(value)):
            return "torch" in file.tree.source and not runs_on_others(file)
        return not _NEED_SHIMS.isdisjoint(_kinds(file, value))
    return False


def _kinds(file: File, value: cst.BaseExpression) -> Kinds:
    """Return the kinds of thing that a device may be, but for what a question that stays gives a variable: that is on CUDA then."""
    bindings = file.scopes.of(value).lookup(value.value) if isinstance(value, cst.Name) else ()
    values = [each.value for each in bindings if each.kind == "value" and each.value is not None]
    left = [each for each in values if not file.stays(each)]
    if len(values) < len(bindings) or len(left) == len(values):
        return file.flow.kinds(value)
    return frozenset().union(*map(file.flow.kinds, left))
