"""Rewrites device literals and moves to generic APIs, as a guard around them allows."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.kinds import Kind
from tdev_core.codemod.engine.analysis.literals import in_default
from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.accelerator.reported import DEVICE, VALUE_POSITIONS, report
from tdev_core.codemod.engine.rules.accelerator.rules import ACCELERATOR, GAP
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.backend_questions import AVAILABILITY
from tdev_core.codemod.engine.rules.early_exits import after_early_exit
from tdev_core.codemod.engine.rules.handed_on import own_method
from tdev_core.codemod.engine.rules.tensors import is_tensor
from tdev_core.codemod.engine.rules.torch_names import is_partial
from tdev_core.codemod.engine.rules.torchscript import left_to_script


def current_accelerator(file: File, node: cst.CSTNode) -> str | None:
    """``torch.accelerator.current_accelerator()`` as it is spelled at ``node``."""
    scope = file.scopes.of(node)
    for name in ("torch", *file.torch_names):
        found = file.resolver.imported(scope, name)
        if found is None or found[0] != "torch":
            continue
        if not all(file.for_checkers_only(binding) for binding in found[1]):
            return f"{name}.accelerator.current_accelerator()"
    return None


def move(file: File, node: cst.Call) -> None:
    func = node.func
    if not isinstance(func, cst.Attribute) or func.attr.value != "cuda":
        return
    if file.resolver.torch_name(func) is not None:
        return
    if isinstance(func.value, cst.Name) and func.value.value == "self" and own_method(file, func):
        return
    if left_to_script(file, node, ".cuda()"):
        return
    if _moves_a_storage(file, func.value):
        file.find(GAP, node, "moves a storage, not a tensor: give map_location the device itself")
        return
    tree = file.options.tree
    if tree is not None and tree.by_cuda_alone and not is_tensor(file, func.value):
        own = min(tree.by_cuda_alone)
        file.find(
            GAP, node, f"may be a {own} of this tree, which has .cuda() and no .to(): give it one"
        )
        return
    current = current_accelerator(file, node)
    positional = [a for a in node.args if a.keyword is None or a.keyword.value == "device"]
    if current is None:
        file.find(GAP, node, "torch is not imported here, whose accelerator it would be moved to")
        return
    if any(a.star for a in node.args) or len(positional) > 1:
        file.find(GAP, node, ".cuda() with these arguments")
        return
    if positional:
        index = file.flow.kinds(positional[0].value) == {Kind.INDEX}
        if not index or positional[0].keyword is not None:
            file.find(GAP, node, ".cuda(device): say .to(...) with the device that is meant")
            return
        file.replace_node(ACCELERATOR, func.attr, "to")
        return
    start = file.tree.span(func.attr)[0]
    end = file.tree.source.index("(", file.tree.span(func.attr)[1]) + 1
    file.replace(ACCELERATOR, start, end, f"to({current}" + (", " if node.args else ""))


def _moves_a_storage(file: File, node: cst.BaseExpression) -> bool:
    """Tell whether this is the storage in ``map_location=lambda storage, location: storage.cuda()``."""
    if not isinstance(node, cst.Name):
        return False
    for binding in file.scopes.of(node).lookup(node.value):
        made = binding.scope.node
        if isinstance(made, cst.Lambda) and binding.node in made.params.params[:1]:
            call = next((p for p in file.tree.ancestors(made) if isinstance(p, cst.Call)), None)
            loads = call is not None and (file.resolver.torch_name(call.func) or "")
            if "storage" in node.value or (loads and "map_location" in _parameters(file, loads)):
                return True
    return False


def _parameters(file: File, name: str) -> set[str]:
    return {parameter for parameter, _ in file.names.device_params.get(name, ())}


def literal(file: File, node: cst.BaseExpression) -> None:
    """Rewrite or report a string that names CUDA as a device."""
    parent = file.tree.parents[node]
    current = current_accelerator(file, node)
    guarded = _guarded(file, node)
    if isinstance(parent, (cst.Arg, *VALUE_POSITIONS)) and file.scripted.holds(node):
        left_to_script(file, node, file.tree.text(node))
    elif isinstance(parent, cst.Arg) and _is_sink(file, parent):
        _argument(file, node, parent, current, guarded)
    elif guarded and current is not None and _has_spelling(file, node) and _is_choice(parent):
        _as_string(file, node, current)
    else:
        report(file, node, parent)


def _is_choice(parent: cst.CSTNode) -> bool:
    """Tell whether a string stands where a device is chosen or handed on, and not as a key or payload."""
    if isinstance(parent, cst.Arg):
        return parent.keyword is None or DEVICE.search(parent.keyword.value) is not None
    return isinstance(parent, (*VALUE_POSITIONS, *_COMPREHENSIONS, cst.Element))


_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp)


def _has_spelling(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the accelerator's type can stand in the place of ``cuda`` in this string."""
    return isinstance(node, (cst.SimpleString, cst.FormattedString)) or _index(file, node) != ""


