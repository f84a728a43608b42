"""Questions about a device: ``device.type == "cuda"``, ``"cuda" in str(device)``, ``x.is_cuda``."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.kinds import Kind
from tdev_core.codemod.engine.analysis.literals import CUDA_STRING, NAMES_DEVICE, TENSOR_TYPE
from tdev_core.codemod.engine.analysis.nodes import descendants, string_value
from tdev_core.codemod.engine.file import File, Question
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.arms import ARMS, decides_beside_other_arms
from tdev_core.codemod.engine.rules.counts import beside_several
from tdev_core.codemod.engine.rules.demands import DEMAND, MET, NAME
from tdev_core.codemod.engine.rules.matches import as_question
from tdev_core.codemod.engine.rules.operands import (
    asks_for_device,
    other_business,
    short,
    without_index,
)
from tdev_core.codemod.engine.rules.reference_rules import NO_DIFFERENCE
from tdev_core.codemod.engine.rules.speaks_of_others import asks_about_others
from tdev_core.codemod.engine.rules.tensors import is_own_device
from tdev_core.codemod.engine.rules.torchscript import left_to_script
from tdev_core.codemod.engine.rules.type_questions import (
    Asked,
    Judged,
    Stays,
    asked_by,
    for_itself,
    is_cudas_name,
    judge,
)
from tdev_core.codemod.engine.vocabulary import DEVICE_NAME

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

    Handled: `==` and `!=` in either order, `torch.device("cuda").type` for `"cuda"`, a constant of a class or a module
    of the tree that is called after the word it holds (`DeviceType.CUDA`, `CUDA_DEVICE`),
    `"cuda" in str(device)`, `"cuda" not in device`, `device.startswith("cuda")`, and
    `device.type in ("cuda", "mps")`. The operand has to call itself a device (`device`, `args.device`,
    `cfg["device"]`, `x.device.type`, `str(device)`); `backend == "cuda"` and `"cuda" in path` are reported, not guessed.
    A variable that holds nothing but words of the file (`device = "cuda" if tdev.cuda.is_available() else "cpu"`) is
    asked as before: its word for CUDA is the same on every machine.
    `case "cuda":` of a `match` over such an operand becomes `case _ if tdev.is_accelerator(...):`, unless another case
    names another accelerator.
    A word that was asked for stays one where the program goes on to ask whether that is there
    (`if device == "cuda" and not torch.cuda.is_available()`), and where a chain of words ends in an error
    (`== "cpu"`, `== "cuda"`, else `raise`). So does a device that is made of such a word to be asked
    (`resolved.type == "cuda" and not torch.cuda.is_available()`): the function asks tdev, and what it returns is made
    a real device, `return tdev.device(resolved)`. Where it does more with it, all of that stays.
    What a test asserts of a real device is what that is called here: `assert str(x.device) == "cuda:0"` expects
    `str(tdev.device("cuda:0"))`, and `self.assertEqual(x.device.type, "cuda")` `tdev.device("cuda").type`; where it is given
    the word, `assert x.device.type == device` expects `tdev.device(device).type`.
    Other comparisons with an index (`device == "cuda:0"`), other uses of `"cuda"` in a `match`, names of tensor types
    (`x.type() == "torch.cuda.FloatTensor"`), lists of other accelerators and tests in a chain
    that has arms for other accelerators are reported and left; so are tables by device type,
    and what is answered to `pin_memory`, since torch's loaders pin for CUDA alone
    (`{"cuda": ..., "cpu": ...}`), in which another accelerator finds no row.

    A test that guards code which only CUDA can run (a triton kernel, a compiled extension) is
    left and reported: it has to stay true on CUDA alone. It guards what its arms hold, what
    follows if its body leaves the block, and what a comment beside it calls CUDA-only. So is one whose answer is kept or returned
    under a kernel's name (`use_triton = x.device.type == "cuda"`, `def supports_kernel(x)`). What such a test
    opens stays with it, also by the variable or the attribute that keeps its answer and the function that gives it
    back, and so do the rest of its condition and private functions that nothing else calls: only CUDA gets there.

    A test that decides about TF32 stays as well, one beside a package that knows CUDA and the CPU alone, such as KeOps or DGL, and
    one of a word in a file that has PaddlePaddle, MindSpore or MXNet and no torch. So does `device == torch.device("cuda")`, which is false on any other
    accelerator, with what it opens: tdev's device is the CPU's where there is nothing else. An assertion that says so
    is about tdev's device, and so is the question before a move: `if x.device != torch.device("cuda")`. Of a device that the
    file has made of plain words, `torch.device("cuda" if gpu else "cpu")`, it asks the type, and becomes that question.

    Both tdev styles need this rule: no mirror can see a comparison.
    """,
)

