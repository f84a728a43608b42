"""Branches that already choose between backends keep choosing as they did: finds the tests beside which others ask for another accelerator."""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.devices import links_of, refuses_without_cuda
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.vocabulary import OTHERS, SHARED_LIST

ARMS = rule(
    "other-arms",
    "Branches with arms for other accelerators",
    "note",
    """
    Code that asks for CUDA in one arm and for `mps`, `xpu` or another accelerator in the next
    has been ported already. Answering the first question with "yes" on every accelerator
    would make the other arms dead, so the tests of such a chain stay as they are:
    `if/elif` chains, the cases of a `match`, nested conditional expressions, a boolean expression that asks for both,
    and neighbouring `if` statements of one block; a variable that such a chain asks keeps its answer. What stands in the arm for CUDA stays with its
    test, since only CUDA gets there; what stands in the others is rewritten as anywhere else. So stays a device that is
    chosen in the `else` of a test whose arm asks for MPS.

    Whatever their tests ask, an arm that calls of `torch.cuda` what an arm beside it calls of `torch.xpu`
    or its like is CUDA's. So is a function that calls what its twin for another accelerator does
    (`max_cuda_memory` beside `max_musa_memory`), and what is named after another accelerator
    (`def npu(self)`) is that one's. A report of a machine's environment (`collect_env.py`) stays whole.

    Where the arms give a `torch.device` and do nothing else (`if torch.cuda.is_available(): return
    torch.device("cuda")`, then the same for `mps`), the question and CUDA's arm are tdev's: what they
    give on MPS is the device that the other arm would have given, and every other accelerator, which no
    arm knows, is used as well.

    A function or a constant that *is* the question (`def is_cuda_available()`, `HAS_CUDA = …`, the
    `is_available` of a class that is called after CUDA, which stays with that where one for another accelerator stands beside it) keeps meaning CUDA where a caller in the tree has
    an arm for another accelerator, and where nothing in the tree asks it, since it is then the
    package's public answer (so is one for a device's type, `is_device_cuda(device)`). In a program without such arms it gets the answer for what is used.
    Reported either way. What else such a class does stays with its answer.

    A question stays CUDA's as well where its answer, what it chooses or what an `if` sets by it goes to another package as
    a word, a number or a switch: Lightning's and Ray's (`Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu",
    devices=…)`, `{"gpu": 1 if torch.cuda.is_available() else 0}`), which count CUDA's devices themselves and refuse what
    they do not find, whoever else takes it; and those of a package of which nothing is known, unless torch or the program itself takes
    it, too. The way is followed through variables, attributes, dictionaries, parameters and results, as far as the
    file goes. A device is something else: a `torch.device`, or the name of one that is given as `device`, is that of the
    device in use. So stays what only a run of tests asks (`IS_TESTING and torch.cuda.is_available()`, `__doctest_skip__`), and
    a device that nothing but inputs go to, of what another package has made and placed by itself
    (`self.model = load(name)`, then `self.model(x.to(self.device))`).

    Two things go together within one function. Once `torch.cuda.is_available()` or
    `device_count()` chooses beside other accelerators there, its other uses in that function
    stay as well: a check of the device number must not pass where the choice then says no. And
    a comparison with `"cuda"` stays where the same device is compared with `"mps"` or another
    accelerator's name elsewhere in the function.

    Of a test that is given `"cuda"` and `"mps"`, each with a question that skips it, both questions stay: where MPS is, it runs
    by its own name. So does a `torch.device` that stands beside its name in the values of a test, `(torch.device("cuda", 1), "cuda:1")`.

    A package that knows MPS somewhere, or a file that does, has left MPS out where it asks for CUDA's
    type: `half = device.type == "cuda"`, a scaler, a compiler. What runs on MPS today runs there without,
    so such questions stay, `x.is_cuda` and `device == torch.device("cuda")` too, with what they open and with the scaler or
    autocast that one enables; a comparison with the type stays where it demands CUDA as well.
    One that opens nothing but calls of `torch.cuda` (`if x.is_cuda: torch.cuda.synchronize()`) is as right for any
    accelerator, and changes; but a stream stays, with the copies on it that nobody waits for.

    A package that runs on accelerators which tdev does not know, as several of its modules show (`torch.xpu.`, `torch.npu.`),
    is given devices of those as well: where nothing shows a word for CUDA or what a person typed (`torch.zeros(n,
    device=device)`, `torch.device(index)`, `x.to(0)`), torch goes on taking them, and each is reported.

    A test means CUDA's own device by its branches (`if x.is_cuda:`), which stay, as does a word that it asks for (`assert
    made["device"] == "cuda"`) and a device that a mock gives; what it demands or asserts of one that is there is answered as elsewhere.

    An arm for a torch older than any that tdev runs on (`else` of `if Version(torch.__version__) >= Version("2.4")`) stays as
    it was written: nobody gets there who has tdev. So does a handler of a `try` that falls back from `torch.amp` to
    `torch.cuda.amp`, what follows an arm for newer torches that always leaves, and what a condition asks for only on an older
    torch. A private method (`__load`) that its file never names again is left as well.

    A test says by an error which it expects that a function refuses all but CUDA (`raises(ValueError, match="only on CUDA")`):
    CUDA's device stays where the test's file gives that function one in the same way. Where it expects that CUDA's name itself is
    refused (`if not has_gpu(): with raises(RuntimeError): load(device="cuda")`), that is reported: the test has to change.

    What only a question that stays leads to stays with it: its arm, what follows where all others leave, what the variable
    opens that keeps the answer, and a function or class that nothing uses but what stays (a private one, or one that says
    CUDA in its name and that no other file names). So does what follows a call that fails wherever there is no CUDA:
    `nvidia-smi` with its status checked or its output taken apart, `nvmlInit()`, Lightning's `accelerator="cuda"`, and a
    function of the file that does so.

    A list such as `device.type in ("cuda", "xpu")` was written by somebody who thought of other
    accelerators and left some out, so it stays; `("cuda", "mps")` names all that torch and tdev
    share, and becomes the predicate.
    """,
)
NAMES = "mps|xpu|npu|hpu|mlu|musa|mtia|xla|tpu"