def _index(file: File, node: cst.CSTNode) -> str:
    """Return the number in ``"cuda:%d" % n``, ``"cuda:{}".format(n)`` and ``"cuda:" + str(n)``.

    Empty where it is none that an f-string takes in every Python: quotes cannot be nested before 3.12.
    """
    number: cst.CSTNode | None = None
    if isinstance(node, cst.BinaryOperation):
        number = node.right
        if isinstance(node.operator, cst.Add):
            made = isinstance(number, cst.Call) and file.tree.text(number.func) == "str"
            number = number.args[0].value if isinstance(number, cst.Call) and made else None
    elif isinstance(node, cst.Call) and len(node.args) == 1 and node.args[0].keyword is None:
        number = node.args[0].value
    if not isinstance(number, (cst.Name, cst.Attribute, cst.Integer, cst.Call, cst.Subscript)):
        return ""
    text = file.tree.text(number)
    return "" if re.search(r"[\"'\\{}#\n]|\bawait\b", text) else text


def _as_string(file: File, node: cst.BaseExpression, current: str) -> None:
    """Write the same string, with the accelerator's type in place of ``cuda``."""
    if isinstance(node, cst.SimpleString):
        value = string_value(node) or ""
        text = f"{current}.type"
        if ":" in value:
            quote = node.quote[-1:]
            text = f"f{quote}{{{current}.type}}{value[len('cuda') :]}{quote}"
        file.replace_node(ACCELERATOR, node, text)
    elif isinstance(node, cst.FormattedString):
        start = file.tree.span(node)[0] + len(node.start)
        file.replace(ACCELERATOR, start, start + len("cuda"), f"{{{current}.type}}")
    else:
        quote = "'" if "'cuda" in file.tree.text(node) else '"'
        text = f"f{quote}{{{current}.type}}:{{{_index(file, node)}}}{quote}"
        file.replace_node(ACCELERATOR, node, text)


def _is_sink(file: File, arg: cst.Arg) -> bool:
    """Tell whether an argument is the device of something of torch's."""
    call = file.tree.parents[arg]
    if not isinstance(call, cst.Call):
        return False
    name = _called(file, call)
    keyword = arg.keyword.value if arg.keyword is not None else None
    if name in file.names.device_params:
        if keyword is not None or _position_name(file, name, call, arg) is not None:
            return True
    if name in file.names.classes or name.startswith("torch.nn."):
        return keyword == "device" or name == "torch.Generator"
    if isinstance(call.func, cst.Attribute) and not name:
        method = call.func.attr.value
        return method in file.names.device_methods and method not in ("type", "cuda")
    return False


def _argument(
    file: File,
    node: cst.BaseExpression,
    arg: cst.Arg,
    current: str | None,
    guarded: bool,
) -> None:
    call = file.tree.parents[arg]
    assert isinstance(call, cst.Call)
    name = _called(file, call)
    keyword = arg.keyword.value if arg.keyword is not None else None
    what = keyword or _position_name(file, name, call, arg)
    is_type = what in ("device_type", "device_types") or name.endswith(("GradScaler", "autocast"))
    whole = string_value(node) == "cuda" and not (name == "torch.device" and len(call.args) > 1)
    why = None
    if current is None or not _has_spelling(file, node):
        why = f"{file.tree.text(node)}: take the type of the current accelerator"
    elif is_type and not guarded:
        why = "a device type has to be that of the device at hand: device.type"
    elif name == "torch.device" and in_default(file.tree, call):
        why = "a default is decided at import; ask where it is used"
    elif not guarded:
        why = _no_cpu(file, call, name)
    if why is None and name == "torch.device" and not guarded:
        if isinstance(file.tree.parents[call], cst.Attribute):
            return  # `torch.device("cuda").type` is a name for "cuda"
    assert current is not None or why is not None
    if why is None and not whole and not guarded:
        why = "where there is no accelerator, None has no type: ask first"
    if why is not None:
        file.find(GAP, node, why)
    elif is_type or not whole:
        _as_string(file, node, current or "")
    elif name == "torch.device":
        file.replace_node(ACCELERATOR, call, current or "")
    else:
        file.replace_node(ACCELERATOR, node, current or "")


def _no_cpu(file: File, call: cst.Call, name: str) -> str | None:
    """Return why ``None``, which stands for no accelerator, would not mean the CPU in this place."""
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in _NONE_IS_NOT_CPU:
        return _NONE_IS_NOT_CPU[call.func.attr.value]
    if name != "torch.device":
        return None
    parent = file.tree.parents[call]
    if isinstance(parent, cst.WithItem):
        return "where there is no accelerator, None is no context: ask first"
    while isinstance(parent, cst.IfExp):
        parent = file.tree.parents[parent]
    if isinstance(parent, cst.Return):
        return "where there is no accelerator, None is no device to return: ask first"
    if isinstance(parent, cst.Assign):
        home = enclosing_function(file, parent)
        around = file.tree.source if home is None else file.tree.text(home)
        for target in parent.targets:
            if _is_of_another(target.target):
                return "where there is no accelerator, None is no device to give it: ask first"
            text = re.escape(file.tree.text(target.target))
            if re.search(rf"(?<![\w.]){text}\.(?:type|index)\b", around):
                return "where there is no accelerator, None has no type: ask first"
    return None


