"""Judges calls of torch that are given a device, ``torch.device`` among them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import descendants, string_value
from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.statements import last_name
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.arguments import (
    Call,
    device_argument,
    is_of_unknown_origin,
)
from tdev_core.codemod.engine.rules.arms import (
    ARMS,
    NAMES,
    OF_ANY,
    beside_any_accelerator,
    decides_beside_other_arms,
    enclosing_function,
)
from tdev_core.codemod.engine.rules.compare import COMPARISON
from tdev_core.codemod.engine.rules.demands import demand
from tdev_core.codemod.engine.rules.device_questions import asked_of_words, questions_of_cudas
from tdev_core.codemod.engine.rules.guards import guards_cuda_only, why_the_choice_stays
from tdev_core.codemod.engine.rules.in_double import is_numpys_double
from tdev_core.codemod.engine.rules.kept_questions import LEFT, kept_question
from tdev_core.codemod.engine.rules.operands import asks_for_device
from tdev_core.codemod.engine.rules.reasons import reason
from tdev_core.codemod.engine.rules.reference_rules import ARGUMENT, REFERENCE
from tdev_core.codemod.engine.rules.requests import (
    is_compared_beside_the_question,
    requested_devices,
)
from tdev_core.codemod.engine.rules.saved_beside import is_saved_beside, saves_what_it_loads
from tdev_core.codemod.engine.rules.speaks_of_others import (
    LEAVES_OUT,
    asks_about_others,
    leaves_out_others,
    runs_on_others,
)
from tdev_core.codemod.engine.rules.there_by_torch import is_there_by_torch
from tdev_core.codemod.engine.rules.torch_names import routed_prefix
from tdev_core.codemod.engine.rules.type_questions import Asked, asked_by, judge
from tdev_core.codemod.engine.vocabulary import SCALERS, without_prose


def device_call(file: File, found: Reference, call: Call | None) -> None:
    name = found.name
    always = routed_prefix(name, file.names) == name
    if call is None:
        if always or (name == "torch.device" and _handed_on(file, found.node)):
            file.use(REFERENCE, found)
        elif any(
            device_argument(file, each, name) == "may be cuda"
            for each in _calls_by_name(file, found)
        ):
            file.use(ARGUMENT, found)
        return
    if _is_thrown_away(file, found) or _is_off_elsewhere(file, found, call):
        return
    if _is_tried(file, found, call):
        if device_argument(file, call, name) == "may be cuda":
            message = f"{name} is tried on the device that was asked for; {LEFT}"
            kept_question(file, found, ARMS, message, "note")
        return
    if any(_is_of_cuda_or_the_cpu(file, arg.value) for arg in call.args):
        return  # which torch makes as well
    if name == "torch.device" and _is_asked_whether_it_is_there(file, found.node):
        message = f"{name} makes what is then asked whether it is there"
        file.find(ARMS, found.node, f"{message}; {LEFT}")
        return
    if name == "torch.device" and _stands_beside_its_name(file, found.node):
        message = f"{name} stands beside its name, which a test expects; {LEFT}"
        kept_question(file, found, ARMS, message, "note")
        return
    if name == "torch.device" and _is_kept_as_a_word(file, found.node):
        message = f"{name} checks a word, which is kept as one"
        file.find(ARMS, found.node, f"{message}; {LEFT}", "note")
        return
    if name in ("torch.load", "torch.jit.load") and _is_of_no_other(file, found.node, call):
        return
    if name == "torch.load" and is_there_by_torch(file, call.argument("map_location", 1)):
        return
    argument = device_argument(file, call, name)
    if name == "torch.device" and file.is_test and _is_a_mocks(file, found.node):
        message = f"{name} is what a mock gives, whether it is there or not"
        file.find(ARMS, found.node, f"{message}; {LEFT}", "note")
        return
    if name == "torch.device" and _asks_for_another(file, found.node):
        return
    if name == "torch.device" and _is_refused_then(file, found.node):
        message = f"{name} makes what is refused right then, unless it is CUDA's"
        file.find(ARMS, found.node, f"{message}; {LEFT}", "note")
        return
    if name == "torch.device" and _is_told_apart(file, found.node):
        message = f"{name} makes what is told apart from other accelerators' and goes nowhere"
        file.find(ARMS, found.node, f"{message}; {LEFT}", "note")
        return
    if _is_behind_cudas_arms(file, found, call):
        return  # of a word that an arm above has taken where it is CUDA's
    if name == "torch.device" and (stays := _why_a_comparison_stays(file, found.node, call)):
        file.find(ARMS, found.node, stays)
        return
    if name == "torch.device" and not file.stays(found.node):
        if (asked := asked_of_words(file, file.tree.parents[found.node])) is not None:
            node, operand = asked
            no = "not " if isinstance(node.comparisons[0].operator, cst.NotEqual) else ""
            text = f"{no}{file.here(node)}.is_accelerator({file.tree.text(operand)})"
            file.replace_node(COMPARISON, node, text)
            return
    if name == "torch.device" and questions_of_cudas(file, file.tree.parents[found.node]):
        said = "asks whether it is CUDA's own device, which no other is; left as it is"
        file.find(COMPARISON, found.node, said)
        return
    if name.endswith(".fork_rng") and _of_no_device(call):
        return
    if _one_of_several(file, found.node, call):
        message = f"{name} is asked for each of several accelerators"
        file.find(ARMS, found.node, f"{message}; {LEFT}")
        return
    if name == "torch.device" and _beside_its_module(file, found, call):
        message = f"{name} stands beside a module of torch's that is looked up by the device's name"
        file.find(ARMS, found.node, f"{message}; {LEFT}")
        return
    if argument == "may be cuda" and runs_on_others(file):
        if is_of_unknown_origin(file, call, name):
            said = "is given its caller's device, which may be an accelerator's that tdev does not know"
            file.find(ARMS, found.node, f"{name} {said}; {LEFT}", "note")
            return
    if name == "torch.device" and (taker := _takes_data(file, found.node)) is not None:
        if argument == "may be cuda":
            file.use(ARGUMENT, taker, reason(taker.name))
        return
    if argument == "not cuda" and name in _KEEP_THE_DTYPE and _is_given_numpys(file, found, call):
        file.use_besides(ARGUMENT, found, reason(name))
        return
    if argument == "may be cuda" or (argument == "absent" and always):
        file.use(REFERENCE if argument == "absent" else ARGUMENT, found, reason(name))
        if name == "torch.device" and (other := _compared_with(file, found.node)) is not None:
            file.use(ARGUMENT, other)


_KEEP_THE_DTYPE = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})


def _takes_data(file: File, node: cst.CSTNode) -> Reference | None:
    """Return what makes a tensor of data right there on a device, if they may be NumPy's doubles: tdev's own narrows them for MPS.

    ``torch.as_tensor(x, device=torch.device(name))``
    """
    given = file.tree.parents[file.tree.parents[node]]
    call = file.tree.parents.get(given)
    if not isinstance(given, cst.Arg) or not isinstance(call, cst.Call) or not call.args:
        return None
    data, *others = call.args
    if any(each.keyword is None or each.keyword.value == "dtype" for each in others):
        return None
    if not isinstance(data.value, (cst.Name, cst.Attribute)) or data.keyword is not None:
        return None
    found = file.resolver.reference(call.func)
    return found if found is not None and found.name in _KEEP_THE_DTYPE else None


def _is_given_numpys(file: File, found: Reference, call: Call) -> bool:
    """Tell whether what makes a tensor of NumPy's doubles does so on a device that is none of the CPU's by its name."""
    if "np." not in file.tree.source and "numpy." not in file.tree.source:
        return False
    device, python = call.argument("device", None), file.python
    made = python.at(file.tree.span(file.tree.parents[found.node])) if python is not None else None
    if python is None or not isinstance(made, ast.Call) or not made.args or len(call.args) != 2:
        return False
    if not isinstance(device, (cst.Name, cst.Attribute)):
        return False
    homes = (p for p in python.ancestors(made) if isinstance(p, ast.FunctionDef))
    return is_numpys_double(next(homes, python.module), made.args[0])


def _compared_with(file: File, node: cst.CSTNode) -> Reference | None:
    """Return the other ``torch.device`` of a comparison, ``torch.device(a) == torch.device(b)``, where it makes one of no word.

    One side alone would be tdev's: what both were made of may be one word, and they are the same then.
    """
    made = file.tree.parents[node]
    asked = file.tree.parents.get(made)
    if isinstance(asked, cst.ComparisonTarget):
        asked = file.tree.parents[asked]
    if not isinstance(asked, cst.Comparison) or len(asked.comparisons) != 1:
        return None
    for other in (asked.left, asked.comparisons[0].comparator):
        if other is not made and isinstance(other, cst.Call) and len(other.args) == 1:
            found = file.resolver.reference(other.func)
            if found is not None and found.name == "torch.device" and found.package == "torch":
                return found if file.flow.word(other.args[0].value) is None else None
    return None


def _is_of_cuda_or_the_cpu(file: File, value: cst.BaseExpression) -> bool:
    """Tell whether a word is chosen by a question for CUDA that stays: where it is given, or in a variable that holds nothing else."""
    if isinstance(value, cst.Name):
        bound = [each.value for each in file.flow.bindings(value)]
        return (
            _is_of_arms_that_stay(file, value)
            or bool(bound)
            and all(
                isinstance(each, cst.IfExp)
                and (
                    file.flow.names_cuda(each.body)
                    and _is_of_cuda_or_the_cpu(file, each)
                    or _is_cudas_own(file, each)
                )
                for each in bound
            )
        )
    return isinstance(value, cst.IfExp) and (
        why_the_choice_stays(file, value.test) is not None
        or file.stays(value.body)
        and string_value(value.orelse) == "cpu"
    )


def _is_of_arms_that_stay(file: File, name: cst.Name) -> bool:
    """Tell whether a variable holds CUDA's word where only CUDA comes, and else the CPU's: ``if there: device = "cuda"``."""
    values = file.flow.all_values(name)
    cudas = [each for each in values if string_value(each) != "cpu"]
    return bool(cudas) and all(file.flow.names_cuda(each) and file.stays(each) for each in cudas)


_OF_THE_CPU = re.compile(r"(?:torch\.device\(\s*)?[\"']cpu[\"']\s*\)?")


def _is_cudas_own(file: File, choice: cst.IfExp) -> bool:
    """Tell whether a device is taken where a question that stays says that it is CUDA's, and else the CPU.

    ``device if device.type == "cuda" else torch.device("cpu")``
    """
    if _OF_THE_CPU.fullmatch(file.tree.text(choice.orelse)) is None:
        return False
    taken = file.tree.text(choice.body)
    asked = (asked_by(file, e) for e in descendants(choice.test) if isinstance(e, cst.Comparison))
    return any(
        each is not None
        and not each.denies
        and file.tree.text(each.operand) == f"{taken}.type"
        and judge(file, each).stays is not None
        for each in asked
    )


def _is_refused_then(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the next statement raises for a device that is not CUDA's, and stays: nothing but CUDA's gets further."""
    kept = file.tree.parents[file.tree.parents[node]]
    match kept:
        case cst.Assign(
            targets=[cst.AssignTarget(target=(cst.Name() | cst.Attribute()) as target)]
        ):
            name = file.tree.text(target)
        case _:
            return False
    line = file.tree.parents[kept]
    block = file.tree.parents[line]
    after: list[cst.CSTNode] = list(getattr(block, "body", ()))
    following = after[after.index(line) + 1 :] if line in after else []
    match following:
        case [cst.If(test=cst.Comparison() as test, body=cst.IndentedBlock(body=[last])), *_]:
            asked = asked_by(file, test)
        case _:
            return False
    return (
        asked is not None
        and asked.denies
        and file.tree.text(asked.operand) in (f"{name}.type", name)
        and file.tree.text(last).startswith("raise ")
        and judge(file, asked).stays is not None
    )