_NO_SPELLING = "no generic spelling of this question in torch"
# The accelerators of which the predicate says that they are one, where they are what is used.
_SHARED = frozenset({"cuda", "mps"})
_ACCELERATORS = frozenset({"cuda", "xpu", "mtia", "mps", "hip", "npu", "hpu", "mlu", "musa"})


def comparisons(file: File) -> None:
    answers: list[tuple[Asked, Judged]] = []
    for node in file.tree.of(cst.Comparison):
        if len(node.comparisons) == 1 and not file.kept(node):
            _comparison(file, node, answers)
        elif any(is_cudas_name(file, t.comparator) for t in node.comparisons):
            file.find(COMPARISON, node, 'a chained comparison with "cuda"')
    for node in file.tree.of(cst.Call):
        _startswith(file, node, answers)
        _asserted_equal(file, node)
    _answer_all(file, answers)
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
    for found in _TURNED.finditer(file.code) if ".items()" in file.code else ():
        _turned_table(file, found)


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


_TURNED = re.compile(
    r"^\w+[ \t]*(?::[^=\n]+)?=[ \t]*(\{\s*(\w+)\s*:\s*(\w+)\s+for\s+\3\s*,\s*\2\s+in\s+(\w+)\.items\(\))",
    re.MULTILINE,
)


def _turned_table(file: File, found: re.Match[str]) -> None:
    """``{word: kind for kind, word in TABLE.items()}`` of one that gives ``"cuda"`` and ``"cpu"`` for kinds of the program's own."""
    table = re.search(
        rf"^{found[4]}[ \t]*(?::[^=\n]+)?=[ \t]*(\{{[^{{}}]*\}})", file.code, re.MULTILINE
    )
    words = set(_WORDS.findall(table[1])) if table is not None else set()
    if {"cuda", "cpu"} <= words and not words & {"mps", "mlx"}:
        said = "a table by device type, without mps or mlx"
        file.find_at(COMPARISON, found.start(1), said, "note")


_WORDS = re.compile(r":\s*[\"']([a-z]+)[\"']")


def _comparison(file: File, node: cst.Comparison, answers: list[tuple[Asked, Judged]]) -> None:
    if (asked := asked_by(file, node)) is not None:
        if _beside_a_numbered(file, node):
            file.find(COMPARISON, node, "compares a device with 'cuda' and with one by its number")
            return
        apart = file.options.style != "accelerator" and not file.options.program
        if apart and beside_several(file, node):
            said = "asks where there are several devices alone; left as it is"
            file.do_besides(
                lambda: _answer_all(file, [(asked, judge(file, asked))]),
                (node, (NO_DIFFERENCE, said)),
            )
            return
        answers.append((asked, judge(file, asked)))
        return
    target = node.comparisons[0]
    operator, right = target.operator, target.comparator
    left = node.left
    if isinstance(operator, cst.Equal) and is_asserted(file, node):
        for one, other in ((left, right), (right, left)):
            if _expects_a_parameter(file, one, other):
                return
    if isinstance(operator, (cst.Equal, cst.NotEqual)):
        for one, other in ((left, right), (right, left)):
            if not is_cudas_name(file, other):
                continue
            if is_asserted(file, node) and _expects(file, one, other):
                return
            if asks_for_device(file, one):
                file.find(COMPARISON, node, f"compares a device with {file.flow.word(other)!r}")
            if file.options.style == "accelerator":
                yes = isinstance(operator, cst.Equal)
                file.questions.append(Question(node, yes, one, COMPARISON))
            return
    elif isinstance(operator, (cst.In, cst.NotIn)):
        if file.flow.word(left) == "cuda":
            if not other_business(file, right):
                text = short(file, right)
                file.find(COMPARISON, node, f'"cuda" is looked for in {text}; is it a device?')
        elif isinstance(right, (cst.Tuple, cst.List, cst.Set)):
            _among(file, node, left, right, isinstance(operator, cst.NotIn))


_NUMBERED = re.compile(r"cuda:\d+\Z")


