"""References to torch: ``torch.cuda.*``, other device-dependent names, calls that take a device."""

from __future__ import annotations

import re
from dataclasses import replace

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.api import Rule, Severity
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.architecture import asks_for_nvidias, beside_a_kept_question
from tdev_core.codemod.engine.rules.arguments import Call, device_argument
from tdev_core.codemod.engine.rules.arms import (
    ARMS,
    decides_beside_other_arms,
    enclosing_function,
    gives_devices,
    is_the_rest,
    only_cudas_arm,
)
from tdev_core.codemod.engine.rules.build_version import NAME as VERSION_NAME
from tdev_core.codemod.engine.rules.build_version import build_version
from tdev_core.codemod.engine.rules.counts import at_least_one
from tdev_core.codemod.engine.rules.demands import DEMAND, answer, demand, has_kernels
from tdev_core.codemod.engine.rules.early_exits import after_early_exit
from tdev_core.codemod.engine.rules.guards import KERNEL_NAME, availability_guards, guards_cuda_only
from tdev_core.codemod.engine.rules.kernels import (
    KERNEL,
    is_built_by_torch,
    is_handle,
    plain_extensions,
)
from tdev_core.codemod.engine.rules.reasons import reason
from tdev_core.codemod.engine.rules.requests import beside_a_request, compared_with_the_word
from tdev_core.codemod.engine.rules.tellings import is_told_as_cudas, only_tells_of_cuda
from tdev_core.codemod.engine.rules.torchscript import left_to_script
from tdev_core.codemod.engine.survey import uses

REFERENCE = rule(
    "cuda-reference",
    "References to `torch.cuda` and other device-dependent names",
    None,
    """
    A name whose behaviour depends on the device is taken from tdev instead of torch:
    everything public in `torch.cuda`, and functions such as
    `torch.distributed.init_process_group` or `torch.load` that act on CUDA without saying so.

    Only the first name of the reference changes (`torch.cuda.synchronize` becomes
    `tdev.cuda.synchronize`), wherever it stands: called, passed as a value, in a decorator, an
    annotation, a default, an `except` clause. The arguments stay as they are, because tdev's
    function has the same signature. Names that start with an underscore are not mirrored and
    are reported.

    Some places keep torch's name: what clears a function's cache (`torch.cuda.device_count.cache_clear()`), CUDA's row of a table that has a row for another accelerator
    (`{"cuda": torch.cuda.synchronize, "mps": torch.mps.synchronize}`), and a function, CUDA's aside, that is
    a key of a table, of a set or of a test (`{torch.load: wrapped}`), where torch's own is compared with it.
    So does a question whose answer is only put into words as CUDA's: `f"cuda.available={torch.cuda.is_available()}"`,
    `("CUDA available?", torch.cuda.is_available())`, or beside `torch.version.cuda` in a table.

    Where the name does not speak of CUDA (`torch.load`, `torch.jit.script`, `new_group`), the report says in
    a line why it is tdev's.

    Import forms: `import torch`, `import torch as th`, `import torch.cuda` (the reference
    changes); `import torch.cuda as tc`, `from torch import cuda`, `from torch.cuda import
    Stream as S`, `from torch.cuda.amp import *`, `import torch.distributed as dist` (the import
    changes, see the rule `import`); each of them also inside a function, a condition,
    `try`/`except ImportError` and `if TYPE_CHECKING`. A name that the file binds to something
    else (`torch = FakeTorch()`) is not torch and is left alone.

    In the alias style the reference stays and only the import changes.
    """,
)