def _calls_by_name(file: File, found: Reference) -> Iterator[Call]:
    """Yield the calls of a variable that a function of torch's is kept in: ``new = torch.empty if fast else torch.zeros``."""
    kept: cst.CSTNode = file.tree.parents[found.node]
    if isinstance(kept, cst.Arg):
        yield from _calls_of_what_takes_it(file, kept)
        return
    while isinstance(kept, cst.IfExp):
        kept = file.tree.parents[kept]
    if isinstance(kept, cst.Assign):
        target: cst.CSTNode = kept.targets[0].target
    elif isinstance(kept, cst.AnnAssign):
        target = kept.target
    else:
        return
    if not isinstance(target, cst.Name):
        return
    home = enclosing_function(file, found.node)
    for call in file.tree.of(cst.Call):
        if isinstance(call.func, cst.Name) and call.func.value == target.value:
            if enclosing_function(file, call) is home:
                yield Call(tuple(call.args))


def _calls_of_what_takes_it(file: File, given: cst.Arg) -> Iterator[Call]:
    """Yield the calls of a parameter that a function of torch's is given as: ``_create(torch.rand, …)``, ``function(n, device=device)``.

    Of a function that the file has not, the device that goes there beside it is that of the call.
    """
    call = file.tree.parents[given]
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name):
        return
    takers = [f for f in file.tree.of(cst.FunctionDef) if f.name.value == call.func.value]
    for taker in takers:
        names = [param.name.value for param in taker.params.params]
        if given.keyword is not None:
            name = given.keyword.value
        else:
            at = call.args.index(given)
            plain = at < len(names) and not any(arg.star for arg in call.args[:at])
            name = names[at] if plain else ""
        for each in descendants(taker.body) if name else ():
            if (
                isinstance(each, cst.Call)
                and isinstance(each.func, cst.Name)
                and each.func.value == name
            ):
                yield Call(tuple(each.args))
    if not takers and any(a.keyword is not None and a.keyword.value == "device" for a in call.args):
        yield Call(tuple(arg for arg in call.args if arg.keyword is not None))


