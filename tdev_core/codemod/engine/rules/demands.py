"""Tells a demand for CUDA from a choice, and which demands tdev meets: one rule for every way in.

``assert torch.cuda.is_available()`` and ``if not x.is_cuda: raise …`` are how programs for CUDA begin; the
answer is yes on every backend, where what they guard is code that tdev answers. What decides is what is
guarded: code that reaches a kernel, a package, a build or a capability of CUDA's keeps its question.
Where that cannot be known, since the callee is not in the tree, the words decide (an error, a reason, a
docstring or a name that says CUDA): left and reported; under ``tdev run`` the demand is met, because the
program was started to run.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

import libcst as cst

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.guards import KERNEL_NAME, LIBRARIES
from tdev_core.codemod.engine.rules.taken import is_told_to_a_chooser
from tdev_core.codemod.engine.staying import DOUBLE
from tdev_core.codemod.engine.survey import GUARDED

DEMAND = rule(
    "demand",
    "Demands for CUDA",
    "note",
    """
    `assert torch.cuda.is_available()`, and a test that raises or ends the program where CUDA is not
    there or a tensor does not lie on it, demand CUDA instead of choosing. tdev answers for CUDA on
    every backend, the CPU too, so the demand is met there: it becomes `tdev.answers_cuda()`, or
    `tdev.answers_cuda(x)` for `x.is_cuda` and `x.device.type == "cuda"`, which asks whether `x` lies
    on the device that stands for CUDA. On CUDA both answer as before. Each is reported once.

    What decides is what is guarded, not the words. A demand stays where it guards code that only CUDA
    can run: a kernel, a compiled extension, a package for CUDA, a question about the build
    (`torch.version.hip`) or the architecture (`get_device_capability`), NVML. Where that cannot be
    known, because what is called is neither torch's nor in the tree, or is a function that the caller gives, an error, a docstring or a name
    that says CUDA or NVIDIA keeps it, and it is reported; so does the reason of a skipped test. What
    a script demands when it starts is met, and so is everything under `tdev run`.

    What follows a demand that stays is left with it.

    An error that refuses the CPU (`"the CPU is not supported"`) goes on doing so: the question becomes
    `tdev.is_accelerator(x)` or `tdev.cuda.is_available()`, which are false there. A demand before a count of CUDA's devices
    that Lightning or Ray is told stays with that.

    A demand for a number of devices stays a question where the file multiplies by one: on the CPU the product is 0,
    and the program's own words say more than what fails of it.

    A test that is skipped, and a function that returns another answer, choose: they ask
    `tdev.cuda.is_available()`, which is false on the CPU. So does a test that a flag does not fit the machine
    (`if use_cuda and not torch.cuda.is_available(): raise`, `if use_cuda: assert torch.cuda.is_available()`, the `else` of `if cpu:`,
    `if args.device == "cuda": assert torch.cuda.is_available()`): without the
    flag the program runs on the CPU, and the error says so. A demand for a number of CUDA's devices
    (`if torch.cuda.device_count() < n: raise`) stays. A test that hands CUDA's name to an assertion
    (`assertEqual(x.device.type, "cuda")`), or tries flash attention, stays as it is with its skip. So does one that computes in
    double precision, which MPS has not, one that asks for CUDA's type in code that knows MPS, and one that names no device
    where what it tries knows MPS: that chooses for itself. What a test demands at its end guards nothing, and stays.

    A count that something is divided by, or that says how many processes are started
    (`rank % torch.cuda.device_count()`, `mp.spawn(main, nprocs=torch.cuda.device_count())`), takes
    a device for granted, directly or through a variable that nothing asks whether it is 0. The CPU
    answers for one device: the count becomes `max(1, tdev.cuda.device_count())`.
    """,
)

Verdict = Literal["met", "kept"]


@dataclass(frozen=True)
class Demand:
    """A demand, or a skip, and what became of it; ``why`` is what is said where it is kept."""

    verdict: Verdict
    skips: bool
    why: str = ""

    @property
    def is_met(self) -> bool:
        """Whether it is satisfied wherever tdev runs: neither kept, nor a test that is skipped."""
        return self.verdict != "kept" and not self.skips


def demand(file: File, node: cst.CSTNode, *, negated: bool = False) -> Demand | None:
    """Judge the question ``node``: None where it chooses, and is answered for what it is.

    Args:
        negated: the question's own sense: ``x.device.type != "cuda"`` is true where CUDA is not.
    """
    tree = file.python if _may_demand(file, node) else None
    asked = tree.at(file.tree.span(node)) if tree is not None else None
    if tree is None or asked is None:
        return None
    if isinstance(asked, ast.Compare) and isinstance(asked.comparators[0], ast.Constant):
        if isinstance(asked.comparators[0].value, int):
            told = counts(asked)
            if told is None and not file.options.program and _demands_several(tree, asked):
                return Demand("kept", False, "demands a number of CUDA's devices")
            if told is None or _COUNTED.search(file.code):
                return None
            negated = not told
    found = _Guard(file, asked, not negated).find()
    if found is None:
        return None
    if not found.guarded and not found.skips and _is_what_a_test_is_for(found.home, asked):
        return Demand("kept", False, "is all that a test asserts of the machine")
    reached = "cuda" if has_kernels(file) else _reached(file, found.guarded)
    if reached != "cuda" and _asks_a_tensor(asked) and _may_reach_cuda_only(file, found.guarded):
        reached = "cuda"
    elif reached == "known" and any(DOUBLE.search(tree.text([each])) for each in found.guarded):
        reached = "unknown"  # MPS has no such numbers
    at_start = (found.at_start or _is_of_a_script(file, found)) and not found.skips
    at_start = at_start and not any(map(_makes_double, found.guarded))
    if found.home is not None:
        if _calls_back(found.home, found.guarded):
            reached = "unknown" if reached == "known" else reached
            at_start = False
        elif not found.at_start and (not found.guarded or _only_checks(found.home)):
            reached = "unknown"  # what it guards is its callers'
    if _beside_kernels(asked, tree) and not file.options.program:
        return Demand("kept", found.skips, "stands beside a flag of kernels")
    if _OF_CUDA.search(found.owner) and not file.options.program:
        return Demand("kept", found.skips, f"is asked by {found.owner}, which is CUDA's")
    if reached == "cuda":
        return Demand("kept", found.skips, "guards code that only CUDA can run")
    if found.counts and not file.options.program:
        return Demand("kept", found.skips, "demands a number of CUDA's devices")
    if not file.options.program:
        if _KERNELS_SAID.search(found.words):
            return Demand("kept", found.skips, "says that it guards kernels for CUDA")
        if _PROFILED.search(PurePath(file.filename).stem):
            return Demand("kept", found.skips, "stands in what NVIDIA's profiler looks at")
    if _OF_THE_WORD.search(found.words) and not file.options.program:
        return Demand("kept", found.skips, "asks for the word that was given")
    if _REFUSES_THE_CPU.search(found.words) and not (found.skips or file.options.program):
        return None  # any accelerator will do, and the CPU is told
    known = reached == "known" or file.options.program or at_start
    if not known and _SAYS.search(found.words):
        return Demand("kept", found.skips, "says CUDA, and what it guards is not in the tree")
    return Demand("met", found.skips)


_OF_THE_MACHINE = re.compile(r"\bcuda\.(?:is_available|device_count)\(")


def _is_what_a_test_is_for(
    home: ast.FunctionDef | ast.AsyncFunctionDef | None, asked: ast.AST
) -> bool:
    """Tell whether a test ends with a demand for CUDA: the answer is what it tries, and guards nothing."""
    if home is None or not home.name.startswith("test"):
        return False
    return _OF_THE_MACHINE.search(ast.unparse(asked)) is not None


def _makes_double(statement: ast.stmt) -> bool:
    """Tell whether something is made in double precision on a device that is named: MPS refuses that."""
    return any(
        isinstance(call, ast.Call)
        and {"device", "dtype"} <= {each.arg for each in call.keywords}
        and any(
            each.arg == "dtype" and DOUBLE.search(ast.unparse(each.value)) is not None
            for each in call.keywords
        )
        for call in ast.walk(statement)
    )


def _demands_several(tree: PythonTree, asked: ast.Compare) -> bool:
    """Tell whether the program ends where there are fewer devices than several: ``if device_count() < 2: raise``."""
    match asked.ops, asked.comparators:
        case [ast.Lt()], [ast.Constant(value=int(least))] if least > 1:
            pass
        case _:
            return False
    for parent in tree.ancestors(asked):
        if isinstance(parent, ast.If):
            return asked in ast.walk(parent.test) and _ends(parent.body) == "error"
        if not (isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.Or)):
            return False
    return False


# What two options have to agree on: "the device must be set to 'cuda'".
_OF_THE_WORD = re.compile(r"\bmust be (?:set to )?[`'\\\"]+cuda[`'\\\"]")
# "To run on the CPU is not supported", "does not support CPU", "no CPU implementation".
_REFUSES_THE_CPU = re.compile(
    r"\bcpu\b[^.!\n]{0,60}(?:\bnot\b|n't\b|\bun)[ ]?(?:be[ ]|yet[ ]|currently[ ])*(?:support|allow|implement|possible|permit|work)"
    r"|(?:\bnot|n't|\bcannot|\bcan not|\bnever|\bunable to)[ ](?:\w+[ ]){0,3}?"
    r"(?:support|run|work|train|implement|use|allow|possible|available|execute)\w*[ ](?:(?!cuda|gpu)\w+[ ]){0,4}?\bcpus?\b"
    r"|\bunsupported (?:\w+ ){0,3}?cpu\b|\bno cpu (?:support|implementation|kernel|version)",
    re.IGNORECASE,
)
# A count that is reckoned with, and is 0 on the CPU: to run there would be to fail of that.
_COUNTED = re.compile(
    r"(\w+)[ \t]*=[ \t]*(?:\w+\.)+device_count\(\)[ \t]*\n(?:[^\n]*\n)*?[^\n]*(?:\*[ \t]*\1\b|\b\1[ \t]*\*)"
    r"|\*[ \t]*(?:\w+\.)+device_count\(\)|(?<!\w)(?:\w+\.)+device_count\(\)[ \t]*\*"
)


def _beside_kernels(asked: ast.AST, tree: PythonTree) -> bool:
    """Tell whether a condition asks for kernels besides: ``if use_flash_attention and not …: raise``."""
    for parent in tree.ancestors(asked):
        if isinstance(parent, ast.BoolOp) and KERNEL_NAME.search(ast.unparse(parent)):
            return True
        if isinstance(parent, ast.stmt):
            return False
    return False


def _may_demand(file: File, node: cst.CSTNode) -> bool:
    """Tell by the nodes at hand whether a question may be a demand: Python's tree is asked then alone."""
    below = node
    for parent in file.tree.ancestors(node):
        match parent:
            case cst.Assert():
                return True
            case cst.If() if below is parent.test:
                # With nothing before an arm for no, its answer only opens an arm.
                return parent.orelse is not None or not _plainly_asks(node, parent.test)
            case cst.Call() if below is not parent.func:
                name = file.tree.text(parent.func)
                if _ASSERTS.match(name) or _SKIPS.match(name.rpartition(".")[2]):
                    return True
            case cst.IfExp() | cst.BaseSuite():
                return False
            case cst.Expr():
                return isinstance(parent.value, cst.BooleanOperation)
            case cst.BaseSmallStatement():
                return False
            case _:
                pass
        below = parent
    return False


