"""Tells whether arms give devices and do nothing else: then tdev's device for CUDA is the one that the others give."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.vocabulary import OTHERS


def gives_devices(file: File, question: cst.CSTNode) -> bool:
    """Tell whether what a question chooses are devices and nothing else: ``torch.device("cuda")``, ``torch.device("mps")``.

    tdev's device for CUDA is the one that the other accelerator's arm gives where there is that one.
    """
    tree = file.python
    below = tree.at(file.tree.span(question)) if tree is not None else None
    if tree is None or below is None:
        return False
    chosen = False
    for parent in tree.ancestors(below):
        match parent:
            case ast.IfExp():
                chosen = True
            case ast.Call(func=func) if below is not func:
                return chosen and _makes_a_device(parent)
            case ast.If(test=test, body=body) if below is test:
                head: ast.stmt = parent
                for above in tree.ancestors(parent):
                    if not isinstance(above, ast.If) or above.orelse != [head]:
                        break
                    head = above
                near = tree.block(head)
                at = near.index(head)
                links = near[max(0, at - 1) : at + 2]
                arms = [arm for link in links for arm in _arms_of_others(link)]
                return bool(arms) and all(map(_only_a_device, (body, *arms)))
            case ast.Attribute() | ast.Call() | ast.BoolOp() | ast.UnaryOp() | ast.Compare():
                pass
            case _:
                return False
        below = parent
    return False


def _arms_of_others(link: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the arms of a chain whose tests ask for another accelerator."""
    while isinstance(link, ast.If):
        if OTHERS.search(ast.unparse(link.test)):
            yield link.body
        if len(link.orelse) != 1:
            return
        link = link.orelse[0]


def _only_a_device(arm: list[ast.stmt]) -> bool:
    """Tell whether an arm gives a device, to its caller or to a variable, and does nothing else."""
    match arm:
        case [ast.Return(value=ast.Call() as made)]:
            return _makes_a_device(made)
        case [ast.Assign(targets=[ast.Name() | ast.Attribute()], value=ast.Call() as made)]:
            return _makes_a_device(made)
        case _:
            return False


def _makes_a_device(call: ast.Call) -> bool:
    return ast.unparse(call.func).rpartition(".")[2] == "device"