def _is_thrown_away(file: File, found: Reference) -> bool:
    """Tell whether nobody takes a device that is made: ``torch.device(d)`` as a statement, or in a variable that nothing reads."""
    made = file.tree.parents[found.node]
    statement = file.tree.parents.get(made)
    if not isinstance(made, cst.Call) or found.name != "torch.device":
        return False
    if isinstance(statement, cst.IfExp) and made is not statement.test:
        return chooses_for_nobody(file, statement)
    if isinstance(statement, cst.Assign):
        return _is_read_by_nobody(file, statement, made)
    return isinstance(statement, cst.Expr)


def _is_tried(file: File, found: Reference, call: Call) -> bool:
    """Tell whether a tensor is tried on a device, and nobody takes it.

    Such a ``try`` finds out whether torch has the device that it was given; the tensor of another is no answer.
    """
    made = file.tree.parents[found.node]
    statement = file.tree.parents.get(made)
    if found.name == "torch.device":
        return _is_made_to_be_tried(file, made)
    if not isinstance(made, cst.Call) or not isinstance(statement, cst.Expr):
        return False
    if found.name == "torch.set_default_device":
        return False  # whose effect is what is wanted
    device = call.argument("device", None)
    block = file.tree.parents[file.tree.parents[statement]]
    tried = file.tree.parents.get(block)
    return (
        isinstance(device, (cst.Name, cst.Attribute))
        and isinstance(tried, cst.Try)
        and tried.body is block
    )