ARGUMENT = rule(
    "device-argument",
    "Torch functions that are given a device",
    None,
    """
    `torch.zeros(3, device="cuda")` asks for CUDA whatever there is, and tdev never patches
    torch's own functions, so the call goes through tdev's: `tdev.zeros(3, device="cuda")`.
    The device is translated when the call is made. The literal therefore stays what it is, a
    `str`, and so does every variable, parameter default, dataclass field and argparse default
    that holds it: nothing is decided at import, f-strings print what they printed, and a
    function that expects a string still gets one.

    A call is left alone when its device cannot be CUDA as far as the file tells: no device,
    `None`, `"cpu"`, `"meta"`, the `.device` of a tensor or a module (told by what the function asks of it,
    `x.shape`, or by its name, `model`, `hidden_states`), the object's own `self.device` or
    `_execution_device`, a name annotated `torch.device`, or the result of
    `torch.device(...)`, which is a real device once that call is tdev's. A device that comes in from elsewhere (an unannotated parameter, `args.device`, the
    `.device` of any other object) may be the string `"cuda"` and counts as one. `functools.partial(torch.zeros, device=...)` counts as
    the call it will be.

    The same holds in a file that never mentions CUDA: `torch.zeros(n, device=device)` there is as
    right or wrong as what its callers hand over, and what a person typed (a command line, a YAML
    file) is seen by no tool. Each file is decided by its own text, so that rewriting one file, as
    pre-commit does, gives what rewriting the whole tree gives.

    `torch.device("cuda")` becomes `tdev.device("cuda")`, which gives a real `torch.device`, also in
    the default of a parameter or of a class attribute: it was made when the module is imported, and
    it may go to code that this file does not see.

    Methods and constructors, `.to("cuda")`, `.cuda()`, `x.new_zeros(device="cuda")`,
    `nn.Linear(4, 4, device="cuda")`, are not touched by the tdev styles: see `tdev-import`.
    """,
)

PRIVATE = rule(
    "private-name",
    "Private names of `torch.cuda`",
    "warning",
    """
    `torch.cuda._lazy_init` and other names that start with an underscore (also
    `torch._C._cuda_*`) belong to torch and are not mirrored. Left alone and reported.
    """,
)


AVAILABILITY = ("torch.cuda.is_available", "torch.cuda.device_count")
_ARCHITECTURE = ("torch.cuda.get_device_capability", "torch.cuda.get_arch_list")
_ASKED = (*AVAILABILITY, "torch.backends.cuda.is_built")


def references(file: File) -> None:
    """Visit every name that an import of torch gave."""
    # What is tdev's already is left; what was said of it the first time is said again.
    found = [f for f in every_reference(file) if not file.kept(f.node)]
    chosen = chooses_between_backends(file, found)
    # A decorator, which may leave its function as it is, before that: the tree has it behind.
    for reference in sorted(found, key=lambda each: _order(file, each.node)):
        # Half of a condition is never rewritten.
        if reference.name in _ASKED or not beside_a_kept_question(file, reference.node):
            _one(file, reference, chosen)


def _order(file: File, node: cst.CSTNode) -> tuple[int, int]:
    """Return what sorts names as they are met: the test of ``a if test else b`` before its arms."""
    at = file.tree.span(node)[0]
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.IfExp) and below is parent.test:
            return file.tree.span(parent)[0], 0
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            break
        below = parent
    return at, 1


def every_reference(file: File) -> list[Reference]:
    """Return the references to torch or tdev in a file."""
    seen: set[cst.CSTNode] = set()
    references = []
    for name in file.tree.of(cst.Name):
        chain = _chain(file, name) if name.value in file.resolver.roots else None
        if chain is None or chain in seen:
            continue
        seen.add(chain)
        found = file.resolver.reference(chain)
        if found is not None:
            references.append(found)
    return references


def chooses_between_backends(file: File, found: list[Reference]) -> dict[cst.CSTNode, str]:
    """Return the questions whether there is CUDA that stay, because they choose beside other accelerators.

    With one of them, all that its function asks. In a program that was started to run, none: what it asks
    is answered for the device that it runs on, by whichever name and import it asks.
    """
    if file.options.program:
        return {}
    asked = [f for f in found if f.name in _ASKED]
    beside = [f for f in asked if decides_beside_other_arms(file, f.node)]
    if file.options.style != "accelerator":
        beside = [f for f in beside if not gives_devices(file, f.node)]
    stay: dict[cst.CSTNode, str] = {
        f.node: f"{f.name} chooses between backends; {LEFT}" for f in beside
    }
    homes = {enclosing_function(file, f.node) for f in beside} - {None}
    for f in asked:
        if enclosing_function(file, f.node) in homes:
            why = f"{f.name} stands in a function that chooses between backends; {LEFT}"
            stay.setdefault(f.node, why)
        elif f.node not in stay and (answers := _is_the_question(file, f.node)) is not None:
            stay[f.node] = f"{answers}; {LEFT}"
    return stay


_SAYS_CUDA = re.compile(r"cuda|gpu", re.IGNORECASE)
_REQUIRES = re.compile(r"_?(?:requires?|needs?|skip_(?:if|unless)_no)_\w*(?:cuda|gpu)s?\w*\Z")
_FOR_CUDA = re.compile(r"\b(?:requires?|needs?|without|no)\b[^\n]*\b(?:CUDA|NVIDIA)\b")
_THE_QUESTION = re.compile(r"_?(?:is_|has_)?(?:torch_)?(?:cuda|gpu)_(?:is_)?available\Z")


