"""Decides what has to stay CUDA's, because something around it does."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import descendants, dotted, string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.accelerator.elsewhere import why_elsewhere_fails
from tdev_core.codemod.engine.rules.accelerator.questions import asks_for_type
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.guards import after_early_exit, availability_guards


class Stay:
    """The part of a file that stays CUDA's: questions whether it is there, and strings that name it."""

    def __init__(self, file: File, chosen: dict[cst.CSTNode, str]) -> None:
        self.file = file
        self.chosen = chosen
        """The questions that choose beside other accelerators, and what is said of them."""
        self.strings: set[cst.CSTNode] = set()
        self._why: dict[cst.CSTNode, str | None] = {}

    def why(self, node: cst.CSTNode) -> str | None:
        """Why a reference that asks for CUDA has to, if it has to."""
        if node not in self._why:
            self._why[node] = self.chosen.get(node) or why_asked_of_cuda(self.file, node)
        return self._why[node]

    def in_string(self, node: cst.CSTNode) -> bool:
        """Tell whether ``node`` is a part of a string that stays, and is answered for by it."""
        return any(parent in self.strings for parent in self.file.tree.ancestors(node))

    def holds(self, node: cst.CSTNode) -> bool:
        """Tell whether ``node`` is a part of something that stays."""
        return self.in_string(node) or inside_a_gap(self.file, node)


ADVICE = {
    "torch.cuda.manual_seed": "torch.manual_seed seeds every accelerator already",
    "torch.cuda.manual_seed_all": "torch.manual_seed seeds every accelerator already",
    "torch.cuda.amp.autocast": "use torch.autocast(device.type) of the device at hand",
    "torch.cuda.amp.GradScaler": "use torch.amp.GradScaler(device.type) of the device at hand",
}
# Without an accelerator torch.cuda's answer nothing or 0, where torch.accelerator's raise.
QUIET = frozenset(
    f"torch.cuda.{name}"
    for name in (
        "empty_cache",
        "max_memory_allocated",
        "max_memory_cached",
        "max_memory_reserved",
        "memory_allocated",
        "memory_cached",
        "memory_reserved",
        "memory_stats",
    )
)
_Text = cst.FormattedStringText
_ANSWERS = frozenset({"torch.cuda.is_available", "torch.cuda.device_count"})
_SAYS_CUDA = re.compile(r"(?<![.\w])cuda(?!\.?\w)", re.IGNORECASE)
_SAYS_GPU = re.compile(r"cuda|accelerator|gpu", re.IGNORECASE)
# A function or class of the program's own that is called after CUDA.
_NAMED = re.compile(r"(?!(?:is|use|has|to|on|no|using)_cuda)\w*cuda", re.IGNORECASE)
_BUILT = re.compile(r"\bversion\.(?:cuda|hip)\b|\bbackends\.cuda\b")
# torch.nn.DataParallel, which spreads over CUDA's devices alone; not DistributedDataParallel.
_DATA_PARALLEL = re.compile(r"(?<!distributed)(?<!distributed_)data_?parallel", re.IGNORECASE)
_TESTS = re.compile(r"skip|xfail|require", re.IGNORECASE)


def known(name: str, file: File) -> str | None:
    """Return the part of a dotted name that has a generic equivalent."""
    while name.count(".") >= 2:
        if name in file.names.accelerator:
            return name
        name = name.rpartition(".")[0]
    return None


