"""Questions about a device: ``device.type == "cuda"``, ``"cuda" in str(device)``, ``x.is_cuda``."""

from __future__ import annotations

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.kinds import Kind
from tdev_core.codemod.engine.literals import CUDA_STRING, is_device_word
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.arms import (
    ARMS,
    decides_beside_other_arms,
    guards_cuda_only,
)
from tdev_core.codemod.engine.tree import Span, string_value

COMPARISON = rule(
    "comparison",
    'Comparisons with `"cuda"`',
    "warning",
    """
    A comparison asks a question, and needs a predicate rather than a device:
    `x.device.type == "cuda"` becomes `tdev.is_accelerator(x.device.type)`, which is true on
    CUDA exactly as before, true for the device of whatever accelerator runs the program, and
    false on the CPU. `!=` becomes `not tdev.is_accelerator(...)`. The operand is kept as
    written: the predicate takes a device, a device type or a device string, so nothing has to
    be known about it.

    Handled: `==` and `!=` in either order, `torch.device("cuda").type` for `"cuda"`, `"cuda" in str(device)`, `"cuda" not in device`,
    `device.startswith("cuda")`, and `device.type in ("cuda", "xpu")` when every member names an
    accelerator. The operand has to call itself a device (`device`, `args.device`,
    `cfg["device"]`, `x.device.type`, `str(device)`) or be a variable that only ever holds
    device names; `backend == "cuda"` and `"cuda" in path` are reported, not guessed.
    Comparisons with an index (`device == "cuda:0"`), `match` on `"cuda"` and tests in a chain
    that has arms for other accelerators are reported and left.

    A test that guards code which only CUDA can run (a triton kernel, a compiled extension) is
    left and reported: it has to stay true on CUDA alone. So is one whose answer is kept or returned
    under a kernel's name (`use_triton = x.device.type == "cuda"`, `def supports_kernel(x)`).

    Both tdev styles need this rule: no mirror can see a comparison.
    """,
)

_ACCELERATORS = frozenset({"cuda", "xpu", "mtia", "mps", "hip", "npu", "hpu", "mlu", "musa"})


def comparisons(file: File) -> None:
    for node in file.tree.of(cst.Comparison):
        if len(node.comparisons) == 1 and not file.kept(node):
            _comparison(file, node)
        elif any(_is_cuda(file, t.comparator) for t in node.comparisons):
            file.find(COMPARISON, node, 'a chained comparison with "cuda"')
    for node in file.tree.of(cst.Call):
        _startswith(file, node)
    for node in file.tree.of(cst.MatchValue):
        if string_value(node.value) == "cuda":
            file.find(COMPARISON, node, 'case "cuda": other accelerators do not match')


def _comparison(file: File, node: cst.Comparison) -> None:
    target = node.comparisons[0]
    operator, right = target.operator, target.comparator
    left = node.left
    if isinstance(operator, (cst.Equal, cst.NotEqual)):
        negated = isinstance(operator, cst.NotEqual)
        for one, other in ((left, right), (right, left)):
            if not _is_cuda(file, other):
                continue
            text = string_value(other) or ""
            if ":" in text:
                if _asks_for_device(file, one):
                    file.find(COMPARISON, node, f"compares a device with {text!r}")
            else:
                _predicate(file, node, one, negated)
            return
    elif isinstance(operator, (cst.In, cst.NotIn)):
        negated = isinstance(operator, cst.NotIn)
        if string_value(left) == "cuda":
            _membership(file, node, right, negated)
        elif isinstance(right, (cst.Tuple, cst.List, cst.Set)):
            _among(file, node, left, right, negated)


def _is_cuda(file: File, node: cst.CSTNode) -> bool:
    """Whether an operand is CUDA's name: `"cuda"`, or `torch.device("cuda").type`."""
    if isinstance(node, cst.Attribute) and node.attr.value == "type":
        made = node.value
        if isinstance(made, cst.Call) and file.resolver.torch_name(made.func) == "torch.device":
            return bool(made.args) and string_value(made.args[0].value) == "cuda"
    value = string_value(node)
    return value is not None and CUDA_STRING.match(value) is not None


def _asks_for_device(file: File, node: cst.CSTNode) -> bool:
    """Whether an operand is a device, a device type or a device string."""
    if is_device_word(node):
        return True
    if isinstance(node, cst.Attribute) and node.attr.value == "type":
        kinds = file.flow.kinds(node.value)
        return bool(kinds) and kinds <= {Kind.DEVICE, Kind.NONE}
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "str":
        return bool(node.args) and _asks_for_device(file, node.args[0].value)
    if isinstance(node, cst.Name):
        bindings = file.scopes.of(node).lookup(node.value)
        return (
            bool(bindings)
            and all(b.value is not None and b.kind == "value" for b in bindings)
            and Kind.CUDA in file.flow.kinds(node)
            and file.flow.kinds(node) <= {Kind.CUDA, Kind.OTHER}
        )
    return file.flow.kinds(node) == {Kind.DEVICE}


def _predicate(file: File, node: cst.Comparison, operand: cst.BaseExpression, no: bool) -> None:
    if not _asks_for_device(file, operand):
        if not isinstance(operand, cst.SimpleString) and not _other_business(file, operand):
            text = short(file, operand)
            file.find(COMPARISON, node, f'{text} is compared with "cuda"; is it a device?')
        return
    if decides_beside_other_arms(file, node):
        file.find(ARMS, node, "this test chooses between backends; left as it is")
        return
    _wrap(file, node, operand, no)