def _is_the_question(file: File, node: cst.CSTNode) -> str | None:
    """Return why a function or constant that answers whether there is CUDA keeps meaning CUDA, if it does.

    ``def is_cuda_available()``: a caller with an arm for another accelerator would never reach that, and
    what nothing in the tree calls is a package's public answer.
    """
    home = enclosing_function(file, node)
    name = ""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Return) and home is not None:
            name = home.name.value
        elif isinstance(parent, cst.Assign) and home is None:
            target = parent.targets[0].target
            name = target.value if isinstance(target, cst.Name) else ""
        elif isinstance(parent, cst.ClassDef) and name:
            if re.search(r"CUDA|Cuda", parent.name.value):
                return f"{parent.name.value}.{name} answers for CUDA among other backends"
    if home is not None and _THE_QUESTION.match(home.name.value):
        name = home.name.value  # whatever it does with the answer before it gives it
    if home is not None and _REQUIRES.match(home.name.value):
        if _FOR_CUDA.search(file.tree.text(home)):
            return f"{home.name.value} asks for CUDA for tests"
    if not _SAYS_CUDA.search(name):
        return None
    if KERNEL_NAME.search(name):
        return f"{name} answers for CUDA's kernels"
    tree = file.options.tree
    beside = tree.beside if tree is not None else uses(file.tree.source.encode())[1]
    if name in beside:
        return f"{name} is asked beside other accelerators"
    if tree is not None and name not in tree.called and (home is not None or name.isupper()):
        return f"{name} is asked by nothing in the tree: it is this package's answer to others"
    if tree is not None and file.options.style == "accelerator" and "cuda" in name.lower():
        # Its callers move to CUDA, or speak of it, in other files.
        if not name.startswith("_") and (home is not None or name.isupper()):
            return f"{name} is asked by a name that says CUDA"
    if tree is not None:
        file.find(ARMS, node, f"{name} asks for CUDA; its callers get the answer for what is used")
    return None


def _chain(file: File, name: cst.Name) -> cst.BaseExpression | None:
    """Return the whole attribute chain that starts at ``name``; None if it is no reference."""
    parents = file.tree.parents
    parent = parents[name]
    if isinstance(parent, cst.Attribute) and parent.attr is name:
        return None
    if isinstance(parent, cst.Arg) and parent.keyword is name:
        return None
    if isinstance(
        parent,
        (
            cst.ImportAlias,
            cst.AsName,
            cst.Param,
            cst.FunctionDef,
            cst.ClassDef,
            cst.NameItem,
            cst.ImportFrom,
            cst.AssignTarget,
            cst.Del,
            cst.MatchKeywordElement,
        ),
    ):
        if isinstance(parent, cst.Param) and parent.name is not name:
            pass
        elif isinstance(parent, (cst.FunctionDef, cst.ClassDef)) and parent.name is not name:
            pass
        else:
            return None
    node: cst.BaseExpression = name
    while isinstance(parent, cst.Attribute) and parent.value is node:
        node, parent = parent, parents[parent]
    top = parents[node]
    while isinstance(top, cst.Attribute):
        top = parents[top]
    return None if isinstance(top, (cst.ImportAlias, cst.ImportFrom)) else node