def _plainly_asks(node: cst.CSTNode, test: cst.BaseExpression) -> bool:
    """Tell whether a test is the question itself: ``if torch.cuda.is_available():``."""
    return test is node and not isinstance(test, cst.Comparison)


def answer(file: File, asked: cst.CSTNode, reference: Reference) -> None:
    """Put tdev's answer in the place of a question whether CUDA is there, and say so."""
    if file.stays(asked):
        return
    no = False
    if isinstance(asked, cst.Comparison):
        (told,) = asked.comparisons
        if isinstance(told.comparator, cst.Name):
            no = (told.comparator.value == "False") is isinstance(
                told.operator, (cst.Equal, cst.Is)
            )
        else:
            no = isinstance(told.operator, (cst.Equal, cst.LessThan, cst.LessThanEqual))
    # `not is_available() or device_count() == 0` is one question.
    both = file.tree.parents[asked]
    both = file.tree.parents[both] if isinstance(both, cst.UnaryOperation) else both
    if isinstance(both, cst.BooleanOperation) and _asks_twice(file, both):
        denied = isinstance(both.operator, cst.Or)
        low, high = file.tree.span(both.left)[0], file.tree.span(both.right)[1]
        text = f"{'not ' if denied else ''}{file.here(asked)}.{NAME}()"
        if not file.stays(both):
            file.replace(DEMAND, low, high, text)
            file.untouched.append((file.tree.span(both.left)[1], high))
    # A call keeps its brackets, as its line was broken.
    elif isinstance(asked, cst.Call):
        file.replace_node(DEMAND, asked.func, f"{file.here(asked)}.{NAME}")
    else:
        file.replace_node(DEMAND, asked, f"{'not ' if no else ''}{file.here(asked)}.{NAME}()")
    if reference.target == "torch":
        file.want(reference.bindings)
        file.edited_roots.add(reference.root)
    file.find(DEMAND, asked, f"{reference.name} is demanded; {MET}")