# `torch.zeros(3, device=device)`, and not `torch.zeros(3).to(device)`, to which tdev's shims never say no.
_TRIES = re.compile(r"torch\.\w+\((?:[^()]|\([^()]*\))*\bdevice[ \t]*=[ \t]*\w+,?\s*\)")
_THE_CPU = re.compile(r"[\"']cpu[\"']")


def _is_made_to_be_tried(file: File, made: cst.CSTNode) -> bool:
    """Tell whether a device is made of a word in a ``try`` that finds out by a tensor whether it is there, and else takes the CPU."""
    if not isinstance(made, cst.Call) or not made.args or file.flow.word(made.args[0].value):
        return False
    for parent in file.tree.ancestors(made):
        if isinstance(parent, cst.Try):
            handlers = "".join(map(file.tree.text, parent.handlers))
            lines = (each for each in parent.body.body if isinstance(each, cst.SimpleStatementLine))
            tried = [part for line in lines for part in line.body]
            return _THE_CPU.search(handlers) is not None and any(
                isinstance(part, cst.Expr) and _TRIES.fullmatch(file.tree.text(part).strip())
                for part in tried
            )
        if isinstance(parent, (cst.FunctionDef, cst.ExceptHandler)):
            return False
    return False


def chooses_for_nobody(file: File, choice: cst.CSTNode) -> bool:
    """Tell whether a choice is kept in a variable that nothing reads: ``device = torch.device("cuda") if … else …``."""
    kept = file.tree.parents[choice]
    return (
        isinstance(choice, cst.IfExp)
        and isinstance(kept, cst.Assign)
        and not file.options.program
        and _is_read_by_nobody(file, kept, choice)
    )


def _is_read_by_nobody(file: File, kept: cst.Assign, made: cst.BaseExpression) -> bool:
    """Tell whether a function, or a module that nobody imports, keeps a device in a variable of its own that nothing reads."""
    target, home = kept.targets[0].target, enclosing_function(file, kept)
    if not isinstance(target, cst.Name):
        return False
    text = file.code[slice(*file.tree.span(home))] if home is not None else file.code
    if len(re.findall(rf"(?<![\w.]){target.value}\b(?![ \t]*=[^=])", text)) > _FEW:
        return False  # which is sooner told than followed
    tree, takers = file.python, file.takers
    node = tree.at(file.tree.span(made)) if tree is not None else None
    return isinstance(node, ast.expr) and takers is not None and not takers.of(node)


_FEW = 3
"""The times that a variable is named which is made of itself, and never read."""


def _is_off_elsewhere(file: File, found: Reference, call: Call) -> bool:
    """Tell whether a scaler or an autocast is on where a question that stays says CUDA: torch's own is off elsewhere, too.

    ``GradScaler("cuda", enabled=self.half)``, of ``self.half = device.type == "cuda"``. Or a scaler is never on; an autocast that
    is switched off may stand in one of the device in use.
    """
    enabled = call.argument("enabled", None)
    if enabled is None or not found.name.endswith(("autocast", "GradScaler")):
        return False
    if found.name in SCALERS and file.tree.text(enabled) == "False":
        return True
    kept = [enabled]
    if isinstance(enabled, cst.Name):
        kept = [
            b.value for b in file.scopes.of(enabled).lookup(enabled.value) if b.value is not None
        ]
    elif isinstance(enabled, cst.Attribute):
        asked = file.tree.text(enabled)
        kept = [
            each.value
            for each in file.tree.of(cst.Assign)
            if any(file.tree.text(target.target) == asked for target in each.targets)
        ]
    return bool(kept) and all(
        any(leaves_out_others(file, question) for question in _asked_by(file, value))
        for value in kept
    )


def _asked_by(file: File, value: cst.BaseExpression) -> Iterator[cst.Comparison]:
    """Yield the questions for CUDA's type without which an expression is false."""
    if isinstance(value, cst.BooleanOperation) and isinstance(value.operator, cst.And):
        yield from _asked_by(file, value.left)
        yield from _asked_by(file, value.right)
    elif isinstance(value, cst.Call) and file.tree.text(value.func) == "bool" and value.args:
        yield from _asked_by(file, value.args[0].value)
    elif isinstance(value, cst.Comparison) and len(value.comparisons) == 1:
        asked = value.comparisons[0]
        if isinstance(asked.operator, cst.Equal) and string_value(asked.comparator) == "cuda":
            if asks_for_device(file, value.left):
                yield value


# What only says what a device is called: `_normalize_device(`, `_devices_cache_key(`.
_SPELLS = re.compile(r"(?:\A|_)(?:normali[sz]ed?|canonical|validated?|check|hash|key)(?:_|\Z)")