def _beside_a_numbered(file: File, node: cst.Comparison) -> bool:
    """Tell whether a condition asks a word for CUDA's first device, too: ``device == "cuda" or device == "cuda:0"``.

    As the list of both does, ``device in ("cuda", "cuda:0")``, it asks what was typed; half of it would be another question.
    """
    asked = file.tree.text(node.left)
    if file.options.style == "accelerator" or file.options.program or asked.endswith(".type"):
        return False
    whole: cst.CSTNode = node
    while isinstance(file.tree.parents.get(whole), cst.BooleanOperation):
        whole = file.tree.parents[whole]
    return any(
        isinstance(other, cst.Comparison)
        and other is not node
        and file.tree.text(other.left) == asked
        and _NUMBERED.match(string_value(other.comparisons[0].comparator) or "") is not None
        for other in descendants(whole)
    )


def is_asserted(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a comparison is all that an ``assert`` says, or one of several that have to hold: ``assert all(… for …)``."""
    below = node
    for parent in file.tree.ancestors(node):
        match parent:
            case cst.BooleanOperation(operator=cst.And()):
                pass
            case cst.GeneratorExp(elt=elt) | cst.ListComp(elt=elt) if elt is below:
                pass
            case cst.Arg(keyword=None, star=""):
                pass
            case cst.Call(func=cst.Name(value="all")):
                pass
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="assertTrue"))):
                return parent.args[0] is below
            case _:
                return isinstance(parent, cst.Assert)
        below = parent
    return False


def _asserted_equal(file: File, node: cst.Call) -> None:
    """``self.assertEqual(str(x.device), "cuda:0")``."""
    func = node.func
    if not isinstance(func, cst.Attribute) or func.attr.value not in (
        "assertEqual",
        "assertEquals",
    ):
        return
    given = [each.value for each in node.args if each.keyword is None and not each.star]
    if len(given) >= 2 and not file.kept(node):
        for one, other in ((given[0], given[1]), (given[1], given[0])):
            if CUDA_STRING.match(string_value(other) or "") and _expects(file, one, other):
                return
            if _expects_a_parameter(file, one, other):
                return


def _expects_a_parameter(file: File, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """``assert x.device.type == device``, where a test is given the word; tell whether it is one."""
    device = _compared_with_a_parameter(file, one, other)
    if device is None or not is_own_device(file, device) or file.stays(other):
        return False
    before, after = ("", ").type") if isinstance(one, cst.Attribute) else ("str(", "))")
    inner = file.tree.span(other)
    file.wrap(COMPARISON, inner, f"{before}{file.here(other)}.device(", inner, after)
    return True


def expects_what_is_not_seen(file: File, node: cst.Comparison) -> bool:
    """Tell whether a test asserts so of what nobody sees to be a tensor's device, which stays."""
    target = node.comparisons[0]
    if not isinstance(target.operator, cst.Equal) or not is_asserted(file, node):
        return False
    both = (node.left, target.comparator), (target.comparator, node.left)
    devices = [_compared_with_a_parameter(file, *each) for each in both]
    return any(each is not None and not is_own_device(file, each) for each in devices)


def _compared_with_a_parameter(
    file: File, one: cst.BaseExpression, other: cst.BaseExpression
) -> cst.BaseExpression | None:
    """Return the device whose type, or text, is compared with the word that a function is given."""
    if file.options.style == "accelerator" or not isinstance(other, cst.Name):
        return None
    match one:
        case cst.Attribute(value=device, attr=cst.Name(value="type")):
            pass
        case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(value=device)]):
            pass
        case _:
            return None
    bindings = file.scopes.of(other).lookup(other.value)
    given = bool(bindings) and all(each.kind == "parameter" for each in bindings)
    if not given or DEVICE_NAME.search(other.value) is None or is_own_device(file, other):
        return None
    return device