_NONE = re.compile(
    r"\(?not (?:\w+\.)*cuda\.is_available\(\)\s+or\s+"
    r"(?:not (?:\w+\.)*cuda\.device_count\(\)|(?:\w+\.)*cuda\.device_count\(\) (?:== 0|< 1|<= 0))\)?"
)
_SOME = re.compile(
    r"\(?(?:\w+\.)*cuda\.is_available\(\)\s+and\s+(?:\w+\.)*cuda\.device_count\(\)(?: > 0| >= 1| != 0)?\)?"
)


def _asks_twice(file: File, both: cst.BooleanOperation) -> bool:
    """Tell whether a condition asks whether CUDA is there, and then whether it has a device."""
    text = file.tree.source[slice(*file.tree.span(both))]
    return any(each.fullmatch(text) is not None for each in (_NONE, _SOME))


NAME = "answers_cuda"
MET = "tdev answers for CUDA on every backend"

# Kernels, extensions and packages for CUDA, its build and its management library.
_REACHES = re.compile(
    rf"\b(?:import|from)[ \t]+(?:{GUARDED})\b|(?<![\w.])(?:{GUARDED})(?:\.\w+)+"
    r"|\b(?:load_inline|cpp_extension|CUDAExtension)\b|\bimport\s+\w*_cuda\b|(?<!torch)\._C\.|(?<![\w.])_C\."
    # private to torch, and not mirrored: `torch.cuda._sleep(cycles)`
    r"|\btorch\.cuda\._[a-z]\w*\("
    # of torch's own SyncBatchNorm, with kernels for CUDA alone
    r"|\btorch\.batch_norm_(?:stats|elemt|gather_stats\w*|backward_(?:reduce|elemt))\("
    r"|\b_(?:share|new_shared)_cuda_?\("
    r"|\b\w*_ext\.|\btorch\.(?:ops\.(?!aten\b|prims?\b)|classes\.\w)|CUDAExecutionProvider|\bversion\.hip\b|(?i:\bnvml)|\bnvidia_smi\."
    r"|(?i:\b\w*(?:cuda_?kernel|kernel_?cuda)\w*\.)|\b(?!\w*(?:is|use|has|to|on|no|using|answers)_cuda)\w+_cuda(?:\.\w+)*\("
)
# A launch of a kernel: `_quantize_kernel[grid](x)`.
_LAUNCHES = re.compile(r"\b\w*kernel\w*\[")
_COMMENT = re.compile(r"(?m)#.*$")


