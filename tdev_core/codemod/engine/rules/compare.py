"""Questions about a device: ``device.type == "cuda"``, ``"cuda" in str(device)``, ``x.is_cuda``."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.literals import CUDA_STRING, NAMES_DEVICE, TENSOR_TYPE
from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File, Question
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.architecture import asks_for_the_build
from tdev_core.codemod.engine.rules.arms import (
    ARMS,
    beside_any_accelerator,
    beside_what_stays,
    decides_beside_other_arms,
)
from tdev_core.codemod.engine.rules.demands import DEMAND, MET, NAME, Demand, demand, has_kernels
from tdev_core.codemod.engine.rules.guards import guards_cuda_only, guards_full_autocast
from tdev_core.codemod.engine.rules.matches import as_question
from tdev_core.codemod.engine.rules.operands import (
    asks_for_device,
    last_name,
    other_business,
    short,
    without_index,
)
from tdev_core.codemod.engine.rules.other_runtimes import imports_a_runtime
from tdev_core.codemod.engine.rules.requests import (
    answers_for_each,
    chooses_by_word,
    is_a_request,
)
from tdev_core.codemod.engine.rules.speaks_of_others import (
    LEAVES_OUT,
    asks_about_others,
    leaves_out_others,
    measured_for_others,
    moves_there,
    said_of_others,
    takes_the_type_of_others,
)
from tdev_core.codemod.engine.rules.tellings import (
    COPIES,
    ONLY_TELLS,
    PINS,
    gives_a_reason,
    only_tells_of_cuda,
    why_it_pins,
)
from tdev_core.codemod.engine.rules.tensors import is_own_device
from tdev_core.codemod.engine.rules.torchscript import left_to_script

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

    A string is equal to `"cuda"` only without an index, so where it may have one, the predicate is
    asked for the plain name: `args.device == "cuda"` becomes
    `tdev.is_accelerator(args.device, exact=True)`, which is false for `"cuda:1"` and for a
    `torch.device`, as the comparison was.

    Handled: `==` and `!=` in either order, `torch.device("cuda").type` for `"cuda"`,
    `"cuda" in str(device)`, `"cuda" not in device`, `device.startswith("cuda")`, and
    `device.type in ("cuda", "mps")`. The operand has to call itself a device (`device`, `args.device`,
    `cfg["device"]`, `x.device.type`, `str(device)`) or be a variable that only ever holds
    device names; `backend == "cuda"` and `"cuda" in path` are reported, not guessed.
    `case "cuda":` of a `match` over such an operand becomes `case _ if tdev.is_accelerator(...):`, unless another case
    names another accelerator.
    A word that was asked for stays one where the program goes on to ask whether that is there
    (`if device == "cuda" and not torch.cuda.is_available()`), and where a chain of words ends in an error
    (`== "cpu"`, `== "cuda"`, else `raise`). So does a device that is made of such a word to be asked
    (`resolved.type == "cuda" and not torch.cuda.is_available()`): the function asks tdev, and what it returns is made
    a real device, `return tdev.device(resolved)`. Where it does more with it, all of that stays.
    Comparisons with an index (`device == "cuda:0"`), other uses of `"cuda"` in a `match`, names of tensor types
    (`x.type() == "torch.cuda.FloatTensor"`), lists of other accelerators and tests in a chain
    that has arms for other accelerators are reported and left; so are tables by device type,
    and what is answered to `pin_memory`, since torch's loaders pin for CUDA alone
    (`{"cuda": ..., "cpu": ...}`), in which another accelerator finds no row.

    A test that guards code which only CUDA can run (a triton kernel, a compiled extension) is
    left and reported: it has to stay true on CUDA alone. It guards what its arms hold, what
    follows if its body leaves the block, and what a comment beside it calls CUDA-only. So is one whose answer is kept or returned
    under a kernel's name (`use_triton = x.device.type == "cuda"`, `def supports_kernel(x)`). What such a test
    opens stays with it, also by the variable that keeps its answer, and so does the rest of its condition:
    only CUDA gets there.

    Both tdev styles need this rule: no mirror can see a comparison.
    """,
)

_NO_SPELLING = "no generic spelling of this question in torch"
# The accelerators of which the predicate says that they are one, where they are what is used.
_SHARED = frozenset({"cuda", "mps"})
_ACCELERATORS = frozenset({"cuda", "xpu", "mtia", "mps", "hip", "npu", "hpu", "mlu", "musa"})