def why_asked_of_cuda(file: File, node: cst.CSTNode) -> str | None:
    """Why ``torch.cuda.is_available`` or ``device_count`` has to be asked of CUDA, if it has to.

    Said to be there on every accelerator, CUDA would be asked for where there is none. The answer
    decides about the arm or the operand behind it, about what follows an early ``return``, and,
    kept in a variable, about what the variable decides.
    """
    guarded = availability_guards(file, node)
    if guarded is not None:
        return f"guards {guarded}"
    if met := why_elsewhere_fails(file, node):
        return met
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.If, cst.IfExp)):
            if below is not parent.test:
                return None
            if (named := _class_beside_others(file, parent)) != "":
                return f"decides for {named}, beside which other accelerators have their own"
            arg = file.tree.parents[parent]
            if isinstance(arg, cst.Arg) and (why := _anothers_switch(file, arg)):
                return why
            named = (
                "" if isinstance(parent, cst.If) else file.tree.text(file.tree.statement(parent))
            )
            if _LIGHTNINGS.search(named or file.tree.text(parent.body)):
                return 'decides for "gpu", which is CUDA or MPS to Lightning: accelerator="auto" takes any'
            return _gap if _decides(file, parent) else None
        if isinstance(parent, cst.BooleanOperation):
            if _DATA_PARALLEL.search(file.tree.text(parent)):
                return "stands beside a question about DataParallel, which is CUDA's"
            if _compares(file, parent):
                return 'stands beside a comparison with "cuda", which stays'
            if _has_gap(file, parent):
                return _gap
        elif isinstance(parent, cst.Assert):
            said = file.tree.text(parent.msg) if parent.msg is not None else ""
            return _assertion if below is parent.test and _SAYS_CUDA.search(said) else None
        elif isinstance(parent, cst.Raise):
            return _assertion if _is_gap(file, parent) else None
        elif isinstance(parent, cst.Arg):
            if why := _anothers_switch(file, parent):
                return why
        elif isinstance(parent, cst.Call) and below is not parent.func:
            if _TESTS.search(dotted(parent.func) or "") and _SAYS_CUDA.search(
                file.tree.text(parent)
            ):
                return _assertion
        elif isinstance(parent, (cst.Assign, cst.AnnAssign, cst.NamedExpr)):
            return _gap if _decides_a_gap(file, parent) else None
        elif isinstance(parent, cst.Return):
            home = enclosing_function(file, parent) or file.tree.module
            return _gap if any(_is_gap(file, n) for n in descendants(home)) else None
        below = parent
    return None


_LIGHTNINGS = re.compile(r"accelerator[\"'\]]*\s*[=:]\s*[\"']gpu[\"']")
_OF_CUDA = re.compile(r"(?:^|_)(?:cuda|gpu)(?:_|$)", re.IGNORECASE)


_CLASS = re.compile(r"\b([A-Za-z]*?)(GPU|CUDA|Gpu|Cuda)([A-Z]?[a-z]*)\(")


def _class_beside_others(file: File, choice: cst.If | cst.IfExp) -> str:
    """Return the class of a backend that a choice makes where the file names those of others: ``DeviceGPU()``."""
    for found in _CLASS.finditer(file.tree.text(choice.body)):
        others = rf"\b{found[1]}(?:MPS|XPU|HPU|TPU|NPU|Mps|Xpu|Hpu|Tpu|Npu){found[3]}\b"
        if re.search(others, file.tree.source):
            return found.group()[:-1]
    return ""


def _anothers_switch(file: File, arg: cst.Arg) -> str:
    """Why an answer stays that is handed to other code under CUDA's name: ``Kmeans(gpu=…)`` of faiss."""
    if arg.keyword is None or not _OF_CUDA.search(arg.keyword.value) or _of_torch(file, arg):
        return ""
    return f"answers for {arg.keyword.value}, as a program that is not torch calls it"


def _of_torch(file: File, arg: cst.Arg) -> bool:
    """Tell whether an argument goes to torch, or to what the program itself defines."""
    call = file.tree.parents[arg]
    if not isinstance(call, cst.Call):
        return True
    if file.resolver.torch_name(call.func) is not None:
        return True
    if not isinstance(call.func, cst.Name):
        return False
    bindings = file.scopes.of(call).lookup(call.func.value)
    return any(isinstance(b.node, (cst.FunctionDef, cst.ClassDef)) for b in bindings)