def refuses_beside_others(file: File, question: cst.CSTNode) -> bool:
    """Tell whether CUDA's name is refused by a question in a chain that asks for other accelerators' names, too.

    ``if device.startswith("cuda"): if not torch.cuda.is_available(): raise …``, ``elif device.startswith("mps"): …``: whoever
    reads that such a name was refused, in other files as well, relies on the question being CUDA's.
    """
    tree = file.python if "not " in file.tree.source else None
    asked = tree.at(file.tree.span(question)) if tree is not None else None
    if tree is None or asked is None:
        return False
    around = list(tree.ancestors(asked))
    match around[:4]:
        case [ast.Call(), ast.UnaryOp(), ast.If() as inner, ast.If() as link]:
            pass
        case _:
            return False
    if inner not in link.body or not refuses_without_cuda(inner):
        return False
    if re.search(r"[\"']cuda\b", ast.unparse(link.test)) is None:
        return False
    chain = link
    for above in around[4:]:
        if not isinstance(above, ast.If) or above.orelse != [chain]:
            break
        chain = above
    return any(OTHERS.search(ast.unparse(each.test)) is not None for each in links_of(chain))


def decides_beside_other_arms(file: File, node: cst.CSTNode) -> bool:
    """Tell whether ``node`` is (part of) a test with a sibling that asks for another accelerator."""
    tree = file.tree
    below: cst.CSTNode = node
    for parent in tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            if names_other(file, parent, node):
                return True
        elif isinstance(parent, cst.Call) and below is not parent.func:
            # `any([torch.cuda.is_available(), torch.backends.mps.is_available()])` is as good as `or`.
            if file.tree.text(parent.func) in ("any", "all") and names_other(file, parent, node):
                return True
        elif isinstance(parent, cst.IfExp):
            if below is parent.test and (
                names_other(file, top_choice(file, parent), node)
                or _calls_a_chooser(file, parent.orelse)
            ):
                return True
        elif isinstance(parent, cst.If):
            return below is parent.test and (
                chain_names_other(file, parent)
                or rest_is_others(file, parent)
                or _others_come_without(file, parent)
            )
        elif isinstance(parent, (cst.BaseSuite, cst.BaseSmallStatement)):
            return False
        below = parent
    return False


_STAYS = re.compile(r"between backends|\bguards what works with\b")