def comparisons(file: File) -> None:
    for node in file.tree.of(cst.Comparison):
        if len(node.comparisons) == 1 and not file.kept(node):
            _comparison(file, node)
        elif any(_is_cuda(file, t.comparator) for t in node.comparisons):
            file.find(COMPARISON, node, 'a chained comparison with "cuda"')
    for node in file.tree.of(cst.Call):
        _startswith(file, node)
    for literal in file.tree.of(cst.SimpleString):
        _tensor_type(file, literal)
    for node in file.tree.of(cst.MatchValue):
        if string_value(node.value) == "cuda" and not file.kept(node):
            question = as_question(file, node)
            if question is None:
                file.find(COMPARISON, node, 'case "cuda": other accelerators do not match')
            else:
                file.replace_node(COMPARISON, node, question)
    for table in file.tree.of(cst.Dict):
        _table(file, table)


def _table(file: File, node: cst.Dict) -> None:
    """``{"cuda": …, "cpu": …}``, which a program asks with ``x.device.type``."""
    keys = [e.key if isinstance(e, cst.DictElement) else None for e in node.elements]
    types = [key and string_value(key) for key in keys]
    devices = [t for t in types if t and NAMES_DEVICE.match(t)]
    # One other device beside rows of another kind: `{"cpu": -1, "cuda": 1024, "flash": 1536}`.
    if "cuda" not in types or len(devices) < 2 or "cpu" not in types and len(devices) < len(types):
        return
    others = ("mps", "xpu") if file.options.style == "accelerator" else ("mps", "mlx")
    lacking = " or ".join(other for other in others if other not in types)
    if lacking:
        at = keys[types.index("cuda")] or node
        file.find(COMPARISON, at, f"a table by device type, without {lacking}", "note")


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
                if asks_for_device(file, one):
                    file.find(COMPARISON, node, f"compares a device with {text!r}")
                if file.options.style == "accelerator":
                    file.questions.append(Question(node, not negated, one, COMPARISON))
            else:
                _predicate(file, node, one, negated)
            return
    elif isinstance(operator, (cst.In, cst.NotIn)):
        negated = isinstance(operator, cst.NotIn)
        if string_value(left) == "cuda":
            _membership(file, node, right, negated)
        elif isinstance(right, (cst.Tuple, cst.List, cst.Set)):
            _among(file, node, left, right, negated)


# An attribute of such an object, and the word that one is told.
_OF_A_RUNTIME = re.compile(r"\.device\Z|\Adevice\Z")