_gap = "guards names that only CUDA has; left as it is"
_assertion = "belongs to an assertion that says it is about CUDA; left as it is"


def _decides(file: File, choice: cst.If | cst.IfExp) -> bool:
    """Tell whether a choice decides about such a name, in its arms or after an early exit."""
    if _has_gap(file, choice):
        return True
    later = after_early_exit(file, choice) if isinstance(choice, cst.If) else None
    block = getattr(file.tree.parents.get(choice), "body", ())
    if later is None or not isinstance(block, (list, tuple)):
        return False
    return any(file.tree.span(n)[0] >= later[0] and _has_gap(file, n) for n in block)


def _decides_a_gap(file: File, node: cst.Assign | cst.AnnAssign | cst.NamedExpr) -> bool:
    """Tell whether the variable that keeps an answer decides about such a name."""
    target = node.targets[0].target if isinstance(node, cst.Assign) else node.target
    name = dotted(target)
    home: cst.CSTNode = enclosing_function(file, node) or file.tree.module
    if name is None:
        return _has_gap(file, home)
    if "." in name:
        owner = (p for p in file.tree.ancestors(node) if isinstance(p, cst.ClassDef))
        home = next(owner, home)
    used = re.compile(rf"(?<![.\w]){re.escape(name)}(?!\w)")
    for choice in descendants(home):
        if isinstance(choice, (cst.If, cst.IfExp)):
            if used.search(file.tree.text(choice.test)):
                if _decides(file, choice):
                    return True
        elif isinstance(choice, cst.BooleanOperation):
            if used.search(file.tree.text(choice)) and _has_gap(file, choice):
                return True
    return False


def _has_gap(file: File, node: cst.CSTNode) -> bool:
    """Tell whether something at or below ``node`` is CUDA's alone, and will stay so."""
    if _BUILT.search(file.tree.text(node)):
        return True
    return any(_is_gap(file, n) for n in descendants(node))


def _is_gap(file: File, node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Call):
        name = file.resolver.torch_name(node.func)
        if name is not None:
            if not name.startswith("torch.cuda."):
                return "cuda" in name  # torch._inductor.cudagraph_mark_step_begin
            # Seeding is harmless where there is no CUDA; streams are looked at by themselves.
            return is_gap_name(file, name) and name not in ADVICE and name != "torch.cuda.stream"
        own = (dotted(node.func) or "").rpartition(".")[2]
        return own != "cuda" and _NAMED.match(own) is not None
    if isinstance(node, cst.Arg):
        # A function of the file's own, handed on to what will call it.
        own = node.value.value if isinstance(node.value, cst.Name) else ""
        if _NAMED.match(own) is None:
            return False
        return re.search(rf"^[ \t]*def {own}\(", file.tree.source, re.MULTILINE) is not None
    if isinstance(node, cst.Raise):
        # Its message, not its code: that changes with what is looked at here.
        said = (n.value for n in descendants(node) if isinstance(n, (cst.SimpleString, _Text)))
        return any("cuda" in text.lower() for text in said)
    if isinstance(node, cst.Attribute):
        return node.attr.value == "CUDA"  # ProfilerActivity.CUDA
    if isinstance(node, cst.SimpleString):
        # A key or an option (`"self_cuda_time_total"`), not a message and not a device.
        value = string_value(node) or ""
        if "cuda" not in value or any(c.isspace() for c in value):
            return False
        return re.fullmatch(r"cuda:?(\d+|%[ds]|\{\w*\})?", value) is None
    return False


def is_gap_name(file: File, name: str) -> bool:
    """Tell whether this is a name of torch's that has no generic equivalent."""
    if name.startswith("torch._C._cuda"):
        return True
    return name.startswith("torch.cuda.") and known(name, file) is None