def _one(file: File, found: Reference, chosen: dict[cst.CSTNode, str]) -> None:
    names = file.names
    name = found.name
    if found.target != "torch" and all(map(file.for_checkers_only, found.bindings)):
        return  # the name of a type, which no call is made by
    at = file.tree.span(found.node)[0]
    for span in [tried for tried in file.tried if tried[0] <= at < tried[1]]:
        file.tried.remove(span)
        message = f"CUDA is tried beside other accelerators; {LEFT}"
        _kept_question(file, found, ARMS, message, "note")
    if name.startswith("torch.library.") and has_kernels(file):
        return  # registers a kernel for the device that it was written for
    call = call_of(file, found.node)
    if name in names.routed and (where := _identity(file, found)) is not None:
        message = f"{name} {where}, where it is compared with torch's own; {LEFT}"
        _kept_question(file, found, REFERENCE, message, "note", "tdev's is another function")
        return
    if call is None and _is_put_back(file, found):
        message = f"what {name} is set to stays torch's, and what it was with that; {LEFT}"
        _kept_question(file, found, REFERENCE, message, "note")
        return
    if name in names.device_params:
        if name.endswith("autocast") and left_to_script(file, found.node, name):
            return
        _device_call(file, found, call)
        return
    if name.startswith("torch.utils.cpp_extension.") and (
        plain_extensions(file) or is_built_by_torch(file, found.node)
    ):
        return
    routed = _routed(name, names.routed)
    if routed is None:
        if "._cuda_" in name or name.startswith("torch._C._cuda"):
            file.find(PRIVATE, found.node, f"{name} is private to torch")
        return
    if routed == VERSION_NAME:
        build_version(file, found)
        return
    if routed != "torch.cuda" and _is_for_its_cache(file, found, name[len(routed) :]):
        message = f"what {routed} keeps is asked for, and not the function; {LEFT}"
        _kept_question(file, found, REFERENCE, message, "note", "tdev's keeps nothing")
        return
    if asks_for_a_private_name(file, found):
        message = f"a private name of {name} is asked for; {LEFT}"
        _kept_question(file, found, PRIVATE, message, "warning", "tdev's has none")
        return
    if name in _ARCHITECTURE and asks_for_nvidias(file, found.node):
        message = f"{name} is asked for an architecture of NVIDIA's; {LEFT}"
        _kept_question(file, found, KERNEL, message, "note", "from tdev it is (0, 0) elsewhere")
        return
    if name == "torch.cuda.empty_cache" and is_the_rest(file, found.node):
        # It does nothing where there is no CUDA, and is what the function gives CUDA.
        message = f"{name} is CUDA's arm beside those of other accelerators; {LEFT}"
        _kept_question(file, found, ARMS, message, "note")
        return
    if _asked_for_a_handle(file, found.node):
        return  # which goes to CUDA's own library; reported as such
    rest = name[len(routed) + 1 :]
    if routed == "torch.cuda" and rest.startswith("_"):
        file.find(PRIVATE, found.node, f"{name} is private to torch; tdev mirrors public names")
        return
    if name in _ASKED:
        if found.node in chosen:
            _kept_question(file, found, ARMS, chosen[found.node], "note")
            return
        if is_told_as_cudas(file, found.node):
            _kept_question(file, found, REFERENCE, f"{name} is told as CUDA's; {LEFT}", "note")
            return
        asked = _asked(file, found.node)
        requested = beside_a_request(file, found.node)
        if requested and compared_with_the_word(file, found.node):
            said = f"{name} is asked for a word that a device's type is compared with; {LEFT}"
            _kept_question(file, found, ARMS, said, "note")
            _leave_what_it_lets_through(file, found.node)
            return
        demanded = None if requested else demand(file, asked)
        guarded = availability_guards(file, found.node)
        if guarded is None and only_tells_of_cuda(file, found.node):
            guarded = "a message that says CUDA"
        if demanded is None or demanded.verdict == "kept":
            if guarded is None and demanded is not None:
                why = f"{name} {demanded.why}; {LEFT}"
                _kept_question(file, found, DEMAND, why, "warning")
                if demanded.skips:
                    _leave_decorated(file, found.node)
                elif found.target == "torch" or found.package == "tdev":
                    only_cudas_arm(file, found.node)
                    _leave_the_rest(file, found.node)
                return
            if guarded is not None:
                _kept_question(file, found, KERNEL, f"{name} guards {guarded}; {LEFT}", "note")
                if found.target == "torch" or found.package == "tdev":
                    only_cudas_arm(file, found.node)
                    _leave_the_rest(file, found.node)
                return
        elif not demanded.skips:
            if found.package == "torch" and not left_to_script(file, found.node, name):
                answer(file, asked, found)
            return
    if not in_a_row_of_its_own(file, found.node) and not left_to_script(file, found.node, name):
        at_least_one(file, found)
        file.use(REFERENCE, found, reason(name))


def _leave_the_rest(file: File, question: cst.CSTNode) -> None:
    """Leave what follows an early exit for all but CUDA: ``if … or not torch.cuda.is_available() or …: return``."""
    denied = False
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.Assert):
            home = enclosing_function(file, question)
            if home is not None:
                file.untouched.append((file.tree.span(parent)[1], file.tree.span(home)[1]))
            return
        if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
            denied = True
        elif isinstance(parent, cst.If):
            later = after_early_exit(file, parent) if denied else None
            if later is not None:
                file.untouched.append(later)
            return
        elif isinstance(parent, cst.BooleanOperation):
            if not isinstance(parent.operator, cst.Or):
                return
        elif not isinstance(parent, cst.Call):
            return