def beside_what_stays(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the other half of a condition stays, because its function chooses between backends, or for Horovod."""
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
        _STAYS.search(key[2]) is not None and low <= file.tree.span(found.node)[0] < high
        for key, (found, _) in file.asked.items()
    )


OF_ANY = re.compile(r"\btorch\.accelerator\.\w")


def beside_any_accelerator(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a condition asks for any accelerator, too: who wrote it meant CUDA where he said so."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation) and OF_ANY.search(file.tree.text(parent)):
            return True
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
    return False


_OF_OTHERS = re.compile(
    rf"\bdevice\(\s*[\"'](?:{NAMES})\b|\btorch\.(?:{NAMES})\.\w+\(|\bimport[ \t]+torch_(?:{NAMES})\b"
)


def _others_come_without(file: File, choice: cst.If) -> bool:
    """Tell whether ``if not torch.cuda.is_available():`` has nothing in it but a question for another accelerator: a chain, nested."""
    test, inside = choice.test, choice.body.body
    return (
        isinstance(test, cst.UnaryOperation)
        and isinstance(test.operator, cst.Not)
        and len(inside) == 1
        and isinstance(inside[0], cst.If)
        and names_other(file, inside[0].test)
    )


def rest_is_others(file: File, choice: cst.If) -> bool:
    """Tell whether the ``else`` of a test for CUDA gives another accelerator's device, calls ``torch.xpu`` or imports ``torch_npu``.

    Or has a function of the tree choose among them.
    """
    rest = choice.orelse
    return isinstance(rest, cst.Else) and (
        _OF_OTHERS.search(file.tree.text(rest)) is not None or _calls_a_chooser(file, rest)
    )


_CALLED = re.compile(r"\b(\w+)\(\)")


def _calls_a_chooser(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a function of the tree is called that asks for MPS's device itself, and what it chooses stays."""
    tree = file.options.tree
    if tree is None or not tree.device_choosers:
        return False
    return not tree.device_choosers.isdisjoint(_CALLED.findall(file.tree.text(node)))


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


def top_choice(file: File, node: cst.IfExp) -> cst.CSTNode:
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
    return OTHERS.search(SHARED_LIST.sub("", text)) is not None


def chain_names_other(file: File, node: cst.If) -> bool:
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
        if link is not node and len(link.body.body) == 1:
            # `if system() == "Darwin":` with nothing in it but a question for MPS
            tests += [each.test for each in link.body.body if isinstance(each, cst.If)]
        last = link
        link = link.orelse
    if isinstance(link, cst.Else) and isinstance(link.body, cst.IndentedBlock):
        # `else:` with nothing but another `if` in it is an `elif`
        if len(link.body.body) == 1 and isinstance(link.body.body[0], cst.If):
            tests.append(link.body.body[0].test)
    if any(_asks_otherwise(file, node, test) for test in tests if test is not node.test):
        return True
    if last is not node and node is not head:
        return False
    near = _neighbours(file, head)
    return any(_asks_otherwise(file, node, n.test) for n in near) or _others_have_left(file, head)


_KIND = re.compile(r"\b([\w.]*device_type|[\w.]*device\.type)\s*==\s*[\"'](\w+)[\"']")
_EVERYBODYS = ("cuda", "cpu", "meta", "gpu", "auto")


def _asks_otherwise(file: File, choice: cst.If, test: cst.CSTNode) -> bool:
    """Tell whether a test beside another one asks for an accelerator, or the same type for one that nobody knows."""
    if names_other(file, test):
        return True
    mine = {left for left, kind in _KIND.findall(file.tree.text(choice.test)) if kind == "cuda"}
    beside = _KIND.findall(file.tree.text(test)) if mine else []
    return any(left in mine and kind not in _EVERYBODYS for left, kind in beside)


def _neighbours(file: File, node: cst.If) -> list[cst.If]:
    parent = file.tree.parents.get(node)
    body = getattr(parent, "body", None)
    if not isinstance(body, (list, tuple)) or node not in body:
        return []
    at = list(body).index(node)
    near = [body[i] for i in (at - 1, at + 1) if 0 <= i < len(body)]
    return [n for n in near if isinstance(n, cst.If)]


_RETURNS = re.compile(rf"(?m)^[ \t]*return\b[^\n]*[\"'](?:{NAMES})\b")


def _others_have_left(file: File, choice: cst.If) -> bool:
    """Tell whether another accelerator's device is returned in the block before a choice, or right after: it is one more arm.

    ``try: if torch.backends.mps.is_available(): return model.to("mps")``. Of the whole text, since such a choice need
    not be in the engine's tree.
    """
    if _RETURNS.search(file.tree.source) is None or (tree := file.python) is None:
        return False
    asked = tree.at(file.tree.span(choice.test))
    own = next((p for p in tree.ancestors(asked) if isinstance(p, ast.If)), None) if asked else None
    block = tree.block(own) if own is not None else []
    after = block[block.index(own) + 1 :][:1] if own in block else []
    # One deeper: a torch of before it has no such module, or somebody asks for it by a variable of the environment.
    deeper = (each for each in after if isinstance(each, (ast.If, ast.Try)))
    for inside in (part for each in deeper for part in each.body):
        if isinstance(inside, ast.If) and OTHERS.search(ast.unparse(inside.test)):
            if _RETURNS.search(tree.text(inside.body)) is not None:
                return True
    for statement in block[: block.index(own)] if own in block else []:
        for before in statement.body if isinstance(statement, ast.Try) else [statement]:
            if isinstance(before, ast.If) and OTHERS.search(ast.unparse(before.test)):
                if _RETURNS.search(tree.text(before.body)) is not None:
                    return True
    return False