def _is_cuda(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an operand is CUDA's name: `"cuda"`, or `torch.device("cuda").type`."""
    if isinstance(node, cst.Attribute) and node.attr.value == "type":
        made = node.value
        if isinstance(made, cst.Call) and file.resolver.torch_name(made.func) == "torch.device":
            return bool(made.args) and string_value(made.args[0].value) == "cuda"
    value = string_value(node)
    return value is not None and CUDA_STRING.match(value) is not None


def _predicate(file: File, node: cst.Comparison, operand: cst.BaseExpression, no: bool) -> None:
    if not asks_for_device(file, operand):
        if not isinstance(operand, cst.SimpleString) and not other_business(file, operand):
            text = short(file, operand)
            file.find(COMPARISON, node, f'{text} is compared with "cuda"; is it a device?')
        # Whatever it is, what is done for "cuda" alone is CUDA's.
        file.questions.append(Question(node, not no, operand, COMPARISON))
        return
    if imports_a_runtime(file) and _OF_A_RUNTIME.search(file.tree.text(operand)):
        text = short(file, operand)
        file.find(COMPARISON, node, f"{text} may be what another runtime calls it; left as it is")
        file.questions.append(Question(node, not no, operand, COMPARISON))
        return
    exact = not without_index(file, operand)
    word = file.tree.text(operand).startswith(("str(", "f'", 'f"'))
    if exact and not word and file.options.style != "accelerator" and is_own_device(file, operand):
        text = short(file, operand)
        said = f"{text} is a torch.device, which no string is equal to: compare its type"
        file.find(COMPARISON, node, said)
        return
    if not _among_others(file, node, operand):
        _wrap(file, node, operand, no, exact=exact)


def _among_others(file: File, node: cst.BaseExpression, operand: cst.BaseExpression) -> bool:
    """Tell whether other accelerators are asked for as well; then the test stays, and is reported."""
    no = isinstance(node, cst.Comparison) and isinstance(
        node.comparisons[0].operator, (cst.NotEqual, cst.NotIn)
    )
    if decides_beside_other_arms(file, node):
        file.find(ARMS, node, "this test chooses between backends; left as it is")
    elif beside_what_stays(file, node):
        file.find(ARMS, node, "stands beside a question that is left as it is")
    elif measured_for_others(file, node):
        said = "what it chooses was measured; left as it is"
        file.find(ARMS, node, said)
    elif said_of_others(file, node):
        file.find(ARMS, node, "the comment above speaks of other accelerators; left as it is")
    elif takes_the_type_of_others(file, node, operand):
        text = short(file, operand)
        file.find(ARMS, node, f"the last arm takes the type of any {text}; left as it is")
    elif beside_any_accelerator(file, node):
        file.find(ARMS, node, "stands beside a question for any accelerator; left as it is")
    elif asks_about_others(file, operand):
        text = short(file, operand)
        file.find(ARMS, node, f"{text} is compared with other accelerators too; left as it is")
    else:
        return False
    file.questions.append(Question(node, not no, operand, ARMS))
    return True


def _wrap(
    file: File,
    node: cst.Comparison | cst.Call,
    operand: cst.BaseExpression,
    no: bool,
    exact: bool = False,
    word: bool = False,
) -> None:
    if file.options.style == "accelerator":
        file.questions.append(Question(node, not no, operand, COMPARISON, _NO_SPELLING))
        return
    demanded = demand(file, node, negated=no)
    if chooses_by_word(file, node, operand):
        if exact or word:
            file.find(COMPARISON, node, "chooses by the word that was given; left as it is", "note")
            return
        demanded = None
    if answers_for_each(file, node, operand):
        file.find(
            COMPARISON,
            node,
            "one of a function's answers, for each kind of device its own; left as it is",
            "note",
        )
        return
    if (stays := _why_it_stays(file, node, demanded)) is not None:
        file.find(COMPARISON, node, stays, "note" if stays in (PINS, COPIES) else None)
        return
    if is_a_request(file, node, operand):
        return
    met = demanded is not None and demanded.is_met
    if not met and (guards_cuda_only(file, node) or has_kernels(file)):
        file.find(COMPARISON, node, _OF_CUDA)
        return
    if leaves_out_others(file, node) and (demanded is None or not moves_there(file, node)):
        file.find(ARMS, node, LEAVES_OUT)
        return
    if left_to_script(file, node, "a question about a device"):
        return
    start, end = file.tree.span(node)
    inner = file.tree.outer_span(operand) if isinstance(node, cst.Call) else file.tree.span(operand)
    low, high = inner
    if "#" in file.tree.source[start:low] + file.tree.source[high:end]:
        file.find(COMPARISON, node, "a comment stands inside this comparison; rewrite it by hand")
        return
    asks = NAME if met else "is_accelerator"
    before, after = f"{file.here(node)}.{asks}(", ", exact=True)" if exact else ")"
    if no:
        before = "not " + before
        if binds_tighter(file, node):
            before, after = "(" + before, after + ")"
    file.wrap(DEMAND if met else COMPARISON, file.tree.span(node), before, inner, after)
    if met:
        file.find(DEMAND, node, f"CUDA is demanded; {MET}")


_OF_CUDA = "guards code that only CUDA can run; left as it is"


def _why_it_stays(file: File, node: cst.CSTNode, demanded: Demand | None) -> str | None:
    """Return what is said of a comparison that stays, where its demand or what stands around it says so."""
    if demanded is not None and demanded.verdict == "kept":
        return f"{demanded.why}; left as it is"
    if asks_for_the_build(file, node) is not None:
        return "stands beside a question about the build; left as it is"
    if only_tells_of_cuda(file, node) or gives_a_reason(file, node):
        return ONLY_TELLS
    if _opens_a_bare_assertion(file, node):
        return "what is asserted of CUDA is said elsewhere; left as it is"
    if guards_full_autocast(file, node):
        return "opens an autocast to float32, which torch has for CUDA alone; left as it is"
    return why_it_pins(file, node)


def _opens_a_bare_assertion(file: File, node: cst.CSTNode) -> bool:
    """Tell whether all that a test opens is ``assert gpu, "…"``: what a table says of CUDA, it says of no other."""
    choice = file.tree.parents[node]
    if not isinstance(choice, cst.If) or choice.test is not node:
        return False
    lines = choice.body.body
    (first, *rest) = (
        lines[0].body
        if len(lines) == 1 and isinstance(lines[0], cst.SimpleStatementLine)
        else (None,)
    )
    return not rest and isinstance(first, cst.Assert) and isinstance(first.test, cst.Name)


def beside_a_comparison_that_stays(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a condition around a question holds a comparison with CUDA that stays: no half of it is rewritten."""
    whole = None
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            whole = parent
        elif not isinstance(parent, (cst.UnaryOperation, cst.Call)):
            break
    if whole is None:
        return False
    low, high = file.tree.span(whole)
    for each in file.tree.of(cst.Comparison):
        if not (low <= file.tree.span(each)[0] < high) or len(each.comparisons) != 1:
            continue
        told = each.comparisons[0]
        if not isinstance(told.operator, (cst.Equal, cst.NotEqual)):
            continue
        operand = next(
            (
                a
                for a, b in ((each.left, told.comparator), (told.comparator, each.left))
                if _is_cuda(file, b)
            ),
            None,
        )
        if operand is None or not asks_for_device(file, operand):
            continue
        demanded = demand(file, each, negated=isinstance(told.operator, cst.NotEqual))
        if _why_it_stays(file, each, demanded) is not None:
            return True
        met = demanded is not None and demanded.is_met
        if not met and (guards_cuda_only(file, each) or has_kernels(file)):
            return True
        if demanded is None and leaves_out_others(file, each):
            return True
    return False


def _membership(file: File, node: cst.Comparison, right: cst.BaseExpression, no: bool) -> None:
    """``"cuda" in X``."""
    plain = isinstance(right, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
    named_many = isinstance(right, (cst.Name, cst.Attribute)) and last_name(right).endswith("s")
    if plain and asks_for_device(file, right) and not named_many:
        if not _among_others(file, node, right):
            # A word that is taken apart, unless it is the type of a device.
            _wrap(file, node, right, no, word=last_name(right) != "type")
    elif not other_business(file, right):
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
    if not asks_for_device(file, left):
        if not other_business(file, left):
            file.find(
                COMPARISON, node, f'{short(file, left)} is compared with "cuda"; is it a device?'
            )
    elif all(v in _SHARED for v in values):
        if asks_about_others(file, left, lists=False):
            text = short(file, left)
            said = f"{text} is compared with other accelerators too; left as it is"
            file.find(ARMS, node, said)
        elif values == ["cuda"] or not decides_beside_other_arms(file, node):
            _wrap(file, node, left, no, exact=not without_index(file, left))
        else:
            file.find(ARMS, node, "this test chooses between backends; left as it is")
    elif all(v in _ACCELERATORS or v == "cpu" for v in values):
        file.find(ARMS, node, "a list of supported device types; other accelerators are not in it")
    else:
        file.find(COMPARISON, node, 'a list of devices with "cuda" in it')


def _tensor_type(file: File, node: cst.SimpleString) -> None:
    """``x.type() == "torch.cuda.FloatTensor"``, or such names in a list to be looked up in."""
    if "torch.cuda." not in node.value or not TENSOR_TYPE.match(string_value(node) or ""):
        return
    if isinstance(file.tree.parents[node], (cst.Comparison, cst.ComparisonTarget, cst.Element)):
        if not file.kept(node):
            file.find(COMPARISON, node, "tensors have a type of this name on CUDA alone")


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
    if not asks_for_device(file, func.value):
        if not other_business(file, func.value):
            file.find(
                COMPARISON,
                node,
                f'{short(file, func.value)} is compared with "cuda"; is it a device?',
            )
        return
    if string_value(node.args[0].value) == "cuda:":
        file.find(COMPARISON, node, "asks for an indexed CUDA device")
        return
    if not _among_others(file, node, func.value):
        _wrap(file, node, func.value, False, word=last_name(func.value) != "type")


def binds_tighter(file: File, node: cst.CSTNode) -> bool:
    """Tell whether ``not …`` needs parentheses where the comparison needed none."""
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