def _leave_what_it_lets_through(file: File, question: cst.CSTNode) -> None:
    """Leave what follows the early exit that a question of one word is: ``if device == "cuda" and not …: skip()``."""
    choice = next((p for p in file.tree.ancestors(question) if isinstance(p, cst.If)), None)
    later = after_early_exit(file, choice) if choice is not None else None
    if later is not None:
        file.untouched.append(later)


def _leave_decorated(file: File, question: cst.CSTNode) -> None:
    """Leave the test whose decorator skips it where there is no CUDA: it stays CUDA's with that."""
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.Decorator):
            file.untouched.append(file.tree.span(file.tree.parents[parent]))
            return
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return


def _is_put_back(file: File, found: Reference) -> bool:
    """Tell whether a function is kept for later where something is put in its place, and that stays torch's.

    ``origin = torch.distributed.reduce_scatter_tensor``, which another vendor's arm replaces.
    """
    if not isinstance(file.tree.parents[found.node], cst.Assign):
        return False
    text = file.tree.text(found.node)
    places = [
        target.target
        for assign in file.tree.of(cst.Assign)
        for target in assign.targets
        if file.tree.text(target.target) == text
    ]
    return bool(places) and all(map(file.stays, places))


_CACHE = ("cache_clear", "cache_info")


def _is_for_its_cache(file: File, found: Reference, rest: str) -> bool:
    """Tell whether a function is asked for its cache: ``f.cache_clear()``, ``hasattr(f, "cache_clear")``."""
    if rest:
        return rest[1:] in _CACHE
    parent = file.tree.parents[found.node]
    call = file.tree.parents[parent] if isinstance(parent, cst.Arg) else None
    if not isinstance(call, cst.Call) or len(call.args) < 2 or call.args[0] is not parent:
        return False
    return string_value(call.args[1].value) in _CACHE


def asks_for_a_private_name(file: File, found: Reference) -> bool:
    """Tell whether a module is asked for a name that starts with an underscore: ``getattr(torch.cuda, "_x")``."""
    parent = file.tree.parents[found.node]
    call = file.tree.parents[parent] if isinstance(parent, cst.Arg) else None
    if not isinstance(call, cst.Call) or len(call.args) < 2 or call.args[0] is not parent:
        return False
    if not isinstance(call.func, cst.Name) or call.func.value not in ("getattr", "hasattr"):
        return False
    return (string_value(call.args[1].value) or "").startswith("_")


def _identity(file: File, found: Reference) -> str | None:
    """Tell where a function of torch's stands to be compared with what torch hands out, if it does.

    What belongs to CUDA is asked for by the program alone, which calls tdev's now.
    """
    last = found.name.rpartition(".")[2]
    if _in_cuda(found.name) or not last.islower() or found.name in file.names.modules:
        return None
    parent = file.tree.parents[found.node]
    if isinstance(parent, cst.DictElement) and parent.key is found.node:
        return "is a key of a table"
    if isinstance(parent, cst.Element):
        several = file.tree.parents[parent]
        if isinstance(several, cst.Set):
            return "is one of a set"
        if isinstance(file.tree.parents[several], cst.ComparisonTarget):
            return "is one of those in a test"
    return None


def _in_cuda(name: str) -> bool:
    return (name + ".").startswith("torch.cuda.")