_OF_KERNELS = re.compile(r"(?:^|[/\\])(?:\w+_)?kernels?(?:\.py\Z|[/\\])")
_RUN_ON_A_GPU = re.compile(
    r"(?i:triton|cudnn|cutlass|cute_?dsl|tilelang|cublas|nvidia|gemm|autotun|fused|launch|\.jit\b)|torch\.ops\.|_C\b|_ext\b"
)


def has_kernels(file: File) -> bool:
    """Tell whether a file holds kernels for CUDA, or cannot be imported without a package for it.

    So does one in a folder of kernels, whatever they are written in; where Triton is answered for, its text alone tells.
    """
    if file.holds_kernels or _is_triton_answered(file):
        return file.holds_kernels
    named = _OF_KERNELS.search(file.filename)
    if named is None or not named[0].endswith(".py"):
        return named is not None
    # A file by itself may be called after a function of two points: `learned_kernel.py`.
    return file.in_code(_RUN_ON_A_GPU) is not None


def _is_triton_answered(file: File) -> bool:
    return "triton" in file.options.answered


def _reaches_cuda_only(file: File, guarded: list[ast.stmt]) -> bool:
    """Tell whether statements name what only CUDA has, but where an import may fail."""
    assert file.python is not None
    for statement in guarded:
        if isinstance(statement, ast.Try) and "Error" in "".join(
            ast.unparse(h.type) for h in statement.handlers if h.type is not None
        ):
            if any(isinstance(s, (ast.Import, ast.ImportFrom)) for s in statement.body):
                continue
        if file.cudas is not None and file.cudas.within(file.python.span(statement), sure=True):
            return True
        text = file.unanswered(_COMMENT.sub("", file.python.text([statement])))
        if _REACHES.search(text) or _LAUNCHES.search(text) and not _is_triton_answered(file):
            return True
        if "device_count(" in text and _tells_a_count(file, statement):
            return True
    return False