def _expects(file: File, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Have a test expect of a real device what it is called here: ``str(x.device)`` or ``x.device.type``; tell whether it is one."""
    if (
        file.options.style == "accelerator"
        or file.stays(other)
        or not isinstance(other, cst.SimpleString)
    ):
        return False
    before, after = "", ").type"
    match one:
        case cst.Attribute(value=device, attr=cst.Name(value="type")) if asks_for_device(file, one):
            pass
        case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(value=device)]):
            before, after = "str(", "))"
        case _:
            return False
    if not is_own_device(file, device):
        return False
    expected = f"{before}{file.here(other)}.device({other.value}{after}"
    file.replace_node(COMPARISON, other, expected)
    return True


def _answer_all(file: File, answers: list[tuple[Asked, Judged]]) -> None:
    """Answer all questions: one of a word of which another one stays, since it guards what CUDA alone can run, stays as well.

    In one function, or of an attribute in one class: ``device.startswith("cuda")``, which chooses a provider of ONNX Runtime.
    """

    def whose(asked: Asked) -> tuple[cst.CSTNode | None, str]:
        text = file.tree.text(asked.operand)
        kind = cst.ClassDef if text.startswith("self.") else cst.FunctionDef
        home = next((p for p in file.tree.ancestors(asked.node) if isinstance(p, kind)), None)
        return home, text

    guarding = {whose(asked) for asked, judged in answers if judged.stays and judged.stays.guards}
    for asked, judged in answers:
        if guarding and judged == Judged() and asked.word and whose(asked) in guarding:
            said = f"{short(file, asked.operand)} is what a question for CUDA alone asks, too; left as it is"
            judged = Judged(Stays(said))
        _answer(file, asked, judged)


def _answer(file: File, asked: Asked, judged: Judged) -> None:
    """Report a question that stays, or rewrite it."""
    node, stays = asked.node, judged.stays
    if stays is not None:
        rule = stays.rule or COMPARISON
        if stays.said:
            file.find(rule, node, stays.said, stays.severity)
        if asked.compares or not stays.unknown:
            file.questions.append(Question(node, not asked.denies, asked.operand, rule))
    elif file.options.style == "accelerator":
        yes = not asked.denies
        file.questions.append(Question(node, yes, asked.operand, COMPARISON, _NO_SPELLING))
    elif not (
        judged.demanded is None
        and _asks_for_a_word(file, asked)
        or file.stays(node)
        or left_to_script(file, node, "a question about a device")
    ):
        _rewrite(file, asked, judged)


def _asks_for_a_word(file: File, asked: Asked) -> bool:
    """Tell whether what is asked holds words that stand in this file, and nothing else: the one for CUDA is the same everywhere."""
    operand = asked.operand
    if asked.of_a_tensor or not file.flow.kinds(operand) <= {Kind.CUDA, Kind.OTHER}:
        return False
    spans = [file.tree.span(each) for each in file.flow.all_values(operand)]
    # Or it has become the name of the device that is there.
    made = [start for (start, _), change in file.changes.items() if "device(" in change.text]
    return bool(spans) and not any(low <= start < high for low, high in spans for start in made)


def _rewrite(file: File, asked: Asked, judged: Judged) -> None:
    node, operand = asked.node, asked.operand
    met = judged.demanded is not None and judged.demanded.is_met
    start, end = file.tree.span(node)
    inner = file.tree.outer_span(operand) if isinstance(node, cst.Call) else file.tree.span(operand)
    low, high = inner
    if "#" in file.tree.source[start:low] + file.tree.source[high:end]:
        file.find(COMPARISON, node, "a comment stands inside this comparison; rewrite it by hand")
        return
    asks = NAME if met else "is_accelerator"
    before, after = f"{file.here(node)}.{asks}(", ", exact=True)" if asked.exact else ")"
    if asked.denies:
        before = "not " + before
        if binds_tighter(file, node):
            before, after = "(" + before, after + ")"
    file.wrap(DEMAND if met else COMPARISON, file.tree.span(node), before, inner, after)
    if met:
        file.find(DEMAND, node, f"CUDA is demanded; {MET}")


def _among(
    file: File,
    node: cst.Comparison,
    left: cst.BaseExpression,
    right: cst.Tuple | cst.List | cst.Set,
    no: bool,
) -> None:
    """``device.type in ("cuda", "xpu")``."""
    values = [file.flow.word(e.value) for e in right.elements]
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
            asked = Asked(node, left, no, exact=not without_index(file, left))
            of_tdev = file.options.style != "accelerator"
            _answer(file, asked, for_itself(file, asked) if of_tdev else Judged())
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


def _startswith(file: File, node: cst.Call, answers: list[tuple[Asked, Judged]]) -> None:
    if file.kept(node):
        return
    if (asked := asked_by(file, node)) is not None:
        answers.append((asked, judge(file, asked)))
        return
    func = node.func
    if not isinstance(func, cst.Attribute) or func.attr.value != "startswith":
        return
    if len(node.args) != 1 or string_value(node.args[0].value) != "cuda:":
        return
    if asks_for_device(file, func.value):
        file.find(COMPARISON, node, "asks for an indexed CUDA device")
    elif not other_business(file, func.value):
        said = f'{short(file, func.value)} is compared with "cuda"; is it a device?'
        file.find(COMPARISON, node, said)


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
