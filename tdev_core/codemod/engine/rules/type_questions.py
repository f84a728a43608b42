"""Judges the questions for CUDA's type, once for all who ask: ``device.type == "cuda"``, ``"cuda" in device``, ``x.is_cuda``.

Who rewrites such a question, leaves what it opens, or finds it beside another has to agree on whether it stays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tdev_core.codemod.engine.analysis.literals import CUDA_STRING
from tdev_core.codemod.engine.analysis.nodes import descendants, string_value
from tdev_core.codemod.engine.api import Rule, Severity
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.statements import listed_above
from tdev_core.codemod.engine.rules.architecture import asks_for_the_build
from tdev_core.codemod.engine.rules.arms import (
    ARMS,
    beside_any_accelerator,
    beside_what_stays,
    decides_beside_other_arms,
    enclosing_function,
)
from tdev_core.codemod.engine.rules.demands import Demand, demand, has_kernels
from tdev_core.codemod.engine.rules.guards import (
    guards_cuda_only,
    guards_full_autocast,
    guards_tf32,
    why_the_choice_stays,
)
from tdev_core.codemod.engine.rules.operands import (
    asks_for_device,
    last_name,
    other_business,
    short,
    without_index,
)
from tdev_core.codemod.engine.rules.other_runtimes import (
    RAY,
    holder_beside,
    imports_a_runtime,
    told_to_ray,
)
from tdev_core.codemod.engine.rules.requests import answers_for_each, chooses_by_word, is_a_request
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
from tdev_core.codemod.engine.rules.tensors import is_own_device, is_tensor
from tdev_core.codemod.engine.vocabulary import used_as_a_tensor_alone, used_as_tensor


@dataclass(frozen=True)
class Asked:
    """A question whether something is CUDA's; ``denies`` where it asks if that is another's."""

    node: cst.BaseExpression
    operand: cst.BaseExpression
    denies: bool = False
    exact: bool = False
    """Whether a name with an index is another one to it."""
    word: bool = False
    """Whether what is asked is a word that is taken apart, and not a device's type."""

    @property
    def of_a_tensor(self) -> bool:
        """Whether it is ``x.is_cuda``."""
        return isinstance(self.node, cst.Attribute)

    @property
    def compares(self) -> bool:
        """Whether it is ``==`` or ``!=``."""
        return isinstance(self.node, cst.Comparison) and isinstance(
            self.node.comparisons[0].operator, (cst.Equal, cst.NotEqual)
        )


@dataclass(frozen=True)
class Stays:
    """The reason for which a question stays as it is."""

    said: str = ""
    """What is reported of it, if anything."""
    rule: Rule | None = None
    """The rule by which it is, where it is not the question's own."""
    severity: Severity | None = None
    opens: bool = True
    """Whether only CUDA gets where it is answered with yes: not so of a word that somebody has typed."""
    beside: bool = False
    """Whether it is one of a chain with arms for other accelerators, which are looked at for themselves."""
    request: bool = False
    """Whether it asks for the word beside the question if that is there."""
    unknown: bool = False
    """Whether it is not known that a device or a tensor is asked."""
    guards: bool = False
    """Whether what it opens is for CUDA's kernels or the like."""


@dataclass(frozen=True)
class Judged:
    """A question's judgement: the reason for which it stays, if it does, and the demand that it is, if it is one."""

    stays: Stays | None = None
    demanded: Demand | None = None