def _tells_a_count(file: File, statement: ast.stmt) -> bool:
    """Tell whether Lightning or Ray is told how many of CUDA's devices there are: there are none elsewhere."""
    return any(
        isinstance(part, ast.Call)
        and ast.unparse(part.func).endswith("cuda.device_count")
        and is_told_to_a_chooser(file, part)
        for part in ast.walk(statement)
    )


def _asks_a_tensor(asked: ast.AST) -> bool:
    """Tell whether it is a tensor that is asked, which the function goes on to compute with."""
    return isinstance(asked, ast.Attribute) and asked.attr == "is_cuda"


def _may_reach_cuda_only(file: File, guarded: list[ast.stmt]) -> bool:
    """Tell whether some way through statements comes to what only CUDA has."""
    assert file.python is not None
    python, cudas = file.python, file.cudas
    return cudas is not None and any(
        cudas.within(python.span(each), named=True) for each in guarded
    )


_SAYS = re.compile(r"cuda|nvidia|\b(?:[AHVPT]100|RTX|GeForce|Tesla|Hopper|Ampere)\b", re.IGNORECASE)
_KERNELS_SAID = re.compile(
    r"\bquantization\b|\bcuda[ _-](?:\w+[ _-])?kernel|\bkernels? (?:for|of|on) cuda"
    # of bitsandbytes: "needs a GPU for a paged or 8-bit optimizer"
    r"|(?<![a-z0-9])[48][ _-]?bit(?![a-z])"
    r"|\bfl(?:ash|ex)[ _-]?attention|\bfused[ _]\w+|\bcuda[ _-]?graphs?\b|\bm(?:egatron[ -]?)?core\b|\bnsight\b|\bcuda[ _]profiler\b",
    re.IGNORECASE,
)
_EIGHT_BITS = re.compile(r"(?<![a-z0-9])[48][ _-]?bit(?![a-z])")
# NVIDIA's profilers, after which the programs are named that they look at.
_PROFILED = re.compile(r"(?:^|_)(?:nsys|nsight|nvprof|ncu)(?:_|\Z)")
_OF_CUDA = re.compile(r"CUDA|Cuda(?!Test)|NVIDIA|Nvidia")
_EXITS = re.compile(
    r"(?:sys\.|os\.)?_?(?:exit|quit|abort)\Z|(?:\w+\.)*(?:fatal|error_exit|\w+_and_(?:exit|die))\Z"
)
_SKIPS = re.compile(r"(?:\w+\.)*(?:skip\w*|SkipTest|Skipped)\Z", re.IGNORECASE)
_ASSERTS = re.compile(r"(?:\w+\.)*(?:assertTrue|_assert|_check|_check_\w+)\Z")
_STARTS = re.compile(r"(?:main|run|train|setup|cli|worker|demo\w*|run_\w+|train_\w+|main_\w+)\Z")


@dataclass(frozen=True)
class _Found:
    guarded: list[ast.stmt]
    words: str
    skips: bool
    at_start: bool
    owner: str
    """The class around the question, or nothing."""
    home: ast.FunctionDef | ast.AsyncFunctionDef | None
    counts: bool
    """Whether what is guarded begins with a demand for a number of CUDA's devices."""


