"""Instruments a program where only its run can answer a question about devices.

``x.device.type == "cuda"`` is the codemod's. Tests ask the same of a parameter (``assert x.device.type
== kind``) and of lists of accelerators (``assert device.type in ["cuda", "xpu"]``); no rewriting of the
source can know what such a text will be. A program that runs rewritten in memory calls
:mod:`.comparisons` there instead: ``equal``, ``contained`` and ``begins``, in unittest's assertions
``equal_operands`` and ``membership_operands``.

So with ``batch["x"].is_cuda``, where the source does not tell whether a tensor is asked, and with
tables by device type (``{"cuda": 1, "cpu": 2}[x.device.type]``) that have no row for it: ``lookup``.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from tdev_core.run.placing import import_into

__all__ = ["instrument", "may_need_it"]

_WORTH_A_LOOK = re.compile(
    rb"dev[^\n]*\.type\b|dev(?:ice)?_?type\b|\bstr\([^\n]*dev"
    rb"|(?<!for )\b(?:\w+\.)*dev(?:ice)?['\"\]]*(?: not)? in\b"
)
_TYPE_NAME = re.compile(r"dev(?:ice)?_?type\Z")
_DEVICE_NAME = re.compile(r"dev(?:ice)?\Z")
_COMPARISONS = "_tdev_comparisons"
_ASKED: dict[type[ast.cmpop], tuple[str, bool]] = {
    ast.Eq: ("equal", False),
    ast.NotEq: ("equal", True),
    ast.In: ("contained", False),
    ast.NotIn: ("contained", True),
}
_ASSERTING = {
    "assertEqual": "equal_operands",
    "assertNotEqual": "equal_operands",
    "assertIn": "membership_operands",
    "assertNotIn": "membership_operands",
}


def may_need_it(source: bytes) -> bool:
    """Tell whether it is worth parsing ``source`` for :func:`instrument`."""
    return _WORTH_A_LOOK.search(source) is not None


def instrument(tree: ast.Module, unknown: Collection[tuple[int, int]] = ()) -> bool:
    """Have the questions in ``tree`` call :mod:`.comparisons`; says whether there were any.

    Whether a type is *in* a list, or begins with a text that the source says, is asked only where the answer
    is a verdict: in an assertion, or in a condition that raises. Elsewhere it may choose a kernel that only CUDA has.

    Args:
        unknown: where an ``x.is_cuda`` begins of which the rules do not know whether it asks a tensor.
    """
    nodes = list(ast.walk(tree))
    verdicts = {id(part) for node in nodes for part in _judged(node)}

    def asking(value: Any) -> Any:
        if isinstance(value, ast.Compare):
            return _compared(value, id(value) in verdicts)
        if isinstance(value, ast.Call):
            return _begun(value, id(value) in verdicts)
        if isinstance(value, ast.Attribute) and (value.lineno, value.col_offset) in unknown:
            return _is_cuda(value)
        return value

    found = _replace(tree, asking)
    found = any([_asserted(node) for node in nodes if isinstance(node, ast.Call)]) or found
    # What is compared is told by its name, so that it is looked up afterwards.
    found = _replace(tree, _looked_up) or found
    if found:
        import_into(tree, "tdev_core.run.comparisons", _COMPARISONS)
    return found


def _replace(tree: ast.Module, by: Callable[[Any], Any]) -> bool:
    """Put ``by(node)`` in the place of every node below ``tree``; says whether one is another."""
    found = False
    # No recursion: a long sum of texts is a deep tree. The parts of a node come before it.
    for node in reversed(list(ast.walk(tree))):
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                new = [by(item) for item in value]
                found = found or any(map(operator.is_not, new, value))
                value[:] = new
            elif (other := by(value)) is not value:
                setattr(node, name, other)
                found = True
    return found


def _judged(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below the condition of an assertion, or of an ``if`` that raises."""
    if isinstance(node, ast.Assert) or isinstance(node, ast.If) and _raises(node):
        yield from ast.walk(node.test)
    elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("assertTrue", "assertFalse"):
            yield from ast.walk(node.args[0])


def _raises(node: ast.If) -> bool:
    return isinstance(node.body[-1], ast.Raise)