def _wrap(file: File, node: cst.Comparison, operand: cst.BaseExpression, no: bool) -> None:
    if file.options.style == "accelerator":
        file.find(COMPARISON, node, "no generic spelling of this question in torch")
        return
    if guards_cuda_only(file, node):
        file.find(COMPARISON, node, "guards code that only CUDA can run; left as it is")
        return
    start, end = file.tree.span(node)
    low, high = _inner(file, operand)
    if "#" in file.tree.source[start:low] + file.tree.source[high:end]:
        file.find(COMPARISON, node, "a comment stands inside this comparison; rewrite it by hand")
        return
    here = file.here(node)
    before, after = f"{here}.is_accelerator(", ")"
    if no:
        before = "not " + before
        if _binds_tighter(file, node):
            before, after = "(" + before, "))"
    file.wrap(COMPARISON, file.tree.span(node), before, _inner(file, operand), after)


def _inner(file: File, operand: cst.BaseExpression) -> Span:
    return file.tree.span(operand)


def _membership(file: File, node: cst.Comparison, right: cst.BaseExpression, no: bool) -> None:
    """``"cuda" in X``."""
    plain = isinstance(right, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
    named_many = isinstance(right, (cst.Name, cst.Attribute)) and _last(right).endswith("s")
    if plain and _asks_for_device(file, right) and not named_many:
        if decides_beside_other_arms(file, node):
            file.find(ARMS, node, "this test chooses between backends; left as it is")
        else:
            _wrap(file, node, right, no)
    elif not _other_business(file, right):
        text = short(file, right)
        file.find(COMPARISON, node, f'"cuda" is looked for in {text}; is it a device?')


def _among(
    file: File,
    node: cst.Comparison,
    left: cst.BaseExpression,
    right: cst.Tuple | cst.List | cst.Set,
    no: bool,
) -> None:
    """``device.type in ("cuda", "xpu")``."""
    values = [string_value(e.value) for e in right.elements]
    if not any(v is not None and CUDA_STRING.match(v) for v in values):
        return
    if not _asks_for_device(file, left):
        if not _other_business(file, left):
            file.find(
                COMPARISON, node, f'{short(file, left)} is compared with "cuda"; is it a device?'
            )
    elif all(v in _ACCELERATORS for v in values):
        if values == ["cuda"] or not decides_beside_other_arms(file, node):
            _wrap(file, node, left, no)
        else:
            file.find(ARMS, node, "this test chooses between backends; left as it is")
    elif set(values) >= {"cuda", "cpu"}:
        file.find(ARMS, node, "a list of supported device types; other accelerators are not in it")
    else:
        file.find(COMPARISON, node, 'a list of devices with "cuda" in it')


def _startswith(file: File, node: cst.Call) -> None:
    func = node.func
    if (
        not isinstance(func, cst.Attribute)
        or func.attr.value != "startswith"
        or len(node.args) != 1
        or string_value(node.args[0].value) not in ("cuda", "cuda:")
        or file.kept(node)
    ):
        return
    if not _asks_for_device(file, func.value):
        if not _other_business(file, func.value):
            file.find(
                COMPARISON,
                node,
                f'{short(file, func.value)} is compared with "cuda"; is it a device?',
            )
        return
    if string_value(node.args[0].value) == "cuda:":
        file.find(COMPARISON, node, "asks for an indexed CUDA device")
        return
    if decides_beside_other_arms(file, node):
        file.find(ARMS, node, "this test chooses between backends; left as it is")
        return
    if file.options.style == "accelerator":
        file.find(COMPARISON, node, "no generic spelling of this question in torch")
        return
    inner = file.tree.outer_span(func.value)
    file.wrap(COMPARISON, file.tree.span(node), f"{file.here(node)}.is_accelerator(", inner, ")")


def _other_business(file: File, node: cst.CSTNode) -> bool:
    """Operands whose names say that no device is meant: paths, keys, file contents."""
    last = _last(node).lower()
    return any(
        word in last
        for word in (
            "path",
            "file",
            "dir",
            "line",
            "text",
            "message",
            "msg",
            "environ",
            "argv",
            "url",
            "log",
            "output",
            "stdout",
            "keyword",
            "tag",
            "doc",
        )
    )


def _last(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        return node.attr.value
    if isinstance(node, cst.Call):
        return _last(node.func)
    if isinstance(node, cst.Subscript):
        return _last(node.value)
    return ""


def _binds_tighter(file: File, node: cst.CSTNode) -> bool:
    """Whether ``not …`` needs parentheses where the comparison needed none."""
    if getattr(node, "lpar", ()):
        return False
    parent = file.tree.parents[node]
    return isinstance(
        parent,
        (
            cst.BinaryOperation,
            cst.UnaryOperation,
            cst.Comparison,
            cst.ComparisonTarget,
            cst.Attribute,
            cst.Await,
            cst.Subscript,
            cst.StarredElement,
        ),
    ) and not (isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not))


def short(file: File, node: cst.CSTNode) -> str:
    text = " ".join(file.tree.text(node).split())
    return text if len(text) <= 40 else text[:37] + "..."