class _Guard:
    """Looks for what ends where a question is answered with no, and what that guards."""

    def __init__(self, file: File, asked: ast.AST, yes: bool) -> None:
        assert file.python is not None
        self._tree = file.python
        self._runs = file.options.program
        self._asked = asked
        self._yes = yes

    def find(self) -> _Found | None:
        below, yes = self._asked, self._yes
        for parent in self._tree.ancestors(below):
            match parent:
                case ast.UnaryOp(op=ast.Not()):
                    yes = not yes
                case ast.Compare(left=left) if below is left:
                    told = counts(parent)
                    if told is None:
                        return None
                    yes = yes == told
                case ast.Call(func=func) if below is func:
                    pass
                case ast.Call():
                    name = ast.unparse(parent.func)
                    if _SKIPS.match(name.rpartition(".")[2]):
                        return self._decorated(parent)
                    if _ASSERTS.match(name) and yes:
                        return self._after(parent, ast.unparse(parent))
                    if name not in ("bool", "all", "any"):
                        return None
                case ast.BoolOp(op=ast.Or(), values=[*_, last]) if below is not last and yes:
                    if isinstance(last, ast.Call) and _EXITS.match(ast.unparse(last.func)):
                        return self._after(parent, ast.unparse(last))
                case ast.BoolOp():
                    pass
                case ast.GeneratorExp(elt=elt) | ast.ListComp(elt=elt) if below is elt:
                    pass
                case ast.Assert(test=test, msg=msg) if below is test:
                    words = ast.unparse(msg) if msg is not None else ""
                    asks = yes and not self._is_under_a_flag(parent)
                    return self._after(parent, words) if asks else None
                case ast.If(test=test) if below is test:
                    return self._branch(parent, yes)
                case _:
                    return None
            below = parent
        return None

    def _branch(self, choice: ast.If, yes: bool) -> _Found | None:
        """An ``if`` whose arm for no ends the program or raises."""
        arm = choice.orelse if yes else choice.body
        if not arm or len(arm) == 1 and isinstance(arm[0], ast.If):
            return None
        ends = _ends(arm)
        words = "\n".join(map(ast.unparse, arm))
        if (said := _EIGHT_BITS.search(ast.unparse(choice.test))) is not None:
            words += f"\n{said[0]}"
        if ends is None or ends == "return" and not self._gives_up(choice, words):
            return None
        # A program that was started to run goes on whatever its flags are.
        asks = _asks_of_the_machine(self._asked) and not self._runs
        if ends == "error" and asks and not yes:
            if _is_of_a_flag(choice.test) or self._is_under_a_flag(choice):
                return None
        if yes:
            if any("device_count(" in ast.unparse(each) for each in choice.body):
                return None  # how many there are answers it, too, and none are no error then
            if not self._runs and self._is_a_way_of_several(choice):
                return None
            return self._made(choice, choice.body, words, ends == "skip")
        return self._after(choice, words, ends == "skip", choice.orelse)

    def _is_under_a_flag(self, statement: ast.stmt) -> bool:
        """Tell whether what a person has chosen leads to a demand, which then is whether it fits the machine: ``if args.cuda: assert …``."""
        around = next(self._tree.ancestors(statement), None)
        if self._runs or not (_asks_of_the_machine(self._asked) and isinstance(around, ast.If)):
            return False
        if statement in around.body:
            return _is_chosen(around.test)
        return statement in around.orelse and _is_chosen_against(around.test)

    def _is_a_way_of_several(self, choice: ast.If) -> bool:
        """Tell whether a flag leads here, and to the CPU where it is not set: ``if use_cuda: … else: device = "cpu"``.

        Such a program needs no CUDA; it tells that the flag does not fit the machine.
        """
        around = next(self._tree.ancestors(choice), None)
        return (
            isinstance(around, ast.If)
            and isinstance(around.test, (ast.Name, ast.Attribute))
            and choice in around.body
            and any(
                isinstance(part, ast.Constant) and part.value == "cpu"
                for other in around.orelse
                for part in ast.walk(other)
            )
        )

    def _counts_next(self, guarded: list[ast.stmt]) -> bool:
        """Tell whether what follows demands a number of CUDA's devices: ``if device_count() < n: raise …``."""
        return (
            bool(guarded)
            and isinstance(guarded[0], ast.If)
            and _NUMBER.search(ast.unparse(guarded[0].test)) is not None
            and _ends(guarded[0].body) == "error"
        )

    def _gives_up(self, choice: ast.If, words: str) -> bool:
        """Tell whether a bare ``return`` is the end of the program: it says why, where that starts."""
        home = self._home(choice)
        starts = home is not None and _STARTS.match(home.name) is not None
        return starts and re.search(r"cuda|gpu|nvidia", words, re.IGNORECASE) is not None

    def _after(
        self, node: ast.AST, words: str, skips: bool = False, also: list[ast.stmt] | None = None
    ) -> _Found:
        """Yield what follows in the block, and in the blocks around it up to the function."""
        guarded = list(also or ())
        here: ast.AST = node
        for parent in (node, *self._tree.ancestors(node)):
            block = self._tree.block(parent)
            if block:
                assert isinstance(parent, ast.stmt)
                guarded += block[block.index(parent) + 1 :]
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if parent is not here:
                    # what follows the function itself is not behind the question
                    guarded = [s for s in guarded if s not in block[block.index(parent) + 1 :]]
                break
            here = parent
        return self._made(node, guarded, words, skips)

    def _decorated(self, call: ast.Call) -> _Found | None:
        """``@skipIf(not …, reason)``, or ``needs_cuda = pytest.mark.skipif(…)``."""
        words = ast.unparse(call)
        for parent in self._tree.ancestors(call):
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inside = call in {n for d in parent.decorator_list for n in ast.walk(d)}
                return self._made(call, [parent] if inside else [], words, True)
            if isinstance(parent, ast.stmt):
                return self._made(call, list(self._tree.module.body), words, True)
        return None

    def _home(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        for parent in self._tree.ancestors(node):
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return parent
        return None

    def _made(self, node: ast.AST, guarded: list[ast.stmt], words: str, skips: bool) -> _Found:
        home = self._home(node)
        start = home is None or _STARTS.match(home.name) is not None
        if home is not None:
            words = f"{words}\n{home.name}\n{ast.get_docstring(home) or ''}"
        classes = (p for p in self._tree.ancestors(node) if isinstance(p, ast.ClassDef))
        owner = next((c.name for c in classes), "")
        counts = self._counts_next(guarded)
        return _Found(guarded, words, skips, start, owner, home, counts)


def _asks_of_the_machine(asked: ast.AST) -> bool:
    """Tell whether a question is not about a type or a word: ``torch.cuda.is_available() is False`` is as good as the call."""
    return not isinstance(asked, ast.Compare) or (
        isinstance(asked.comparators[0], ast.Constant)
        and isinstance(asked.comparators[0].value, int)  # a bool is one
    )


_NUMBER = re.compile(r"\bdevice_count\(\) < (?!\d)|(?<!\d) > (?:\w+\.)+device_count\(\)")


def _is_of_a_flag(test: ast.expr) -> bool:
    """Tell whether a test tells that a flag does not fit the machine: ``if use_cuda and not torch.cuda.is_available():``.

    Where it is not set the program runs without CUDA, so that it demands none.
    """
    return (
        isinstance(test, ast.BoolOp)
        and isinstance(test.op, ast.And)
        and any(_is_a_flag(each) for each in test.values)
    )


def _is_a_flag(test: ast.expr) -> bool:
    """Tell whether a test is a flag for CUDA, or asks for what other packages call it: ``accelerator == "gpu"``."""
    match test:
        case ast.Name() | ast.Attribute():
            return _FLAG.search(ast.unparse(test)) is not None
        case ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value="gpu" | "GPU")]):
            return True
        case _:
            return False