def _compared(node: ast.Compare, verdict: bool) -> ast.expr:
    """``a == b`` and ``a in b``, where one side is a device's type, as a question; others as is."""
    if len(node.ops) != 1 or type(node.ops[0]) not in _ASKED:
        return node
    name, negated = _ASKED[type(node.ops[0])]
    left, right = node.left, node.comparators[0]
    if name == "contained":
        if not verdict or not (_is_type(left) or _is_listed(left, right)):
            return node
    elif isinstance(left, ast.Constant) or isinstance(right, ast.Constant):
        return node
    elif not _is_type(left) and not _is_type(right):
        return node
    asking = _question(name, [left, right], node)
    return ast.copy_location(ast.UnaryOp(ast.Not(), asking), node) if negated else asking


def _begun(node: ast.Call, verdict: bool) -> ast.expr:
    """``x.device.type.startswith(kind)`` as a question; other calls as is."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "startswith" or node.keywords:
        return node
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred) or not _is_type(func.value):
        return node
    if not verdict and isinstance(node.args[0], (ast.Constant, ast.Tuple)):
        return node
    return _question("begins", [func.value, node.args[0]], node)


def _is_cuda(node: ast.Attribute) -> ast.expr:
    """``x.is_cuda`` as a question; what else begins at the same place as is."""
    if node.attr != "is_cuda" or not isinstance(node.ctx, ast.Load):
        return node
    return _question("is_cuda", [node.value], node)


def _is_lookup(node: Any) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    return not isinstance(node.slice, ast.Tuple) and _is_type(node.slice)


def _looked_up(node: Any) -> Any:
    """``table[x.device.type]`` as a question; others as is."""
    return _question("lookup", [node.value, node.slice], node) if _is_lookup(node) else node


def _asserted(node: ast.Call) -> bool:
    """Have ``self.assertEqual(a, b)`` and its like ask; says whether this is one."""
    if not isinstance(node.func, ast.Attribute) or len(node.args) < 2:
        return False
    name = _ASSERTING.get(node.func.attr)
    first, second = node.args[:2]
    if name is None or isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
        return False
    if not _is_type(first) and (name == "membership_operands" or not _is_type(second)):
        return False
    both = ast.Starred(_question(name, [first, second], node), ast.Load())
    node.args[:2] = [ast.copy_location(both, node)]
    return True


def _question(name: str, operands: list[ast.expr], place: ast.expr) -> ast.Call:
    """Return a call of the comparison ``name``, at the place of ``place``; the operands keep theirs."""
    module = ast.copy_location(ast.Name(_COMPARISONS, ast.Load()), place)
    function = ast.copy_location(ast.Attribute(module, name, ast.Load()), place)
    return ast.copy_location(ast.Call(function, operands, []), place)


def _is_type(node: ast.expr) -> bool:
    """Tell whether the expression reads as a device's type, as the text of a device, or as several."""
    if isinstance(node, (ast.SetComp, ast.ListComp)):
        return _is_type(node.elt)
    if isinstance(node, (ast.Set, ast.List, ast.Tuple)):
        return any(map(_is_type, node.elts))
    if isinstance(node, ast.Attribute) and node.attr == "type":
        return "dev" in _last_name(node.value)
    if isinstance(node, ast.Call):
        made = isinstance(node.func, ast.Name) and node.func.id == "str" and len(node.args) == 1
        return made and "dev" in _last_name(node.args[0])
    return _TYPE_NAME.search(_last_name(node)) is not None


def _is_listed(node: ast.expr, several: ast.expr) -> bool:
    """Tell whether a text that is called a device is looked for among texts that name CUDA: ``device in ["cuda", "cpu"]``."""
    named = isinstance(several, (ast.Set, ast.List, ast.Tuple)) and "cuda" in (
        one.value for one in several.elts if isinstance(one, ast.Constant)
    )
    return named and _DEVICE_NAME.search(_last_name(node)) is not None


def _last_name(node: ast.expr) -> str:
    """Return the name by which an expression calls its value: ``x.device``, ``get_device()``, ``state["device"]``."""
    if isinstance(node, ast.Subscript):
        key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return key.value
        node = node.value
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