def in_a_row_of_its_own(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a name stands in CUDA's row of a table that has a row for another accelerator.

    Not where it is called as the table is made.
    """
    below: cst.CSTNode = node
    later = not isinstance(file.tree.parents[node], cst.Call)
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Lambda):
            later = True
        if isinstance(parent, cst.DictElement) and below is parent.value and later:
            table = file.tree.parents[parent]
            assert isinstance(table, cst.Dict)
            keys = {string_value(e.key) for e in table.elements if isinstance(e, cst.DictElement)}
            return string_value(parent.key) == "cuda" and not _BESIDE.isdisjoint(keys)
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
        below = parent
    return False


_BESIDE = frozenset({"mps", "xpu", "npu", "hpu", "mlu", "musa", "mtia", "xla"})

LEFT = "left as it is"
ANSWERED = "from tdev it answers for the device in use"


def _kept_question(
    file: File,
    found: Reference,
    rule: Rule,
    message: str,
    severity: Severity,
    answered: str = ANSWERED,
) -> None:
    """Report a name whose text stays; :func:`kept_questions` says what becomes of its answer."""
    if (key := file.find(rule, found.node, message, severity)) is not None:
        file.asked[key] = found, answered


def kept_questions(file: File) -> None:
    """Say of each kept question whether its answer stays too, now that it is known where its name comes from."""
    for key, (found, answered) in file.asked.items():
        finding = file.findings[key]
        if from_tdev(file, found):
            message = finding.message.replace(LEFT, answered)
            level = "warning" if finding.rule == KERNEL.id else finding.severity
            file.findings[key] = replace(finding, message=message, severity=level)


def from_tdev(file: File, found: Reference) -> bool:
    """Tell whether a reference is tdev's once the imports are changed."""
    if found.package == "tdev":
        return True
    moved = list(file.repointed)
    if file.options.style == "alias":
        moved += file.wanted
    return any(binding in moved for binding in found.bindings)


def _asked(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Return the call of a question, with the number that a count is compared with."""
    parent = file.tree.parents[node]
    if isinstance(parent, cst.Call) and parent.func is node:
        node = parent
    outer = file.tree.parents[node]
    if not isinstance(outer, cst.Comparison) or outer.left is not node:
        return node
    return outer if isinstance(outer.comparisons[0].comparator, cst.Integer) else node


def _routed(name: str, routed: frozenset[str]) -> str | None:
    """Return the longest prefix of ``name`` that is routed."""
    while name:
        if name in routed:
            return name
        name = name.rpartition(".")[0]
    return None


def call_of(file: File, node: cst.CSTNode) -> Call | None:
    """Return the call whose function is ``node``, or which ``functools.partial`` will make of it."""
    parent = file.tree.parents[node]
    if isinstance(parent, cst.Call) and parent.func is node:
        return Call(tuple(parent.args))
    if isinstance(parent, cst.Arg) and parent.keyword is None:
        outer = file.tree.parents[parent]
        if isinstance(outer, cst.Call) and is_partial(outer) and outer.args[0] is parent:
            return Call(tuple(outer.args[1:]))
    return None


def is_partial(call: cst.Call) -> bool:
    """Tell whether a call is ``functools.partial(function, …)``."""
    last = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return isinstance(last, cst.Name) and last.value == "partial" and bool(call.args)


def _device_call(file: File, found: Reference, call: Call | None) -> None:
    name = found.name
    always = _routed(name, file.names.routed) == name
    if call is None:
        if always or (name == "torch.device" and _handed_on(file, found.node)):
            file.use(REFERENCE, found)
        return
    argument = device_argument(file, call, name)
    if name == "torch.device" and _asks_for_another(file, found.node):
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
    if argument == "may be cuda" or (argument == "absent" and always):
        file.use(REFERENCE if argument == "absent" else ARGUMENT, found, reason(name))


def _asked_for_a_handle(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a call is made for CUDA's own handle: ``torch.cuda.current_stream(d).cuda_stream``."""
    called = file.tree.parents[node]
    handle = file.tree.parents.get(called)
    return isinstance(called, cst.Call) and isinstance(handle, cst.Attribute) and is_handle(handle)


def _of_no_device(call: Call) -> bool:
    """Tell whether ``fork_rng(devices=[])`` forks the CPU's generator alone."""
    devices = call.argument("devices", 0)
    return isinstance(devices, (cst.List, cst.Tuple)) and not devices.elements


def _one_of_several(file: File, node: cst.CSTNode, call: Call) -> bool:
    """Tell whether a call is given one after the other of a list of accelerators: ``for kind in ("cpu", "cuda", "xpu")``."""
    statement = file.tree.text(file.tree.statement(node))
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


_ANOTHER = re.compile(r"(?!cuda)\w+\Z")


def _asks_for_another(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a device is made to be asked whether it is another accelerator's: ``torch.device(d).type == "xla"``.

    Or whether it is CUDA's, where that stays as it is.
    """
    attribute = file.tree.parents[file.tree.parents[node]]
    asked = file.tree.parents.get(attribute)
    if not isinstance(attribute, cst.Attribute) or attribute.attr.value != "type":
        return False
    if not isinstance(asked, cst.Comparison) or len(asked.comparisons) != 1:
        return False
    word = string_value(asked.comparisons[0].comparator) or ""
    return _ANOTHER.match(word) is not None or word == "cuda" and guards_cuda_only(file, asked)


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