_FLAG = re.compile(
    r"(?:^|[._])(?:(?:use|enable|with)_)?(?:(?:cuda|gpu|ddp|nccl|\w*parallel|\w*distributed|\w*backend)s?"
    # what is done on CUDA besides, `cuda_sync`, and no number, size or path
    r"|(?:cuda|gpu)_(?:\w+_)?(?:sync|synchronize|enabled?|available|required|only|timing|timer|profiling|acceleration|support))\Z",
    re.IGNORECASE,
)
# `if cpu: … else: assert …`
_AGAINST = re.compile(
    r"(?:^|[._])(?:(?:use|force|on|run_on)_)?cpu(?:_only)?\Z|(?:^|[._])(?:no|disable|without)_(?:cuda|gpu)s?\Z",
    re.IGNORECASE,
)
# A word that was asked for, and no device's type: `"cuda" in os.environ["DEVICE"]`.
_WORD = re.compile(r"cuda(?::\d+)?\Z")


def _is_chosen(test: ast.expr) -> bool:
    """Tell whether a test is a flag for CUDA, or asks for its name: the program runs without it as well."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_chosen_against(operand)
        case ast.Name() | ast.Attribute():
            return _FLAG.search(ast.unparse(test)) is not None
        case (
            ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=str(word))])
            | ast.Compare(left=ast.Constant(value=str(word)), ops=[ast.In()], comparators=[left])
            | ast.Call(
                func=ast.Attribute(value=left, attr="startswith"),
                args=[ast.Constant(value=str(word))],
            )
        ):
            of_a_device = isinstance(left, ast.Attribute) and left.attr == "type"
            return not of_a_device and _WORD.match(word) is not None
        case _:
            return False


def _is_chosen_against(test: ast.expr) -> bool:
    """Tell whether a test is a flag for the CPU, or that none for CUDA is set."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_chosen(operand)
        case ast.Name() | ast.Attribute():
            return _AGAINST.search(ast.unparse(test)) is not None
        case _:
            return False


_CALLBACK = re.compile(r"(?:fn|func|function|callback|callable_?)\Z")