def _is_of_another(target: cst.BaseExpression) -> bool:
    """Tell whether this is an attribute of an object, which others read: ``self.device``."""
    return isinstance(target, cst.Attribute)


_NONE_IS_NOT_CPU = {
    "to_empty": "where there is no accelerator, to_empty(None) stays on meta: ask first",
    "pin_memory": "pin_memory needs no device",
}
_MESH = re.compile(r"torch\.distributed\.(?:\w+\.)*(init_device_mesh|DeviceMesh)\Z")


def _called(file: File, call: cst.Call) -> str:
    """Return the torch function that a call calls, or makes a ``partial`` of; empty where it is none.

    A device mesh has been imported from several places, and has one name here.
    """
    func = call.func
    if not file.resolver.torch_name(func) and is_partial(call):
        func = call.args[0].value
    name = file.resolver.torch_name(func) or ""
    return "torch.distributed.init_device_mesh" if _MESH.match(name) else name


def _position_name(file: File, name: str, call: cst.Call, arg: cst.Arg) -> str | None:
    index = list(call.args).index(arg) - is_partial(call)
    for parameter, position in file.names.device_params.get(name, ()):
        if position == index:
            return parameter
    return None


def _guarded(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the value is only used where an accelerator is known to be there."""
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        asked = None
        if isinstance(parent, (cst.IfExp, cst.If)):
            if below is parent.body:
                asked = _asks(file, parent.test)
            elif below is parent.orelse:
                asked = _asks_not(file, parent.test)
        elif isinstance(parent, _COMPREHENSIONS) and below is parent.elt:
            asked = _asks_each(file, parent.for_in.iter)
        elif isinstance(parent, cst.For) and below is parent.body:
            asked = _asks_each(file, parent.iter)
        elif isinstance(parent, (cst.IndentedBlock, cst.Module)):
            asked = next(filter(None, (_asks_before(file, s, node) for s in parent.body)), None)
        if asked is not None:
            return True
        if isinstance(parent, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            return False
        below = parent
    return False


def _asks_each(file: File, loop: cst.BaseExpression) -> cst.CSTNode | None:
    """Return the question in ``range(torch.cuda.device_count())``: nothing is done where there is none."""
    if isinstance(loop, cst.Call) and file.tree.text(loop.func) == "range" and len(loop.args) == 1:
        return _asks(file, loop.args[0].value)
    return None


def _asks_before(file: File, statement: cst.CSTNode, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the question by which a statement before ``node`` ends the block where the answer is no."""
    if isinstance(statement, cst.If):
        asked = _asks_not(file, statement.test)
        later = after_early_exit(file, statement) if asked is not None else None
        at = file.tree.span(node)[0]
        return asked if later is not None and later[0] <= at < later[1] else None
    if isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Assert):
        if file.tree.span(statement)[1] <= file.tree.span(node)[0]:
            return _asks(file, statement.body[0].test)
    return None


def _asks_not(file: File, test: cst.BaseExpression) -> cst.CSTNode | None:
    """Return the question in a test that is true wherever its answer is no."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _asks(file, test.expression)
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
        return _asks_not(file, test.left) or _asks_not(file, test.right)
    if isinstance(test, cst.Comparison) and _counted(test) in ("== 0", "< 1"):
        return _asks(file, test.left)
    return None


def _asks(file: File, test: cst.BaseExpression, deep: int = 3) -> cst.CSTNode | None:
    """Return ``torch.cuda.is_available``, or ``device_count``, in a test that is true only where it is."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return _asks(file, test.left, deep) or _asks(file, test.right, deep)
    if isinstance(test, cst.Comparison) and _counted(test) in (
        "> 0",
        ">= 1",
        "!= 0",
        "> 1",
        ">= 2",
    ):
        return _asks(file, test.left, deep)
    if isinstance(test, cst.Call):
        name = file.resolver.torch_name(test.func) or ""
        if name in AVAILABILITY or name.replace("accelerator", "cuda") in AVAILABILITY:
            return test.func
    if isinstance(test, cst.Name) and deep:
        bindings = file.scopes.of(test).lookup(test.value)
        if len(bindings) == 1 and bindings[0].kind == "value" and bindings[0].value is not None:
            return _asks(file, bindings[0].value, deep - 1)
    return None


_SIGNS = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
}


def _counted(test: cst.Comparison) -> str:
    """Return what a count is compared with: ``"> 0"``; empty where that is no number."""
    target = test.comparisons[0]
    if len(test.comparisons) > 1 or not isinstance(target.comparator, cst.Integer):
        return ""
    return f"{_SIGNS.get(type(target.operator), '')} {target.comparator.value}"