def asked_by(file: File, node: cst.CSTNode) -> Asked | None:
    """Return the question for CUDA's type that a node is, if it is one; not a list of several types."""
    if isinstance(node, cst.Attribute):
        called = file.tree.parents[node]
        if node.attr.value != "is_cuda" or isinstance(
            called, (cst.AssignTarget, cst.AnnAssign, cst.Del)
        ):
            return None
        if isinstance(called, cst.Call) and called.func is node:
            return None
        return Asked(node, node.value)
    if isinstance(node, cst.Call):
        func = node.func
        if not isinstance(func, cst.Attribute) or func.attr.value != "startswith":
            return None
        if len(node.args) != 1 or file.flow.word(node.args[0].value) != "cuda":
            return None
        return Asked(node, func.value, word=last_name(func.value) != "type")
    if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
        return None
    target = node.comparisons[0]
    operator, right, left = target.operator, target.comparator, node.left
    if isinstance(operator, (cst.Equal, cst.NotEqual)):
        for one, other in ((left, right), (right, left)):
            if not is_cudas_name(file, other):
                continue
            if ":" in (file.flow.word(other) or ""):
                return None
            no = isinstance(operator, cst.NotEqual)
            recorded = _RECORDED.search(file.tree.text(one)) is not None
            return Asked(node, one, no, exact=not (recorded or without_index(file, one)))
    elif isinstance(operator, (cst.In, cst.NotIn)) and file.flow.word(left) == "cuda":
        plain = isinstance(right, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
        many = isinstance(right, (cst.Name, cst.Attribute)) and last_name(right).endswith("s")
        if plain and not many:
            no = isinstance(operator, cst.NotIn)
            return Asked(node, right, no, word=last_name(right) != "type")
    return None


# What a mock of torch's function was given by tdev's, a device by then: `call.kwargs["device"] == "cuda"`.
_RECORDED = re.compile(r"\b(?:kwargs|call_args)\b")
# By the name that a module of the program has for it, which is tdev's then: `patch("package.module.torch.zeros")`.
_OF_THE_TREES_TORCH = re.compile(r"\bpatch\(\s*[\"'](?:\w+\.)+torch\.")


def is_cudas_name(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an operand is CUDA's name: ``"cuda"``, ``DeviceType.CUDA``, or ``torch.device("cuda").type``."""
    if isinstance(node, cst.Attribute) and node.attr.value == "type":
        made = node.value
        if isinstance(made, cst.Call) and file.resolver.torch_name(made.func) == "torch.device":
            return bool(made.args) and string_value(made.args[0].value) == "cuda"
    value = file.flow.word(node)
    return value is not None and CUDA_STRING.match(value) is not None


def judge(file: File, asked: Asked) -> Judged:
    """Tell whether a question stays, and why."""
    judged = _judge(file, asked)
    met = judged.demanded is not None and judged.demanded.is_met
    tdevs = file.options.style != "accelerator"
    if judged.stays is None and met and asked.exact and file.is_test and tdevs:
        # What is equal to a string is a word, which the code under test goes on giving.
        said = f"a test asks for the word in {short(file, asked.operand)}; left as it is"
        return Judged(Stays(said, severity="note", opens=False))
    if judged.stays is None and not met and file.is_test and tdevs:
        # A test knows the devices that it is there for: what it does on CUDA, it means of CUDA.
        said = "a test asks for CUDA's own device; left as it is"
        if not asked.of_a_tensor and _is_a_listed_word(file, asked.operand):
            # Which is the same word everywhere, and what it opens is reached wherever the test runs.
            return Judged(Stays("", severity="note", opens=False))
        return Judged(Stays(said, severity="note"))
    return judged


def _is_a_listed_word(file: File, operand: cst.BaseExpression) -> bool:
    """Tell whether a test asks for the word among those that it is given: ``parametrize("device", ["cpu", "cuda:1"])``."""
    home = enclosing_function(file, operand)
    if not isinstance(operand, cst.Name) or home is None or "parametrize" not in file.tree.source:
        return False
    python, name = file.python, operand.value
    return python is not None and any(
        isinstance(values, (ast.List, ast.Tuple))
        and any(
            isinstance(e, ast.Constant) and CUDA_STRING.match(str(e.value)) for e in values.elts
        )
        for function in python.statements
        if isinstance(function, ast.FunctionDef) and function.name == home.name.value
        for values in listed_above(function, name)
    )


# Frameworks with devices of their own, which are called by such words, too.
_FRAMEWORK = re.compile(r"^[ \t]*(?:import|from)[ \t]+(paddle|mindspore|mxnet)\b", re.MULTILINE)
_IS_THERE = re.compile(r"(?:\w+\.)*cuda\.is_available\(\)")


def _is_asked_without_cuda(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a comparison stands where there is no accelerator: ``if cuda_there: … else: if settings.device == "cuda":``.

    It asks for what was wanted, and of a device that is there it would ask in vain.
    """
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.If) and below is not parent.test:
            test, otherwise = parent.test, below is parent.orelse
            if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
                test, otherwise = test.expression, not otherwise
            if otherwise and any(
                _IS_THERE.fullmatch(file.tree.text(each))
                for each in (
                    test,
                    *(file.flow.all_values(test) if isinstance(test, cst.Name) else ()),
                )
            ):
                return True
        elif isinstance(parent, (cst.FunctionDef, cst.ClassDef)):
            return False
        below = parent
    return False


def _judge(file: File, asked: Asked) -> Judged:
    if asked.of_a_tensor:
        return _of_a_tensor(file, asked)
    node, operand = asked.node, asked.operand
    if not file.resolver.roots and not _is_type(operand):
        if (framework := file.in_code(_FRAMEWORK)) is not None:
            said = f"the file works with {framework[1]} and not with torch; left as it is"
            return Judged(Stays(said, severity="note", opens=False))
    if file.options.style != "accelerator" and "is_available" in file.tree.source:
        if not _is_type(operand) and _is_asked_without_cuda(file, node):
            return Judged(Stays(opens=False, request=True))
    if not asks_for_device(file, operand):
        said = ""
        if not isinstance(operand, cst.SimpleString) and not other_business(file, operand):
            text = short(file, operand)
            looked = isinstance(node, cst.Comparison) and not asked.compares
            said = (
                f'"cuda" is looked for in {text}' if looked else f'{text} is compared with "cuda"'
            )
            said += "; is it a device?"
        # Whatever it is, what is done for "cuda" alone is CUDA's.
        return Judged(Stays(said, opens=_is_type(operand), unknown=True))
    if (asked.compares or asked.word) and imports_a_runtime(file):
        if _OF_A_RUNTIME.search(file.tree.text(operand)):
            said = "may be what another runtime calls it; left as it is"
            return Judged(Stays(f"{short(file, operand)} {said}"))
    if holder := holder_beside(file, node):
        said = f"is asked beside {holder}, which knows CUDA and the CPU alone; left as it is"
        return Judged(Stays(f"{short(file, operand)} {said}", ARMS, "note"))
    if asked.compares and _is_chosen_above(file, operand):
        said = "is CUDA's or the CPU's by the choice above; left as it is"
        return Judged(Stays(f"{short(file, operand)} {said}", ARMS, "note"))
    if (
        file.options.style == "alias"
        and asked.compares
        and _RECORDED.search(file.tree.text(operand))
    ):
        if _OF_THE_TREES_TORCH.search(file.code) is not None:
            said = "a mock of what is tdev's there records the word that was given; left as it is"
            return Judged(Stays(said, severity="note", opens=False))
    if (stays := _beside_others(file, asked)) is not None:
        return Judged(stays)
    if asked.compares:
        formatted = file.tree.text(operand).startswith(("str(", "f'", 'f"'))
        of_tdev = file.options.style != "accelerator"
        if asked.exact and not formatted and of_tdev and is_own_device(file, operand):
            said = "is a torch.device, which no string is equal to: compare its type"
            return Judged(Stays(f"{short(file, operand)} {said}"))
    if file.options.style == "accelerator":
        return Judged()
    return for_itself(file, asked)


def _is_chosen_above(file: File, operand: cst.BaseExpression) -> bool:
    """Tell whether the statement right above a test sets what that asks, by a choice that stays: ``device = "cuda" if … else "cpu"``."""
    around = file.tree.ancestors(operand)
    asks = next((p for p in around if isinstance(p, (cst.If, cst.SimpleStatementLine))), None)
    block = file.tree.parents.get(asks) if asks is not None else None
    if not isinstance(operand, cst.Name) or not isinstance(block, (cst.IndentedBlock, cst.Module)):
        return False
    at = next((number for number, each in enumerate(block.body) if each is asks), 0)
    match block.body[at - 1] if at else None:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=chosen)]
        ):
            stays = isinstance(chosen, cst.IfExp) and why_the_choice_stays(file, chosen.test)
            return name == operand.value and bool(stays)
        case _:
            return False


# An attribute of an object of another runtime's, and the word that one is told.
_OF_A_RUNTIME = re.compile(r"\.device\Z|\Adevice\Z")


def _is_type(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "type"


def _beside_others(file: File, asked: Asked) -> Stays | None:
    """Return the reason for which a comparison stays because other accelerators are asked for as well, if they are."""
    node, operand = asked.node, asked.operand
    # The type of a device that is there; a word may have been typed for any machine.
    real = _is_type(operand)
    if decides_beside_other_arms(file, node):
        return Stays("this test chooses between backends; left as it is", ARMS, beside=True)
    if beside_what_stays(file, node):
        return Stays("stands beside a question that is left as it is", ARMS, opens=real)
    if told_to_ray(file, node):
        return Stays(RAY, ARMS, "note", opens=real)
    if measured_for_others(file, node):
        return Stays("what it chooses was measured; left as it is", ARMS, opens=real)
    if said_of_others(file, node):
        said = "the comment above speaks of other accelerators; left as it is"
        return Stays(said, ARMS, opens=real)
    text = short(file, operand)
    if takes_the_type_of_others(file, node, operand):
        said = f"the last arm takes the type of any {text}; left as it is"
        return Stays(said, ARMS, opens=False)
    if beside_any_accelerator(file, node):
        said = "stands beside a question for any accelerator; left as it is"
        return Stays(said, ARMS, opens=real)
    if asks_about_others(file, operand):
        said = f"{text} is compared with other accelerators too; left as it is"
        return Stays(said, ARMS, opens=real)
    return None


def for_itself(file: File, asked: Asked) -> Judged:
    """Tell whether a comparison stays where no other accelerator is asked for beside it."""
    node, operand = asked.node, asked.operand
    demanded = demand(file, node, negated=asked.denies)
    if chooses_by_word(file, node, operand):
        if asked.exact or asked.word:
            said = "chooses by the word that was given; left as it is"
            return Judged(Stays(said, severity="note", opens=False), demanded)
        demanded = None
    if answers_for_each(file, node, operand):
        said = "one of a function's answers, for each kind of device its own; left as it is"
        return Judged(Stays(said, severity="note", opens=_is_type(operand)), demanded)
    if (stays := _by_what_is_said(file, node, demanded)) is not None:
        return Judged(stays, demanded)
    if is_a_request(file, node, operand):
        return Judged(Stays(opens=False, request=True), demanded)
    met = demanded is not None and demanded.is_met
    if not met and (guards_cuda_only(file, node) or has_kernels(file)):
        said = "guards code that only CUDA can run; left as it is"
        return Judged(Stays(said, guards=True), demanded)
    if not met and guards_tf32(file, node):
        said = "guards a number format of NVIDIA's; left as it is"
        return Judged(Stays(said, severity="note"), demanded)
    if leaves_out_others(file, node) and (demanded is None or not moves_there(file, node)):
        # A word that starts so may have been asked for whatever is used.
        opens = _is_type(operand) or isinstance(node, cst.Comparison)
        return Judged(Stays(LEAVES_OUT, ARMS, opens=opens), demanded)
    return Judged(None, demanded)


def _by_what_is_said(file: File, node: cst.CSTNode, demanded: Demand | None) -> Stays | None:
    """Return the reason for which a comparison stays, where its demand or what stands around it says so."""
    if demanded is not None and demanded.verdict == "kept":
        return Stays(f"{demanded.why}; left as it is", opens=not demanded.skips)
    if asks_for_the_build(file, node) is not None:
        return Stays("stands beside a question about the build; left as it is")
    if only_tells_of_cuda(file, node) or gives_a_reason(file, node):
        return Stays(ONLY_TELLS)
    if _opens_a_bare_assertion(file, node):
        return Stays("what is asserted of CUDA is said elsewhere; left as it is")
    if guards_full_autocast(file, node):
        said = "opens an autocast to float32, which torch has for CUDA alone; left as it is"
        return Stays(said)
    if (pins := why_it_pins(file, node)) is not None:
        return Stays(pins, severity="note" if pins in (PINS, COPIES) else None)
    return None


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


# -- `x.is_cuda` ---------------------------------------------------------------------------------------


def _is_shown(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an f-string shows a question with its answer: ``f"a CUDA tensor is needed ({x.is_cuda=})"``."""
    part = file.tree.parents[node]
    return isinstance(part, cst.FormattedStringExpression) and part.equal is not None


def _of_a_tensor(file: File, asked: Asked) -> Judged:
    node = asked.node
    of_tdev = file.options.style != "accelerator"
    if of_tdev and _is_kept_by_its_class(file, node, asked.operand):
        return Judged(Stays(opens=False))
    if decides_beside_other_arms(file, node):
        return Judged(Stays("this test chooses between backends; left as it is", ARMS, beside=True))
    if _is_the_question(file, node):
        said = "this is the answer of an is_cuda of its own; left as it is"
        return Judged(Stays(said, ARMS, opens=False))
    if _is_shown(file, node):
        return Judged(
            Stays("is_cuda is told by its name; left as it is", severity="note", opens=False)
        )
    if beside_what_stays(file, node):
        return Judged(Stays("stands beside a question that is left as it is", ARMS))
    if said_of_others(file, node) or measured_for_others(file, node):
        said = "a comment speaks of other accelerators; left as it is"
        return Judged(Stays(said, ARMS))
    demanded = demand(file, node) if of_tdev else None
    if demanded is not None and demanded.verdict == "kept":
        said = f"is_cuda {demanded.why}; left as it is"
        return Judged(Stays(said, opens=not demanded.skips), demanded)
    if demanded is not None and demanded.is_met:
        return Judged(None, demanded)
    if asks_for_the_build(file, node) is not None:
        said = "is_cuda stands beside a question about the build; left as it is"
        return Judged(Stays(said), demanded)
    if (pins := why_it_pins(file, node)) is not None:
        return Judged(Stays(f"is_cuda {pins}", severity="note"), demanded)
    if only_tells_of_cuda(file, node):
        return Judged(Stays(ONLY_TELLS), demanded)
    if guards_cuda_only(file, node) or has_kernels(file) or _chooses_foreach(file, node):
        said = "is_cuda guards code that only CUDA can run; left as it is"
        return Judged(Stays(said, guards=True), demanded)
    if demanded is None and leaves_out_others(file, node):
        return Judged(Stays(f"is_cuda {LEAVES_OUT}", ARMS), demanded)
    known = file.flow.used_as_tensor(asked.operand) or is_tensor(file, asked.operand)
    if of_tdev and (not known or _may_be_of_a_class(file, asked.operand)):
        text = short(file, asked.operand)
        name = file.tdev if file.options.style == "explicit" else "torch"
        said = f"is_cuda of {text}, which may not be a tensor; where it is one, write {name}.is_accelerator({text})"
        return Judged(Stays(said, unknown=True), demanded)
    return Judged(None, demanded)


def _may_be_of_a_class(file: File, operand: cst.BaseExpression) -> bool:
    """Tell whether an object may be one of the tree's own that has a property ``is_cuda``, as far as its uses show."""
    tree = file.options.tree
    if tree is None or not tree.own_is_cuda or file.flow.is_tensor(operand):
        return False
    name, home = file.tree.text(operand), enclosing_function(file, operand)
    text = file.code[slice(*file.tree.span(home))] if home is not None else file.code
    text = file.code if "." in name else text
    return used_as_tensor(text, name) and not used_as_a_tensor_alone(text, name)


_FOREACH = re.compile(r"(?<![a-z])foreach\b(?!\s*\()")


def _chooses_foreach(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question decides, beside an option, whether an optimizer takes torch's multi-tensor kernels.

    ``foreach is None and p.is_cuda``: torch's own list of devices for that default has not every accelerator.
    """
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            if _FOREACH.search(file.tree.text(parent)) is not None:
                return True
        elif isinstance(parent, cst.If):
            if below is not parent.orelse and _FOREACH.search(file.tree.text(parent.test)):
                return True
        elif isinstance(parent, cst.FunctionDef):
            return False
        below = parent
    return False


def _is_kept_by_its_class(file: File, node: cst.CSTNode, operand: cst.CSTNode) -> bool:
    """Tell whether ``self.is_cuda`` is what the class itself sets, with the answer that is given there."""
    if not isinstance(operand, cst.Name) or operand.value != "self":
        return False
    home = next((p for p in file.tree.ancestors(node) if isinstance(p, cst.ClassDef)), None)
    if home is None or "is_cuda" not in file.tree.source:
        return False
    return _SETS_ITS_OWN.search(file.tree.source, *file.tree.span(home)) is not None


_SETS_ITS_OWN = re.compile(r"\bself\.is_cuda[ \t]*(?::[^=\n]+)?=(?!=)")


def _is_the_question(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a property ``is_cuda`` gives the answer of what it holds: who asks it is not known to have other arms.

    A method that nobody but its own class asks is no answer for others.
    """
    home = enclosing_function(file, node)
    if file.options.program or home is None or home.name.value != "is_cuda":
        return False
    return not _is_asked_by_its_class_alone(file, home)


_ASKED_OF_SELF = re.compile(r"(?<=\bself)\.is_cuda\(\)")
_ASKED = re.compile(r"\.is_cuda\(\)")


def _is_asked_by_its_class_alone(file: File, home: cst.FunctionDef) -> bool:
    around = next((p for p in file.tree.ancestors(home) if isinstance(p, cst.ClassDef)), None)
    tree = file.options.tree
    if around is None or tree is None or "is_cuda" in tree.beside or home.decorators:
        return False
    own = len(_ASKED_OF_SELF.findall(file.code, *file.tree.span(around)))
    return own > 0 and own == len(_ASKED.findall(file.code))


# -- beside one another --------------------------------------------------------------------------------


def beside_one_that_stays(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a condition around a question holds one for CUDA's type that stays: no half of it is rewritten."""
    whole = None
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            whole = parent
        elif not isinstance(
            parent, (cst.UnaryOperation, cst.Call, cst.Comparison, cst.ComparisonTarget)
        ):
            break
    return whole is not None and any(_stays(file, each) for each in _asked_in(file, whole))


def _asked_in(file: File, whole: cst.CSTNode) -> Iterator[Asked]:
    for part in descendants(whole):
        if isinstance(part, (cst.Comparison, cst.Call, cst.Attribute)):
            if (asked := asked_by(file, part)) is not None:
                yield asked


def _stays(file: File, asked: Asked) -> bool:
    judged = judge(file, asked)
    if judged.stays is None or not judged.stays.request:
        return judged.stays is not None and (judged.stays.opens or judged.stays.rule is ARMS)
    # A word beside the question if it is there, which in a program that knows MPS leaves that out.
    return judged.demanded is None and leaves_out_others(file, asked.node)