def _compares(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a test asks besides whether something is CUDA's."""
    for part in descendants(node):
        if isinstance(part, cst.Comparison) and asks_for_type(file, part) is None:
            operands = (part.left, *(t.comparator for t in part.comparisons))
            if any("cuda" in (string_value(s) or "") for o in operands for s in descendants(o)):
                return True
        if isinstance(part, cst.Attribute) and part.attr.value == "is_cuda":
            return True
    return False


def inside_a_gap(file: File, node: cst.CSTNode) -> bool:
    """Tell whether ``node`` is an argument of something that stays CUDA's, or behind a test for such."""
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Call) and below is not parent.func:
            if is_gap_name(file, file.resolver.torch_name(parent.func) or ""):
                return True
        elif isinstance(parent, (cst.If, cst.IfExp)) and below is parent.body:
            if _calls_gap(file, parent.test) or _CUDAS_ARM.search(file.tree.text(parent.test)):
                return True
        elif isinstance(parent, cst.DictElement) and string_value(parent.key) == "cuda":
            return True  # one entry of a table of backends
        elif isinstance(parent, cst.ClassDef):
            return _CUDAS_CLASS.search(parent.name.value) is not None
        below = parent
    return False


# An arm that only CUDA reaches, and a class that is CUDA's among those of other backends.
_CUDAS_ARM = re.compile(
    r"(?<!not )(?<!\w)(?:\w+\.)*is_(?:torch_)?cuda_available\(|\A(?:self\.)?is_cuda\Z"
)
_CUDAS_CLASS = re.compile(r"^(?:CUDA|Cuda)|(?:CUDA|Cuda)(?:Accelerator|Platform|Backend|Device)")


def _calls_gap(file: File, test: cst.BaseExpression) -> bool:
    return any(
        isinstance(n, cst.Call) and is_gap_name(file, file.resolver.torch_name(n.func) or "")
        for n in descendants(test)
    )


def needs_an_accelerator(file: File, node: cst.CSTNode) -> bool:
    """Tell whether ``node`` is only reached where there is an accelerator, as far as its function tells.

    A test for it stands around it or before it, or the code beside it fails without one.
    """
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.If, cst.IfExp, cst.While)):
            if _SAYS_GPU.search(file.tree.text(parent.test)):
                return True
        elif isinstance(parent, cst.BooleanOperation):
            if _SAYS_GPU.search(file.tree.text(parent.left)):
                return True
        elif isinstance(parent, cst.With):
            if any(_SAYS_GPU.search(file.tree.text(item)) for item in parent.items):
                return True
        elif isinstance(parent, cst.ExceptHandler):
            if parent.type is not None and "OutOfMemory" in file.tree.text(parent.type):
                return True
        elif isinstance(parent, (cst.IndentedBlock, cst.Module)):
            if any(_demands(file, s, node) for s in parent.body):
                return True
        elif isinstance(parent, (cst.FunctionDef, cst.Lambda)):
            return False
    return False


def _demands(file: File, statement: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Tell whether a statement beside ``node`` fails, or leaves the block, where there is no CUDA."""
    if isinstance(statement, cst.If):
        if file.tree.span(statement)[1] > file.tree.span(node)[0]:
            return False
        asked = _SAYS_GPU.search(file.tree.text(statement.test)) is not None
        return asked and after_early_exit(file, statement) is not None
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    if isinstance(statement.body[0], cst.Assert):
        return _SAYS_GPU.search(file.tree.text(statement)) is not None
    for part in descendants(statement):
        if isinstance(part, (cst.IfExp, cst.BooleanOperation, cst.Lambda)):
            return False
        if isinstance(part, cst.Call):
            name = file.resolver.torch_name(part.func)
            if name is None:
                continue  # `x.cuda()` will not fail any more: it becomes a move to no accelerator
            if name.startswith("torch.cuda.") and name not in QUIET | _ANSWERS | ADVICE.keys():
                return known(name, file) is not None
    return False
