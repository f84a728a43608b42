"""Has the interpreter ask a block of numbers for its truth as Triton's compiler does: ``and``, ``or`` and ``not`` are element-wise.

In Python they ask ``bool``, which was true of every block: ``(i < n) and (j < m)`` was ``j < m``, and ``0 < i < n`` was ``i < n``.
What the compiler refuses is refused: a block under ``if``, and before Triton 3.9 a chain of comparisons.

Source: visit_BoolOp, visit_UnaryOp, visit_If and visit_Compare of triton/compiler/code_generator.py, 3.6 to 3.9.
"""

from __future__ import annotations

import ast
import functools
from types import ModuleType
from typing import Any, NoReturn

__all__ = ["mend"]


def mend(interpreter: ModuleType) -> None:
    """Mend ``triton.runtime.interpreter``, whose classes are Triton's own."""
    transformer = interpreter.ASTTransformer
    if not hasattr(
        interpreter, "_InterpreterComparison"
    ):  # Triton 3.9 visits both, and its compiler takes a chain
        transformer.visit_Assign = _inside(transformer.visit_Assign)
        transformer.visit_Compare = _compare
    transformer.visit_BoolOp = _both
    transformer.visit_UnaryOp = _not
    transformer.visit_If = transformer.visit_While = transformer.visit_IfExp = _test
    builder = interpreter.InterpreterBuilder
    builder.get_all_ones_value = _ones(builder.get_all_ones_value, interpreter)
    # A kernel's names hold this object, and nothing else that is there for what is written into it.
    semantic = vars(interpreter)["interpreter_semantic"]
    semantic.tdev_both = functools.partial(_both_of, interpreter)
    semantic.tdev_not = functools.partial(_not_of, interpreter)
    semantic.tdev_tested = functools.partial(_tested, interpreter)
    semantic.tdev_chained = _chained


def _inside(function: Any) -> Any:
    """Visit what is assigned, too."""

    @functools.wraps(function)
    def visit_Assign(self: ast.NodeTransformer, node: ast.Assign) -> Any:
        self.generic_visit(node)
        return function(self, node)

    return visit_Assign


def _both(self: ast.NodeTransformer, node: ast.BoolOp) -> ast.expr:
    """Make ``a and b`` a call with a function for each operand: numbers known before decide as they do in Python."""
    self.generic_visit(node)
    kind = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    operands = [ast.Lambda(nothing, operand) for operand in node.values]
    return _call("tdev_both", ast.Constant(kind), *operands)


def _not(self: ast.NodeTransformer, node: ast.UnaryOp) -> ast.expr:
    self.generic_visit(node)
    return _call("tdev_not", node.operand) if isinstance(node.op, ast.Not) else node


def _test(self: ast.NodeTransformer, node: Any) -> ast.AST:
    self.generic_visit(node)
    node.test = _call("tdev_tested", node.test)
    tested: ast.AST = node
    return tested


def _compare(self: ast.NodeTransformer, node: ast.Compare) -> ast.expr:
    self.generic_visit(node)
    return node if len(node.ops) == 1 else _call("tdev_chained")


def _call(name: str, *args: ast.expr) -> ast.Call:
    owner = ast.Name("interpreter_semantic", ast.Load())
    return ast.Call(ast.Attribute(owner, name, ast.Load()), list(args), [])


def _both_of(interpreter: ModuleType, kind: str, *operands: Any) -> Any:
    tensors, last = [], None
    for operand in operands:
        last = operand()
        if isinstance(last, interpreter.tl.tensor):
            tensors.append(last)
        elif bool(last) is (kind == "logical_or"):
            return last
    if not tensors:
        return last
    found = tensors[0]
    for other in tensors[1:]:
        found = getattr(interpreter.interpreter_semantic, kind)(found, other)
    return found


def _not_of(interpreter: ModuleType, operand: Any) -> Any:
    if isinstance(operand, interpreter.tl.tensor):
        return interpreter.interpreter_semantic.not_(operand)
    return not operand


def _ones(function: Any, interpreter: ModuleType) -> Any:
    """Have ``~`` flip numbers without a sign, too: -1, by which they are flipped, is none of them."""
    np = interpreter.np

    @functools.wraps(function)
    def get_all_ones_value(self: Any, type: Any) -> Any:
        if not type.scalar.is_int_unsigned() or type.scalar == interpreter.tl.int1:
            return function(self, type)
        bits = np.dtype(f"uint{type.scalar.primitive_bitwidth}")
        return interpreter.TensorHandle(np.full(1, np.iinfo(bits).max, dtype=bits), type.scalar)

    return get_all_ones_value


def _tested(interpreter: ModuleType, condition: Any) -> Any:
    """Return a condition that has one truth."""
    if isinstance(condition, interpreter.tl.tensor) and condition.handle.data.size != 1:
        raise ValueError(
            f"a block of shape {condition.handle.data.shape} is neither true nor false: if and while take one number (for blocks "
            "there is tl.where)"
        )
    return condition


def _chained(*_: Any) -> NoReturn:
    raise NotImplementedError("Triton before 3.9 has no a < b < c: write (a < b) & (b < c)")