def _is_of_a_script(file: File, found: _Found) -> bool:
    """Tell whether a check is a program's own: ``require_cuda(device)``, which nothing but its start calls."""
    home, python = found.home, file.python
    if home is None or python is None or not _only_checks(home):
        return False
    if not any(
        isinstance(s, ast.If) and "__name__" in ast.unparse(s.test) for s in python.module.body
    ):
        return False
    calls = [
        node
        for node in ast.walk(python.module)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == home.name
    ]
    around = (
        next((p for p in python.ancestors(call) if isinstance(p, ast.FunctionDef)), None)
        for call in calls
    )
    return bool(calls) and all(p is None or _STARTS.match(p.name) for p in around)


def _calls_back(home: ast.FunctionDef | ast.AsyncFunctionDef, guarded: list[ast.stmt]) -> bool:
    """Tell whether what is guarded runs, or hands on, a function that the caller gives: it may be anything."""
    given = {
        each.arg
        for each in (*home.args.posonlyargs, *home.args.args, *home.args.kwonlyargs)
        if _CALLBACK.match(each.arg)
        or each.annotation is not None
        and "Callable" in ast.unparse(each.annotation)
    }
    return bool(given) and any(
        isinstance(node, ast.Name) and node.id in given
        for statement in guarded
        for node in ast.walk(statement)
    )


_CHECK = re.compile(r"_?(?:validate|check|verify|ensure|require)(?:_|\Z)")


def _only_checks(home: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function is there to check what it is given, by its name and by what it does."""
    if _CHECK.match(home.name) is None:
        return False
    return all(
        isinstance(each, (ast.If, ast.Assert, ast.Assign, ast.Expr, ast.Raise, ast.Return, ast.For))
        for each in home.body
    )


def counts(node: ast.Compare) -> bool | None:
    """Tell what a comparison of a count, or of an answer, says of there being any; None where it asks for a number."""
    if len(node.ops) != 1 or not isinstance(node.comparators[0], ast.Constant):
        return None
    match node.ops[0], node.comparators[0].value:
        case (ast.Gt() | ast.NotEq(), 0) | (ast.GtE(), 1):
            return True
        case (ast.Eq() | ast.LtE(), 0) | (ast.Lt(), 1):
            return False
        case (ast.Is() | ast.Eq(), bool() as said):
            return said
        case (ast.IsNot() | ast.NotEq(), bool() as said):
            return not said
        case _:
            return None


def _ends(arm: list[ast.stmt]) -> Literal["error", "skip", "return"] | None:
    """Tell how an arm ends the program, the test or the function; None where it does not."""
    match arm[-1]:
        case ast.Raise(exc=ast.Call(func=made)) | ast.Raise(exc=made) if made is not None:
            return "skip" if _SKIPS.match(ast.unparse(made)) else "error"
        case ast.Raise():
            return "error"
        case ast.Expr(value=ast.Call(func=func)):
            name = ast.unparse(func)
            if _EXITS.match(name):
                return "error"
            return "skip" if _SKIPS.match(name.rpartition(".")[2]) else None
        case ast.Return(value=None):
            return "return"
        case _:
            return None


def _reached(file: File, guarded: list[ast.stmt]) -> Literal["cuda", "known", "unknown"]:
    """Tell what statements reach, through the functions of the file that they call.

    ``unknown`` where something is called that is neither torch's, nor a library's, nor in the tree.
    """
    if _reaches_cuda_only(file, guarded):
        return "cuda"
    assert file.python is not None
    imported, defined = file.python.names
    unknown = False
    todo: list[ast.stmt] = list(guarded)
    seen: set[str] = set()
    while todo:
        for node in ast.walk(todo.pop()):
            if not isinstance(node, ast.Call):
                continue
            root: ast.expr = node.func
            last = root.attr if isinstance(root, ast.Attribute) else ""
            while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
                root = root.func if isinstance(root, ast.Call) else root.value
            if not isinstance(root, ast.Name):
                continue
            name = last if root.id in ("self", "cls") and last else root.id
            if name in imported and imported[name].startswith("torch.utils.cpp_extension"):
                return "cuda"
            if name in imported:
                unknown = unknown or not _is_known(file, imported[name])
            elif name in defined and name not in seen:
                seen.add(name)
                if _reaches_cuda_only(file, [defined[name]]):
                    return "cuda"
                todo.append(defined[name])
    return "unknown" if unknown else "known"


def _is_known(file: File, module: str) -> bool:
    """Tell whether a module is one that runs wherever torch does, or one of the tree's without kernels."""
    top = module.split(".")[0]
    if top in LIBRARIES or top in sys.stdlib_module_names:
        return True
    tree = file.options.tree
    parts = [part for part in module.split(".") if part]
    if tree is None or not parts:
        return False
    return (not top or top in tree.modules) and not any(part in tree.kernels for part in parts)
