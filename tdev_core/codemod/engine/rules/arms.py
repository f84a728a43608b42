"""Branches that already choose between backends keep choosing as they did."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from tdev_core.codemod.engine.analysis.python_tree import PythonTree
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.vocabulary import NOTE

ARMS = rule(
    "other-arms",
    "Branches with arms for other accelerators",
    "note",
    """
    Code that asks for CUDA in one arm and for `mps`, `xpu` or another accelerator in the next
    has been ported already. Answering the first question with "yes" on every accelerator
    would make the other arms dead, so the tests of such a chain stay as they are:
    `if/elif` chains, nested conditional expressions, a boolean expression that asks for both,
    and neighbouring `if` statements of one block. What stands in the arm for CUDA stays with its
    test, since only CUDA gets there; what stands in the others is rewritten as anywhere else.

    Whatever their tests ask, an arm that calls of `torch.cuda` what an arm beside it calls of `torch.xpu`
    or its like is CUDA's. So is a function that calls what its twin for another accelerator does
    (`max_cuda_memory` beside `max_musa_memory`), and what is named after another accelerator
    (`def npu(self)`) is that one's. A report of a machine's environment (`collect_env.py`) stays whole.

    Where the arms give a `torch.device` and do nothing else (`if torch.cuda.is_available(): return
    torch.device("cuda")`, then the same for `mps`), the question and CUDA's arm are tdev's: what they
    give on MPS is the device that the other arm would have given, and every other accelerator, which no
    arm knows, is used as well.

    A function or a constant that *is* the question (`def is_cuda_available()`, `HAS_CUDA = …`, the
    `is_available` of a class that is called after CUDA) keeps meaning CUDA where a caller in the tree has
    an arm for another accelerator, and where nothing in the tree asks it, since it is then the
    package's public answer. In a program without such arms it gets the answer for what is used.
    Reported either way.

    Two things go together within one function. Once `torch.cuda.is_available()` or
    `device_count()` chooses beside other accelerators there, its other uses in that function
    stay as well: a check of the device number must not pass where the choice then says no. And
    a comparison with `"cuda"` stays where the same device is compared with `"mps"` or another
    accelerator's name elsewhere in the function.

    A list such as `device.type in ("cuda", "xpu")` was written by somebody who thought of other
    accelerators and left some out, so it stays; `("cuda", "mps")` names all that torch and tdev
    share, and becomes the predicate.
    """,
)

_OTHERS = re.compile(
    r"\b(mps|xpu|npu|hpu|mlu|musa|mtia|xla|tpu|hip_available|ipex|directml)\b|_(mps|xpu|npu|hpu|mlu|musa|mtia|xla|tpu)_|(?:is|has)_(mps|xpu|npu)"
)


# A list that becomes the predicate asks for no other accelerator.
_SHARED = re.compile(r"""[\[({]\s*(?:["'](?:cuda|mps)["']\s*,?\s*)*[\])}]""")
_NAMES = "mps|xpu|npu|hpu|mlu|musa|mtia|xla|tpu"


# The program's own classes for other accelerators, by which a function chooses.
_OTHER_CLASSES = re.compile(
    r"\b(?:MPS|XPU|XLA|TPU|HPU|NPU|ROCm|Rocm|Npu|Xpu|Hpu)(?:Accelerator|Platform|Backend)\b"
)


def decides_beside_other_arms(file: File, node: cst.CSTNode) -> bool:
    """Tell whether ``node`` is (part of) a test with a sibling that asks for another accelerator."""
    tree = file.tree
    below: cst.CSTNode = node
    for parent in tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            if names_other(file, parent, node):
                return True
        elif isinstance(parent, cst.IfExp):
            if below is parent.test and names_other(file, _top_ifexp(file, parent), node):
                return True
        elif isinstance(parent, cst.If):
            return below is parent.test and (
                _chainnames_other(file, parent) or _rest_is_others(file, parent)
            )
        elif isinstance(parent, (cst.BaseSuite, cst.BaseSmallStatement)):
            return False
        below = parent
    return False


def beside_what_stays(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the other half of a condition stays, because its function chooses between backends."""
    whole: cst.CSTNode | None = None
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            whole = parent
        elif not isinstance(parent, (cst.UnaryOperation, cst.Call, cst.Arg)):
            break
    if whole is None:
        return False
    low, high = file.tree.span(whole)
    return any(
        key[0] == ARMS.id
        and "between backends" in key[2]
        and low <= file.tree.span(found.node)[0] < high
        for key, (found, _) in file.asked.items()
    )


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
        if _OTHERS.search(ast.unparse(link.test)):
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


_ASKS_FOR_CUDA = re.compile(
    r"\bcuda\.is_available\(|\bis_(?:torch_)?cuda_available\(|\bcuda_is_available\(|\.is_cuda\b"
    r"|==\s*[\"']cuda[\"']|\.startswith\([\"']cuda"
)
_DENIES = re.compile(r"\bnot\b(?!\s+in\b)|!=(?!\s*[\"']cpu[\"'])|\bor\b")


# Only NVIDIA's or only ROCm's build gets past these.
_OF_THE_BUILD = re.compile(
    r"(?:not\s+)?(?<!\w)(?:torch\.)?version\.hip\b(?:\s+is\s+(?:not\s+)?None)?"
    r"|(?<!\w)(?:torch\.)?cuda\.get_device_capability\([^()]*\)(?:\[\d\])?\s*[<>=]+\s*[\d(][\d, ]*\)?"
)
# Accelerators whose own versions of torch a program is written for in such an arm.
_OF_A_VENDOR = re.compile(rf"==\s*[\"'](?:{_NAMES})[\"']")


def cudas_arms(file: File) -> None:
    """Find the arms that only CUDA reaches, because their chain has arms for other accelerators too.

    And those that only another vendor's accelerator reaches.
    """
    for choice in file.tree.of(cst.If, cst.IfExp):
        test = file.tree.text(choice.test)
        if _OF_A_VENDOR.search(test) and not _DENIES.search(test):
            file.untouched.append(file.tree.span(choice.body))
        if _OF_THE_BUILD.search(test) and _ASKS_FOR_CUDA.search(_OF_THE_BUILD.sub("", test)):
            if not _DENIES.search(_OF_THE_BUILD.sub("", test)):
                file.untouched.append(file.tree.span(choice.body))
                continue
        if not _ASKS_FOR_CUDA.search(test) or _DENIES.search(test):
            continue
        if isinstance(choice, cst.If):
            beside = _chainnames_other(file, choice) or _rest_is_others(file, choice)
        else:
            beside = names_other(file, _top_ifexp(file, choice), choice.test)
        if beside and gives_devices(file, choice.test):
            continue
        if (beside or said_of_others(file, choice)) and not names_other(file, choice.test):
            file.untouched.append(file.tree.span(choice.body))


_DEVICE_OF_OTHERS = re.compile(rf"\bdevice\(\s*[\"'](?:{_NAMES})\b")


def _rest_is_others(file: File, choice: cst.If) -> bool:
    """Tell whether the ``else`` of a test for CUDA gives another accelerator's device."""
    rest = choice.orelse
    return isinstance(rest, cst.Else) and _DEVICE_OF_OTHERS.search(file.tree.text(rest)) is not None


_CALLS_CUDA = re.compile(r"\bcuda\.\w|[\"']cuda\b|\.cuda\(")


def arms_that_stay(file: File) -> None:
    """Say of an arm that was left for its test that it was, where nothing else is said of the two."""
    told = sorted(start for _, start, _ in file.findings)
    for low, high in file.parallel:
        if not any(low <= at < high for at in told):
            said = "this is CUDA's arm beside those of other accelerators; left as it is"
            file.find_at(ARMS, low, said)
            told.append(low)
    for choice in file.tree.of(cst.If, cst.IfExp) if file.untouched else ():
        arm = file.tree.span(choice.body)
        if arm not in file.untouched or not _CALLS_CUDA.search(file.tree.text(choice.body)):
            continue
        begin = file.tree.span(choice.test)[0]
        low, high = min(begin, arm[0]), max(file.tree.span(choice.test)[1], arm[1])
        if not any(low <= at < high for at in told):
            file.find(
                ARMS,
                choice.test,
                "opens an arm that one kind of device alone reaches; left as it is",
            )


_OF_TORCH = re.compile(rf"\btorch\.(cuda|{_NAMES}|sdaa)\.(\w+)")


def parallel_arms(file: File) -> None:
    """Leave the arm that asks of ``torch.cuda`` what the arms beside it ask of ``torch.xpu`` and its like, whatever they test."""
    source = file.tree.source
    asked: dict[str, set[str]] = {}
    for found in _OF_TORCH.finditer(source):
        asked.setdefault(found[2], set()).add(found[1])
    if not any("cuda" in whose and len(whose) > 1 for whose in asked.values()):
        return
    tree = file.python
    if tree is None:
        return
    for node in ast.walk(tree.module):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(block, list):
                _leave_parallel(file, tree, block)


def _leave_parallel(file: File, tree: PythonTree, block: list[ast.stmt]) -> None:
    for one, other in zip(block, block[1:], strict=False):
        # `torch.cuda.empty_cache()`, and then the same if there is MPS
        said = _OF_TORCH.match(tree.text([one]).strip()) if isinstance(one, ast.Expr) else None
        if said is None or said[1] != "cuda" or not isinstance(other, ast.If):
            continue
        beside = {(owner, name) for owner, name in _OF_TORCH.findall(tree.text(other.body))}
        if any(owner != "cuda" and name == said[2] for owner, name in beside):
            file.untouched.append(tree.span(one))
            file.parallel.append(tree.span(one))
    near: list[list[ast.stmt]] = []
    for statement in [*block, None]:
        if isinstance(statement, ast.If):
            near += _arms(statement)
            continue
        whose = [set(_OF_TORCH.findall(tree.text(arm))) for arm in near]
        for at, arm in enumerate(near):
            used = {name for owner, name in whose[at] if owner == "cuda"}
            beside = {
                name
                for i, of_arm in enumerate(whose)
                if i != at
                for owner, name in of_arm
                if owner != "cuda"
            }
            if used and used & beside and all(owner == "cuda" for owner, _ in whose[at]):
                span = tree.span(arm[0])[0], tree.span(arm[-1])[1]
                if span not in file.untouched:
                    file.untouched.append(span)
                    file.parallel.append(span)
        near = []


def _arms(choice: ast.If) -> list[list[ast.stmt]]:
    """Return the arms of a chain."""
    arms = [choice.body]
    match choice.orelse:
        case [ast.If(col_offset=column) as link] if column == choice.col_offset:
            return arms + _arms(link)  # an `elif`
        case _:
            pass
    return [*arms, choice.orelse] if choice.orelse else arms


_OF_OTHERS = re.compile(rf"(?:\w+_)?(?:{_NAMES})(?:_\w+)?\Z")


def functions_of_others(file: File) -> None:
    """Leave the function of another accelerator (``def musa(self)``), and CUDA's that does the same as such a one.

    Of methods that are called for the device alone, ``def cuda(self)`` is everybody's: tdev calls it for its own.
    """
    named: dict[tuple[cst.CSTNode, str], cst.FunctionDef] = {}
    for home in file.tree.of(cst.FunctionDef):
        named[file.tree.parents[home], home.name.value] = home
    for (around, name), home in named.items():
        text = file.tree.text(home)
        if _OF_OTHERS.match(name) and "cuda" not in name and not _CALLS_CUDA.search(text):
            file.untouched.append(file.tree.span(home))
        if "cuda" not in name or name == "cuda":
            continue
        asked = {what for owner, what in _OF_TORCH.findall(text) if owner == "cuda"}
        for other in _NAMES.split("|"):
            twin = named.get((around, name.replace("cuda", other)))
            beside = _OF_TORCH.findall(file.tree.text(twin)) if twin is not None else []
            if twin is not None and asked & {what for owner, what in beside if owner == other}:
                file.untouched.append(file.tree.span(home))
                said = (
                    f"{name} does for CUDA what {twin.name.value} does for {other}; left as it is"
                )
                file.find(ARMS, home.name, said)
                break


_FOR_A_KIND = re.compile(
    rf"\b(\w+)\((?:[^()]|\([^()]*\))*?\bdevice_type[ \t]*=[ \t]*[\"'](cuda|{_NAMES})[\"']"
)


def done_for_others(file: File) -> None:
    """Leave a function that calls the same with ``device_type="cuda"`` and again for another accelerator."""
    if "device_type" not in file.tree.source:
        return
    for home in file.tree.of(cst.FunctionDef):
        kinds: dict[str, set[str]] = {}
        for called, kind in _FOR_A_KIND.findall(file.tree.text(home)):
            kinds.setdefault(called, set()).add(kind)
        for called, given in kinds.items():
            if "cuda" in given and len(given) > 1:
                file.untouched.append(file.tree.span(home))
                said = f"{called} is called for other accelerators as well; {home.name.value} is left as it is"
                file.find(ARMS, home.name, said)


_TRIES_CUDA = re.compile(r"[\"']cuda\b|\bcuda\.is_available\(")


def tried_beside_others(file: File) -> None:
    """Leave a ``try`` for CUDA whose neighbour tries another accelerator: the first that works is used, and told."""
    for tried in file.tree.of(cst.Try):
        parent = file.tree.parents[tried]
        block = getattr(parent, "body", ())
        at = list(block).index(tried) if tried in block else 0
        near = [*block[max(0, at - 1) : at], *block[at + 1 : at + 2]]
        found = _TRIES_CUDA.search(file.tree.text(tried.body))
        if found is None or names_other(file, tried.body):
            continue
        if any(isinstance(n, cst.Try) and names_other(file, n.body) for n in near):
            file.untouched.append(file.tree.span(tried.body))
            file.tried.append(file.tree.span(tried.body))


def only_cudas_arm(file: File, question: cst.CSTNode) -> None:
    """Leave the arm that a kept question opens: where it is answered with yes, there is CUDA."""
    below = question
    for parent in file.tree.ancestors(question):
        if isinstance(parent, (cst.If, cst.IfExp)):
            if below is parent.test:
                file.untouched.append(file.tree.span(parent.body))
            return
        needed = isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.And)
        called = isinstance(parent, cst.Call) and parent.func is below
        if not needed and not called:
            return
        if isinstance(parent, cst.BooleanOperation) and below is parent.left:
            file.untouched.append(file.tree.span(parent.right))
        below = parent


def asks_about_others(file: File, operand: cst.BaseExpression) -> bool:
    """Tell whether the function compares the same device with another accelerator's name as well.

    The text is searched, not the tree: such a comparison need not name CUDA.
    """
    base = file.tree.text(operand)
    base = re.sub(r"\A(?:str|repr)\((.*)\)\Z", r"\1", base, flags=re.DOTALL)
    base = base.removesuffix(".type")
    home = enclosing_function(file, operand)
    if home is None or len(base) > 80:
        return False
    asked = (
        rf"(?<![\w.]){re.escape(base)}(?:\.type)?(?:\s*[!=]=\s*[\"']({_NAMES})\b"
        rf"|\.startswith\(\s*[\"']({_NAMES})\b"
        rf"|\s+(?:not\s+)?in\s*[\[({{](?![^])}}]*[\"']cuda)[^])}}]*[\"']({_NAMES})\b"
        # a list that stays has decided already which there are
        rf"|\s+(?:not\s+)?in\s*[\[({{](?=[^])}}]*[\"']cuda[\"'])[^])}}]*[\"']cpu[\"'])"
    )
    text = file.tree.text(home)
    return re.search(asked, text) is not None or _OTHER_CLASSES.search(text) is not None


_MEASURED = re.compile(r"\b(?:measured|benchmarked|faster|slower|beats)\b", re.IGNORECASE)
_TEXT = re.compile(r"(?:\"{3}.*?\"{3}|'{3}.*?'{3})|(?:^[ \t]*#[^\n]*\n)+", re.DOTALL | re.MULTILINE)
_OTHER_NAMES = re.compile(
    r"\b(?:MPS|XPU|NPU|HPU|MLU|TPU|Apple|Gaudi|Ascend|cupy|CuPy|cucim|cuCIM)\b"
)


def measured_for_others(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a text of the function says what was measured on another accelerator, or against CUDA's packages.

    A choice between engines by speed is none to be made for a device that nobody tried.
    """
    home = enclosing_function(file, node)
    return home is not None and any(
        _MEASURED.search(found.group()) and _OTHER_NAMES.search(found.group())
        for found in _TEXT.finditer(file.tree.text(home))
    )


def takes_the_type_of_others(file: File, node: cst.CSTNode, operand: cst.CSTNode) -> bool:
    """Tell whether a test belongs to a chain that ends with the type of whatever device was named.

    ``elif "cuda" in device: kind = "cuda"``, and then ``else: kind = device.split(":")[0]``.
    """
    choice = file.tree.parents[node]
    if not isinstance(choice, cst.If) or choice.test is not node:
        return False
    name = re.escape(file.tree.text(operand))
    last: cst.CSTNode | None = choice.orelse
    while isinstance(last, cst.If):
        last = last.orelse
    taken = re.compile(rf"(?P<kind>[\w.]+)[ \t]*=[ \t]*{name}\.(?:split|partition)\([\"']:")
    if not isinstance(last, cst.Else) or (found := taken.search(file.tree.text(last))) is None:
        return False
    given = rf"(?<![\w.]){re.escape(found['kind'])}[ \t]*=[ \t]*[\"']cuda[\"']"
    return re.search(given, file.tree.text(choice.body)) is not None


_SAYS_OTHER = re.compile(r"#.*\b(?:mps|xpu|npu|hpu|other accelerators?)\b", re.IGNORECASE)


def said_of_others(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the comment above a statement speaks of another accelerator: somebody has thought of it."""
    line = file.tree.position(file.tree.span(file.tree.statement(node))[0])[0] - 1
    while line >= 1 and (text := file.tree.line_text(line).strip()).startswith("#"):
        if _SAYS_OTHER.match(NOTE.sub("#", text)):
            return True
        line -= 1
    return False


def is_the_rest(file: File, node: cst.CSTNode) -> bool:
    """Tell whether ``node`` stands in the ``else`` of a chain in which each test asks for another accelerator."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Else):
            tests = []
            above: cst.CSTNode | None = file.tree.parents[parent]
            while isinstance(above, cst.If):
                tests.append(above.test)
                above = file.tree.parents.get(above)
            return len(tests) > 1 and all(names_other(file, test) for test in tests)
        if isinstance(parent, (cst.If, cst.FunctionDef)):
            return False
    return False


def enclosing_function(file: File, node: cst.CSTNode) -> cst.FunctionDef | None:
    """Return the innermost function around a node."""
    return next((p for p in file.tree.ancestors(node) if isinstance(p, cst.FunctionDef)), None)


def _top_ifexp(file: File, node: cst.IfExp) -> cst.CSTNode:
    top: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if not isinstance(parent, cst.IfExp):
            break
        top = parent
    return top


def names_other(file: File, node: cst.CSTNode, apart_from: cst.CSTNode | None = None) -> bool:
    """Tell whether a text asks for another accelerator, ``apart_from`` left aside."""
    start, end = file.tree.span(node)
    text = file.tree.source[start:end]
    if apart_from is not None:
        low, high = file.tree.span(apart_from)
        text = text[: low - start] + text[high - start :]
    return _OTHERS.search(_SHARED.sub("", text)) is not None


def _chainnames_other(file: File, node: cst.If) -> bool:
    """Tell whether another test of the chain, or of a neighbouring ``if``, asks for another one."""
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
    if any(names_other(file, test) for test in tests if test is not node.test):
        return True
    if last is not node and node is not head:
        return False
    return any(names_other(file, n.test) for n in _neighbours(file, head))


def _neighbours(file: File, node: cst.If) -> list[cst.If]:
    parent = file.tree.parents.get(node)
    body = getattr(parent, "body", None)
    if not isinstance(body, (list, tuple)) or node not in body:
        return []
    at = list(body).index(node)
    near = [body[i] for i in (at - 1, at + 1) if 0 <= i < len(body)]
    return [n for n in near if isinstance(n, cst.If)]
