"""``--target accelerator``: device literals, moves, and what a guard says about them."""

from __future__ import annotations

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.literals import in_default, is_device_word
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.arms import decides_beside_other_arms
from tdev_core.codemod.engine.tree import string_value

ACCELERATOR = rule(
    "accelerator",
    "Generic APIs instead of CUDA's (`--target accelerator`)",
    None,
    """
    Rewrites to `torch.accelerator` and other generic names, with no dependency on tdev:

    - `torch.cuda.synchronize()` becomes `torch.accelerator.synchronize()`, and so on for every
      name that has an equivalent in torch 2.13 (the table is checked against the installed
      torch when it is generated). Keyword arguments become positional where the generic
      function takes them only so.
    - `.cuda()` becomes `.to(torch.accelerator.current_accelerator())`, which also does the
      right thing where there is none (`.to(None)` stays on the CPU); a literal in
      `.to("cuda")`, `device="cuda"` or `torch.device("cuda")` becomes the same expression.
    - a string that is chosen by `torch.cuda.is_available()` stays a string:
      `"cuda" if torch.cuda.is_available() else "cpu"` becomes
      `torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else
      "cpu"`.
    - `torch.device(f"cuda:{rank}")` and `torch.device("cuda", rank)` take the type from the
      current accelerator and keep the index.
    - `with torch.cuda.stream(s)` becomes `with s`, when `s` is certainly a stream and the file
      hands no stream to CUDA graphs or to other code that wants CUDA's own class.
    - `torch.cuda.is_available()` stays when it guards a name that only CUDA has
      (`torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU"`).

    Import forms: references through `import torch`, `import torch as th`, `import torch.cuda`;
    and `from torch.cuda import synchronize` when every name of the statement exists in
    `torch.accelerator` under the same name.
    """,
)

GAP = rule(
    "accelerator-gap",
    "CUDA names without a generic equivalent (`--target accelerator`)",
    "warning",
    """
    What torch 2.13 has no generic spelling for is left as it is and listed: names without an
    equivalent, arguments that the equivalent does not take, `"cuda"` in variables and defaults
    that no availability test guards, autocast's and GradScaler's device type (which has to be
    the type of the device at hand), and `"nccl"`.
    """,
)


def _current(file: File, node: cst.CSTNode) -> str | None:
    """``torch.accelerator.current_accelerator()`` as it is spelled at ``node``."""
    scope = file.scopes.of(node)
    for name in ("torch", *file._torch_names()):
        found = file.resolver.imported(scope, name)
        if found is not None and found[0] == "torch":
            return f"{name}.accelerator.current_accelerator()"
    return None


def move(file: File, node: cst.Call) -> None:
    func = node.func
    if not isinstance(func, cst.Attribute) or func.attr.value != "cuda":
        return
    if file.resolver.torch_name(func) is not None or _own_method(file, func):
        return
    current = _current(file, node)
    positional = [a for a in node.args if a.keyword is None or a.keyword.value == "device"]
    if any(a.star for a in node.args) or len(positional) > 1 or current is None:
        file.find(GAP, node, ".cuda() with these arguments")
        return
    if positional:
        if not isinstance(positional[0].value, cst.Integer) or positional[0].keyword is not None:
            file.find(GAP, node, ".cuda(device): say .to(...) with the device that is meant")
            return
        file.replace_node(ACCELERATOR, func.attr, "to")
        return
    start = file.tree.span(func.attr)[0]
    end = file.tree.source.index("(", file.tree.span(func.attr)[1]) + 1
    file.replace(ACCELERATOR, start, end, f"to({current}" + (", " if node.args else ""))


def _own_method(file: File, func: cst.Attribute) -> bool:
    """``self.cuda()`` in a class that defines it."""
    if not isinstance(func.value, cst.Name) or func.value.value != "self":
        return False
    for parent in file.tree.ancestors(func):
        if isinstance(parent, cst.ClassDef):
            return any(
                isinstance(s, cst.FunctionDef) and s.name.value == "cuda" for s in parent.body.body
            )
    return False


def nccl(file: File, node: cst.Call) -> None:
    if any(string_value(a.value) == "nccl" for a in node.args):
        name = file.resolver.torch_name(node.func) or ""
        if name.startswith("torch.distributed."):
            file.find(GAP, node, "without the backend, torch picks the accelerator's own")


_TYPES = frozenset({"device_type", "type"})


def literal(file: File, node: cst.BaseExpression) -> None:
    parent = file.tree.parents[node]
    current = _current(file, node)
    guarded = _guarded(file, node)
    if guarded == "other":
        return
    if guarded and current is not None and _plain_or_f(node):
        _as_string(file, node, current)
        return
    if isinstance(parent, cst.Arg):
        _argument(file, node, parent, current)
    elif isinstance(parent, (cst.Assign, cst.AnnAssign, cst.Param)) or isinstance(
        parent, (cst.IfExp, cst.BooleanOperation, cst.Return)
    ):
        if _holds_device(file, node, parent):
            file.find(GAP, node, f"{file.tree.text(node)} with nothing that says it is available")


