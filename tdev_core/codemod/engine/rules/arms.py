"""Branches that already choose between backends keep choosing as they did."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules._make import rule

ARMS = rule(
    "other-arms",
    "Branches with arms for other accelerators",
    "note",
    """
    Code that asks for CUDA in one arm and for `mps`, `xpu` or another accelerator in the next
    has been ported already. Answering the first question with "yes" on every accelerator
    would make the other arms dead, so the tests of such a chain stay as they are:
    `if/elif` chains, nested conditional expressions, a boolean expression that asks for both,
    and neighbouring `if` statements of one block. What stands inside the arms is rewritten as
    anywhere else.
    """,
)

_OTHERS = re.compile(
    r"\b(mps|xpu|npu|hpu|mlu|musa|mtia|xla|tpu|hip_available|ipex|directml)\b|_(mps|xpu|npu|hpu|mlu|xla|tpu)_|is_(mps|xpu|npu)"
)


def decides_beside_other_arms(file: File, node: cst.CSTNode) -> bool:
    """Whether ``node`` is (part of) a test with a sibling that asks for another accelerator."""
    tree = file.tree
    below: cst.CSTNode = node
    for parent in tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            if _names_other(file, parent, node):
                return True
        elif isinstance(parent, cst.IfExp):
            if below is parent.test and _names_other(file, _top_ifexp(file, parent), node):
                return True
        elif isinstance(parent, cst.If):
            return below is parent.test and _chain_names_other(file, parent)
        elif isinstance(parent, (cst.BaseSuite, cst.BaseSmallStatement)):
            return False
        below = parent
    return False


def _top_ifexp(file: File, node: cst.IfExp) -> cst.CSTNode:
    top: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if not isinstance(parent, cst.IfExp):
            break
        top = parent
    return top


def _names_other(file: File, node: cst.CSTNode, apart_from: cst.CSTNode | None = None) -> bool:
    start, end = file.tree.span(node)
    text = file.tree.source[start:end]
    if apart_from is not None:
        low, high = file.tree.span(apart_from)
        text = text[: low - start] + text[high - start :]
    return _OTHERS.search(text) is not None


def _chain_names_other(file: File, node: cst.If) -> bool:
    """Whether another test of the chain, or of a neighbouring ``if``, asks for another one."""
    tree = file.tree
    head = node
    parent = tree.parents.get(head)
    while isinstance(parent, cst.If) and parent.orelse is head:
        head = parent
        parent = tree.parents.get(head)
    tests: list[cst.CSTNode] = []
    link: cst.CSTNode | None = head
    while isinstance(link, cst.If):
        tests.append(link.test)
        last = link
        link = link.orelse
    if isinstance(link, cst.Else) and isinstance(link.body, cst.IndentedBlock):
        # `else:` with nothing but another `if` in it is an `elif`
        if len(link.body.body) == 1 and isinstance(link.body.body[0], cst.If):
            tests.append(link.body.body[0].test)
    if any(_names_other(file, test) for test in tests if test is not node.test):
        return True
    if last is not node and node is not head:
        return False
    return any(_names_other(file, n.test) for n in _neighbours(file, head))


def _neighbours(file: File, node: cst.If) -> list[cst.If]:
    parent = file.tree.parents.get(node)
    body = getattr(parent, "body", None)
    if not isinstance(body, (list, tuple)) or node not in body:
        return []
    at = list(body).index(node)
    near = [body[i] for i in (at - 1, at + 1) if 0 <= i < len(body)]
    return [n for n in near if isinstance(n, cst.If)]


_CUDA_ONLY = re.compile(
    # a package's name, alone or in that of a flag (`_TRITON_AVAILABLE`)
    r"(?i:(?<![a-z])(triton|cupy|flash_attn|apex|pynvml|xformers|pycuda)(?![a-z]))"
    r"|\b(load_inline|cpp_extension)\b|\bimport \w*_cuda|\b_C\.|\b\w*_ext\.|torch\.ops\.|CUDAExecutionProvider"
    r"|\bonnxruntime[-_]gpu\b|(?i:\btensorrt)"
    # a function of the program's own that says it is CUDA's, but not `use_cuda()` or `to_cuda()`
    r"|\b(?!\w*(?:is|use|has|to|on|no|using)_cuda)\w*_cuda(?:_\w+)?\("
)


# What is asked for by a variable or a function of this name has been written for CUDA.
_KERNEL_NAME = re.compile(r"(?i:kernel(?!_?(?:size|width|dim))|triton|flash_?att|cupy|xformers)")
# Kernels of the program's own: compiled, or imported as an extension.
_EXTENSION = re.compile(
    r"\bCUDAExtension\b|\bload_inline\b|\bcpp_extension\b|\bimport \w+_cuda\b|\.cu[\"']"
)


def guards_extension(file: File, node: cst.CSTNode) -> bool:
    """Whether a test decides if kernels written for CUDA are built or imported."""
    return guards_cuda_only(file, node, _EXTENSION)


def guards_cuda_only(file: File, node: cst.CSTNode, only: re.Pattern[str] = _CUDA_ONLY) -> bool:
    """Whether a test decides about code that only CUDA can run: kernels, CUDA-only packages.

    An ``assert`` guards the function it stands in; ``HAS_TRITON and …`` is one question. An answer
    that is kept or returned decides about what its variable or its function is called for.
    """
    tree = file.tree
    below: cst.CSTNode = node
    for parent in tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.And):
            if only.search(tree.text(parent)):
                return True
        if isinstance(parent, cst.IfExp) and below is parent.test:
            return only.search(tree.text(parent)) is not None
        if isinstance(parent, cst.If):
            if below is parent.test:
                text = _block_text(file, parent)
                return only.search(text) is not None
            return False
        if isinstance(parent, cst.Assert):
            home = next((p for p in tree.ancestors(parent) if isinstance(p, cst.FunctionDef)), None)
            return home is not None and only.search(tree.text(home.body)) is not None
        if isinstance(parent, cst.BaseSmallStatement):
            return only is _CUDA_ONLY and _KERNEL_NAME.search(_said_by(file, parent)) is not None
        below = parent
    return False


def _said_by(file: File, node: cst.CSTNode) -> str:
    """The names of the variables that keep an answer, and of the function that they stand in."""
    if isinstance(node, cst.Assign):
        names = [file.tree.text(target.target) for target in node.targets]
    elif isinstance(node, cst.AnnAssign):
        names = [file.tree.text(node.target)]
    elif isinstance(node, cst.Return):
        names = []
    else:
        return ""
    home = next((p for p in file.tree.ancestors(node) if isinstance(p, cst.FunctionDef)), None)
    return " ".join([*names, home.name.value if home is not None else ""])


def _block_text(file: File, node: cst.If) -> str:
    """What an ``if`` asks for besides, and what stands in its arms."""
    text = file.tree.text(node.test) + file.tree.text(node.body)
    if isinstance(node.orelse, cst.Else):
        text += file.tree.text(node.orelse.body)
    return text