def _is_kept_as_a_word(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a function gives no more than the text of the device that it was asked for: ``return str(torch.device(v))``.

    A validator does, one that spells names alike, and one that finds out whether torch knows the name, and raises an error of its own.
    """
    text = file.tree.parents.get(file.tree.parents[file.tree.parents[node]])
    home = enclosing_function(file, node)
    if not isinstance(text, cst.Call) or file.tree.text(text.func) != "str" or home is None:
        return False
    if _SPELLS.search(home.name.value):
        return True
    if any("validator" in file.tree.text(each) for each in home.decorators):
        return True
    given = file.tree.parents[text]
    tried = file.tree.parents.get(file.tree.parents[file.tree.parents[given]])
    return (
        isinstance(given, cst.Return)
        and isinstance(tried, cst.Try)
        and any(re.match(r"\s*raise\b", file.tree.text(h.body)) for h in tried.handlers)
    )


def _stands_beside_its_name(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a test is given a device with what it is called: ``parametrize("given, expected", [(torch.device("cuda", 2), "cuda:2")])``.

    Which no other device is, whoever makes it.
    """
    made = file.tree.parents[node]
    row = file.tree.parents.get(file.tree.parents[made])
    if not isinstance(made, cst.Call) or not isinstance(row, (cst.Tuple, cst.Call)):
        return False
    if isinstance(row, cst.Call) and file.tree.text(row.func).rpartition(".")[2] != "param":
        return False
    around = next((p for p in file.tree.ancestors(row) if isinstance(p, cst.Decorator)), None)
    if around is None or "parametrize(" not in file.tree.text(around.decorator):
        return False
    name = ":".join(file.tree.text(each.value).strip("\"'") for each in made.args)
    beside = row.elements if isinstance(row, cst.Tuple) else row.args
    return name.startswith("cuda") and any(string_value(each.value) == name for each in beside)


def _is_asked_whether_it_is_there(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a device is one that was asked for, with a way out where CUDA is not there."""
    made = file.tree.parents[node]
    kept = file.tree.parents.get(made)
    if is_compared_beside_the_question(file, made):
        return True
    if not isinstance(made, cst.Call) or not isinstance(kept, cst.Assign):
        return False
    names = requested_devices(file, enclosing_function(file, node))
    return len(kept.targets) == 1 and file.tree.text(kept.targets[0].target) in names


# `torch.load(f)["content"].squeeze(0).numpy()`: not by `.cpu()`.
_TO_NUMPY = re.compile(r"(?:\[[^\[\]\n]*\]|\.(?!cpu\b|to\b)\w+\([^()\n]*\))*?\.numpy\(")


_OPENED = re.compile(r"open\(\s*([\w.]+)\s*,\s*[\"']rb[\"']\s*\)")
_SAYS_DEVICE = re.compile(r"device|cuda|\.to\(", re.IGNORECASE)


def _is_of_no_other(file: File, node: cst.CSTNode, call: Call) -> bool:
    """Tell whether what is loaded lies where it was saved: a buffer that the function itself has filled.

    Or on the CPU, since NumPy gets it at once; or where the test that loads it has had it saved.
    """
    made = file.tree.parents[node]
    if _TO_NUMPY.match(file.tree.source, file.tree.span(made)[1]):
        return True
    if call.argument("map_location", 1) is None and is_saved_beside(file, made):
        return True
    home = enclosing_function(file, node)
    source = call.argument("f", 0)
    if source is not None and home is not None and not _SAYS_DEVICE.search(file.tree.text(home)):
        # A cache of its own, in a function that moves nothing anywhere.
        opened = _OPENED.fullmatch(file.tree.text(source))
        where, text = (
            opened[1] if opened is not None else file.tree.text(source),
            file.tree.text(home),
        )
        saved = re.search(
            rf"\btorch\.save\([^\n]*?,\s*(?:open\(\s*)?{re.escape(where)}\s*[,)]", text
        )
        # It is one name by then, whichever of several it was given before.
        used = rf"\b(?:isfile|exists|save|load)\([^\n]*(?<![\w.]){re.escape(where)}(?!\w)"
        again = list(re.finditer(rf"(?<![\w.]){re.escape(where)}\s*=(?!=)", text))
        first = re.search(used, text)
        settled = first is not None and all(each.start() < first.start() for each in again)
        if saved is not None and (len(again) < 2 or settled):
            return not _is_written_over(file, made)
    if home is None or call.argument("map_location", 1) is not None:
        return False
    if source is not None and _was_saved_by_the_test(file, node, file.tree.text(source)):
        return True
    if not isinstance(source, cst.Name):
        return False
    text, name = file.tree.text(home), re.escape(source.value)
    filled = rf"\bsave\([^\n]*?,\s*(?:f\s*=\s*)?{name}\s*[,)]"
    made_here = rf"(?<![\w.]){name}\s*=\s*(?:\w+\.)?BytesIO\(\)|\bBytesIO\(\)\s+as\s+{name}\b"
    once = len(re.findall(rf"(?<![\w.]){name}\s*=(?!=)|\bas\s+{name}\b", text)) == 1
    return once and all(re.search(each, text) is not None for each in (made_here, filled))


def _is_written_over(file: File, made: cst.CSTNode) -> bool:
    """Tell whether a function loads what others have saved, and then saves it again under that name."""
    tree = file.python
    found = tree.at(file.tree.span(made)) if tree is not None else None
    if tree is None or not isinstance(found, ast.Call) or not found.args:
        return False
    own = next((p for p in tree.ancestors(found) if isinstance(p, ast.stmt)), None)
    if own is None:
        return False
    block = tree.block(own)
    return own in block and any(
        isinstance(each, ast.Call)
        and ast.unparse(each.func) == "torch.save"
        and [ast.unparse(found.args[0])] == [ast.unparse(a) for a in each.args[1:2]]
        and saves_what_it_loads(tree, found, each)
        for later in block[block.index(own) + 1 :]
        for each in ast.walk(later)
    )


# `trainer.save(path)`, `torch.save(x, path)`, `export_triton(model, path)`, `ModelCheckpoint(path)`.
_SAVES = re.compile(
    r"(?:^|[^\w.])(?:\w+\.)*(?:(?:save|export)(?:_\w+)?|\w*Checkpoint)\((?:[^()]|\([^()]*\))*\)"
)
# `MostRecent(filepath="last.pt")`, whatever that is: a file of this name is not read, but told to something.
_TOLD = r"(?<![\w.])(?:\w+\.)*(?!\w*(?:load|open|read|exists?|retrieve|fetch|get|copy|move|extract)\w*\()\w+\((?:[^()]|\([^()]*\))*?\b\w*(?:file|path)\w*\s*=\s*{}\s*[,)]"
_WORDS = re.compile(r"[A-Za-z]{3,}")
_OF_EACH = frozenset(
    "torch load save join path str self tests test model models weights_only True False".split()
)


def _was_saved_by_the_test(file: File, node: cst.CSTNode, source: str) -> bool:
    """Tell whether a test has had saved what it loads: no other machine has written that.

    By a word that what is loaded has in common with what was saved, or with the variable that keeps who saves it.
    """
    tests = [
        parent
        for parent in file.tree.ancestors(node)
        if isinstance(parent, cst.FunctionDef) and parent.name.value.startswith("test")
    ]
    if not tests:
        return False
    whole = file.tree.source[file.tree.span(tests[-1].body)[0] : file.tree.span(node)[0]]
    before = without_prose(whole)
    saved = [
        before[before.rfind("\n", 0, found.start()) + 1 : found.end()]
        for found in _SAVES.finditer(before)
    ]
    literal = re.fullmatch(r"([\"'])[^\"'/\\]+\1", source.strip())
    if literal is not None and re.search(_TOLD.format(re.escape(source.strip())), before):
        return True
    if not saved:
        return False
    words = set(_WORDS.findall(source))
    for name in set(re.findall(r"\b[A-Za-z_]\w*", source)):
        # `best = "_".join([checkpoint.filepath, …])`, `for artifact in artifacts:`
        for given in re.findall(
            rf"(?<![\w.]){name}[ \t]*(?:=(?!=)|\bin\b)((?:[^\n]*[(\[,]\n)*[^\n]*)", before
        ):
            words.update(_WORDS.findall(given))
    return not (words - _OF_EACH).isdisjoint(_WORDS.findall(" ".join(saved)))


def _of_no_device(call: Call) -> bool:
    """Tell whether ``fork_rng(devices=[])`` forks the CPU's generator alone."""
    devices = call.argument("devices", 0)
    return isinstance(devices, (cst.List, cst.Tuple)) and not devices.elements


def _one_of_several(file: File, node: cst.CSTNode, call: Call) -> bool:
    """Tell whether a call is given one after the other of a list of accelerators: ``for kind in ("cpu", "cuda", "xpu")``."""
    statement = file.tree.text(file.tree.statement(node))
    if not any(other in statement for other in ("mps", "xpu", "npu", "hpu")):
        return False
    for name in {arg.value.value for arg in call.args if isinstance(arg.value, cst.Name)}:
        several = rf"\bfor[ \t]+{name}[ \t]+in[ \t]*[(\[{{]([^)\]}}]*)"
        listed = re.search(several, statement)
        if listed is not None and re.search(r"[\"'](?:mps|xpu|npu|hpu)[\"']", listed[1]):
            return True
    return False


def _beside_its_module(file: File, found: Reference, call: Call) -> bool:
    """Tell whether the function of a device looks up torch's module for it: ``getattr(torch, kind).set_device(…)``."""
    home = enclosing_function(file, found.node)
    if home is None or not call.args:
        return False
    kind = re.escape(file.tree.text(call.args[0].value))
    looked_up = rf"\bgetattr\(\s*{re.escape(file.tree.text(found.root))}\s*,\s*{kind}\s*[,)]"
    return re.search(looked_up, file.tree.text(home)) is not None


# `torch.device(device).type != detector.device`, which are both what somebody asked for.
_OF_A_DEVICE = re.compile(r"\A(?:\w+\.)*(?:\w+_)?device\Z")
_ANOTHER = re.compile(r"(?!cuda)\w+\Z")


def _asks_for_another(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a device is made to be asked whether it is another accelerator's: ``torch.device(d).type == "xla"``.

    Or whether it is CUDA's, where that stays as it is; or whether it is the word that something else was told.
    """
    attribute = file.tree.parents[file.tree.parents[node]]
    asked = file.tree.parents.get(attribute)
    if not isinstance(attribute, cst.Attribute) or attribute.attr.value != "type":
        return False
    if isinstance(asked, cst.Assign) and isinstance(asked.targets[0].target, cst.Name):
        # `kind = torch.device(d).type`, which is compared with other accelerators' names.
        return asks_about_others(file, asked.targets[0].target, lists=False)
    whole = file.tree.parents.get(asked) if isinstance(asked, cst.ComparisonTarget) else None
    if isinstance(whole, cst.Comparison) and _OF_A_DEVICE.search(file.tree.text(whole.left)):
        return True
    if not isinstance(asked, cst.Comparison) or len(asked.comparisons) != 1:
        return False
    target = asked.comparisons[0]
    word = string_value(target.comparator) or ""
    if _OF_A_DEVICE.search(file.tree.text(target.comparator)):
        return True
    if OF_ANY.search(file.tree.text(target.comparator)):
        return True
    if word == "cuda" and beside_any_accelerator(file, asked):
        return True
    if word != "cuda" or not guards_cuda_only(file, asked):
        return _ANOTHER.match(word) is not None
    demanded = demand(file, asked, negated=isinstance(target.operator, cst.NotEqual))
    return demanded is None or not demanded.is_met


_MOCK_GIVES = re.compile(r"\breturn_value\s*=\s*(?:torch|tdev)\.device\(")


def _is_a_mocks(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a test makes a device for a mock to give, or one to compare that with: ``patch(…, return_value=torch.device("cuda"))``."""
    home = enclosing_function(file, node)
    return home is not None and _MOCK_GIVES.search(file.tree.text(home)) is not None


def _is_told_apart(file: File, node: cst.CSTNode) -> bool:
    """Tell whether all that a function does with a device is to ask for its type, another accelerator's among them, and to print it.

    ``resolved = torch.device(name)``, ``if resolved.type == "mps": return "mps:0"``, ``return str(resolved)``. Or to
    compare it with CUDA's by questions that stay, be it in a method of its class that it is handed on to; or to hand it on
    where such a question lets CUDA through alone.
    """
    made = file.tree.parents[node]
    kept = file.tree.parents.get(made)
    if isinstance(kept, cst.IfExp) and made is not kept.test:
        kept = file.tree.parents.get(kept)
    tree = file.python if isinstance(kept, cst.Assign) and not file.options.program else None
    place = tree.at(file.tree.span(made)) if tree is not None else None
    around = list(tree.ancestors(place)) if tree is not None and place is not None else []
    home = next((each for each in around if isinstance(each, _FUNCTIONS)), None)
    if around and isinstance(around[0], ast.IfExp):
        del around[0]
    if tree is None or home is None or not isinstance(around[0], ast.Assign):
        return False
    return _tells_apart(file, tree, home, ast.unparse(around[0].targets[0]))


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _tells_apart(
    file: File, tree: PythonTree, home: _Function, name: str, *, deep: int = 3
) -> bool:
    """Tell whether a function does no more with one of its variables."""
    arms = _cudas_arms_of(file, tree, home, name)
    others = bool(arms) or _is_demanded_of(file, tree, home, name)
    for each in ast.walk(home):
        if isinstance(each, (ast.Global, ast.Nonlocal)) and name in each.names:
            return False
        if not isinstance(each, ast.Name) or each.id != name or isinstance(each.ctx, ast.Store):
            continue
        match [*tree.ancestors(each)][:2]:
            case [ast.Attribute(attr="type"), ast.Compare(comparators=[ast.Constant(value=word)])]:
                others = others or re.fullmatch(NAMES, str(word)) is not None
            case [ast.Attribute(attr="type" | "index"), ast.Compare()]:
                pass
            case [ast.Compare(ops=[ast.Is() | ast.IsNot()]), *_]:
                pass
            case _ if any(low <= tree.span(each)[0] < high for low, high in arms):
                pass
            case [ast.Call(func=ast.Name(id="str" | "isinstance")) | ast.FormattedValue(), *_]:
                pass
            case [ast.Compare(left=left, comparators=[ast.Call() as other]), *_] if left is each:
                if ast.unparse(other) != "torch.device('cuda')":
                    return False
                place = tree.span(left)
                asked = [c for c in file.tree.of(cst.Comparison) if file.tree.span(c.left) == place]
                if not asked or not all(leaves_out_others(file, c) for c in asked):
                    return False
                others = True
            case [ast.Call(func=func), ast.Assign(targets=[again])] if last_name(func).endswith(
                "device"
            ):
                # `device = torch.device(device)`, which is asked about here, too
                if ast.unparse(again) != name:
                    return False
            case [ast.keyword(arg=str() as given), ast.Call(func=func)] if deep:
                method = _own_method(file, tree, home, func)
                if method is None or not _tells_apart(file, tree, method, given, deep=deep - 1):
                    return False
                others = True
            case _:
                return False
    return others


def _cudas_arms_of(file: File, tree: PythonTree, home: _Function, name: str) -> list[Span]:
    """Return the arms of a function that questions for the type of one of its variables open, and stay."""
    asked = [each for each in _asked_of(file, tree, home, name) if not each.denies]
    stay = set[int]()
    for each in asked:
        stays = judge(file, each).stays
        if stays is None or not stays.guards:
            return []
        stay.add(file.tree.span(each.node)[0])
    return [
        (tree.span(choice.body[0])[0], tree.span(choice.body[-1])[1])
        for choice in ast.walk(home)
        if isinstance(choice, ast.If)
        and any(
            isinstance(part, ast.Compare) and tree.span(part)[0] in stay
            for part in _needed(choice.test)
        )
    ]


def _asked_of(file: File, tree: PythonTree, home: _Function, name: str) -> list[Asked]:
    """Return the questions of a function for the type of one of its variables."""
    low, high = tree.span(home)
    left = f"{name}.type"
    if not name.isidentifier() or left not in file.code[low:high]:
        return []
    return [
        asked
        for node in file.tree.of(cst.Comparison)
        if low <= file.tree.span(node)[0] < high
        and (asked := asked_by(file, node)) is not None
        and file.tree.text(asked.operand) == left
    ]


def _is_demanded_of(file: File, tree: PythonTree, home: _Function, name: str) -> bool:
    """Tell whether all that a function asks of one of its variables refuses what is not CUDA, and stays: ``if target.type != "cuda": raise``."""
    asked = _asked_of(file, tree, home, name)
    return bool(asked) and all(
        each.denies and (stays := judge(file, each).stays) is not None and stays.opens
        for each in asked
    )


def _needed(test: ast.expr) -> Iterator[ast.expr]:
    """Yield what has to be true for a test to be."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            for each in values:
                yield from _needed(each)
        case _:
            yield test


def _own_method(file: File, tree: PythonTree, home: _Function, func: ast.expr) -> _Function | None:
    """Return the method of its own class that a function calls, ``self._build``, where no heir has another."""
    owner = next(tree.ancestors(home), None)
    match func:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if isinstance(owner, ast.ClassDef):
            pass
        case _:
            return None
    family = file.options.tree.of_families if file.options.tree is not None else frozenset[str]()
    named = [each for each in owner.body if isinstance(each, _FUNCTIONS) and each.name == attr]
    if len(named) != 1 or named[0].decorator_list or f"{owner.name}.{attr}" in family:
        return None
    return named[0]


def _is_behind_cudas_arms(file: File, found: Reference, call: Call) -> bool:
    """Tell whether a word is given in an arm that none of CUDA's comes to: the last of ``if kind.startswith("cuda"): … else: …``."""
    devices = (call.argument(*each) for each in file.names.device_params[found.name])
    words = {each.value for each in devices if isinstance(each, cst.Name)}
    node: cst.CSTNode = found.node
    below = node
    for parent in file.tree.ancestors(node) if words else ():
        if isinstance(parent, cst.If) and below is parent.orelse:
            taken = _TAKES_CUDAS.fullmatch(file.tree.text(parent.test))
            if taken is not None and (word := taken[1] or taken[2]) in words:
                arm = file.tree.span(below)[0], file.tree.span(file.tree.statement(node))[0]
                return not re.search(rf"\b{word}[ \t]*=(?!=)", file.tree.source[slice(*arm)])
        elif isinstance(parent, cst.FunctionDef):
            return False
        below = parent
    return False


_TAKES_CUDAS = re.compile(r"(\w+)\.startswith\([\"']cuda[\"']\)|[\"']cuda[\"'] in (\w+)")


def _why_a_comparison_stays(file: File, node: cst.CSTNode, call: Call) -> str:
    """Return what is said of ``x.device == torch.device("cuda")`` that asks for CUDA beside others, if it does."""
    asked = file.tree.parents[file.tree.parents[node]]
    if isinstance(asked, cst.Attribute) and asked.attr.value == "type":
        asked = file.tree.parents[asked]
    if isinstance(asked, cst.ComparisonTarget):
        asked = file.tree.parents[asked]
    if not isinstance(asked, cst.Comparison) or file.options.program:
        return ""
    if not call.args or string_value(call.args[0].value) != "cuda":
        return ""
    if decides_beside_other_arms(file, asked):
        return "this test chooses between backends; left as it is"
    return LEAVES_OUT if leaves_out_others(file, asked) else ""


_CHECKS = frozenset({"isinstance", "issubclass", "cast", "TypeVar", "hasattr", "getattr"})


def _handed_on(file: File, node: cst.CSTNode) -> bool:
    """Tell whether ``torch.device`` itself is given to something that will call it."""
    parent = file.tree.parents[node]
    if not isinstance(parent, cst.Arg):
        return False
    call = file.tree.parents[parent]
    if not isinstance(call, cst.Call):
        return False
    func = call.func
    last = func.attr if isinstance(func, cst.Attribute) else func
    if isinstance(last, cst.Name) and last.value in _CHECKS:
        return False
    if isinstance(last, cst.Name) and last.value == "map":
        return True
    return parent.keyword is not None and parent.keyword.value in ("type", "converter", "factory")