def _holds_device(file: File, node: cst.CSTNode, parent: cst.CSTNode) -> bool:
    if isinstance(parent, cst.Assign):
        return any(is_device_word(t.target) for t in parent.targets)
    if isinstance(parent, cst.AnnAssign):
        return is_device_word(parent.target)
    if isinstance(parent, cst.Param):
        return parent.default is node and is_device_word(parent.name)
    if isinstance(parent, cst.BooleanOperation):
        return isinstance(parent.operator, cst.Or) and parent.right is node
    return not isinstance(parent, cst.IfExp) or parent.test is not node


def _plain_or_f(node: cst.CSTNode) -> bool:
    return isinstance(node, (cst.SimpleString, cst.FormattedString))


def _as_string(file: File, node: cst.BaseExpression, current: str) -> None:
    """The same string, with the accelerator's type in place of ``cuda``."""
    if isinstance(node, cst.SimpleString):
        value = string_value(node) or ""
        text = f"{current}.type"
        if ":" in value:
            text = f'f"{{{current}.type}}{value[len("cuda"):]}"'
        file.replace_node(ACCELERATOR, node, text)
    elif isinstance(node, cst.FormattedString):
        start = file.tree.span(node)[0] + len(node.start)
        file.replace(ACCELERATOR, start, start + len("cuda"), f"{{{current}.type}}")


def _argument(file: File, node: cst.BaseExpression, arg: cst.Arg, current: str | None) -> None:
    call = file.tree.parents[arg]
    if not isinstance(call, cst.Call):
        return
    name = file.resolver.torch_name(call.func) or ""
    keyword = arg.keyword.value if arg.keyword is not None else None
    func = call.func
    is_sink = (
        name in file.names.device_params
        and (keyword or _position_name(file, name, call, arg)) is not None
    )
    if not is_sink and (name in file.names.classes or name.startswith("torch.nn.")):
        is_sink = keyword == "device" or name == "torch.Generator"
    if not is_sink and isinstance(func, cst.Attribute) and not name:
        method = func.attr.value
        is_sink = method in file.names.device_methods and method not in ("type", "cuda")
    if not is_sink:
        if keyword == "default" and _device_option(call):
            file.find(GAP, node, f"{file.tree.text(node)} as the default of an option")
        return
    if current is None or not _plain_or_f(node):
        file.find(GAP, node, f"{file.tree.text(node)}: take the type of the current accelerator")
        return
    what = keyword or _position_name(file, name, call, arg)
    if what == "device_type" or name.endswith(("GradScaler", "autocast")):
        file.find(GAP, node, "a device type has to be that of the device at hand: device.type")
    elif string_value(node) == "cuda" and not (name == "torch.device" and len(call.args) > 1):
        if name == "torch.device" and in_default(file.tree, call):
            file.find(GAP, node, "a default is decided at import; ask where it is used")
        elif name == "torch.device":
            file.replace_node(ACCELERATOR, call, current)
        else:
            file.replace_node(ACCELERATOR, node, current)
    else:
        _as_string(file, node, current)


def _position_name(file: File, name: str, call: cst.Call, arg: cst.Arg) -> str | None:
    index = list(call.args).index(arg)
    for parameter, position in file.names.device_params.get(name, ()):
        if position == index:
            return parameter
    return None


def _device_option(call: cst.Call) -> bool:
    return any("device" in (string_value(a.value) or "") for a in call.args if a.keyword is None)


def _guarded(file: File, node: cst.CSTNode) -> bool | str:
    """Whether the value is only used where an accelerator is known to be there.

    ``"other"`` where the guard has arms for other accelerators and stays as it is.
    """
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.IfExp) and below is parent.body:
            asked = _asks(file, parent.test)
            if asked is not None:
                return "other" if decides_beside_other_arms(file, asked) else True
        if isinstance(parent, cst.If) and below is parent.body:
            asked = _asks(file, parent.test)
            if asked is not None:
                return "other" if decides_beside_other_arms(file, asked) else True
        if isinstance(parent, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            return False
        below = parent
    return False


def _asks(file: File, test: cst.BaseExpression) -> cst.CSTNode | None:
    """The ``torch.cuda.is_available`` in a test that is true only where it is."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return _asks(file, test.left) or _asks(file, test.right)
    if isinstance(test, cst.Call):
        name = file.resolver.torch_name(test.func)
        if name in ("torch.cuda.is_available", "torch.accelerator.is_available"):
            return test.func
    return None
