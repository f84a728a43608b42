"""Decides what may be rewritten in code that TorchScript compiles, and who has to compile it."""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.analysis.literals import is_device_word
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.statements import is_self, last_name
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.reasons import reason

TORCHSCRIPT = rule(
    "torchscript",
    "Code that TorchScript compiles",
    "warning",
    """
    `torch.jit.script` reads a function's source and compiles it. The compiler knows torch's
    operators and a small part of Python; it refuses most Python functions, among them those of
    `torch.accelerator` and `tdev.is_accelerator`.

    What is compiled, as far as the file shows: functions and classes under `@torch.jit.script`,
    `script_if_tracing`, `script_method` or `torch.jit.export`, what is handed to
    `torch.jit.script(...)` (a function, or the `forward` of a module whose class is in the file),
    and the functions, methods and submodules of the file that these use. Functions under
    `torch.jit.ignore` or `unused`, and code behind `not torch.jit.is_scripting()`, are not.

    In the tdev styles, devices given to torch's functions are treated as anywhere else
    (`tdev.zeros(2, device="cuda")` is known to the compiler), and `torch.jit.script` becomes
    `tdev.jit.script` where such a device or a move is compiled, or where neither the file nor the
    classes of the tree show what is: it translates the devices in the graph, `x.to("cuda")` and `x.cuda()` too. Left and
    reported are names of `torch.cuda`, autocast (the compiler applies it to CUDA alone), questions
    such as `x.is_cuda` and `x.device.type == "cuda"`, and devices that torch compiles by itself,
    under `script_method` and `script_if_tracing`.

    With `--target accelerator` everything in such code is left and reported. A function that takes
    the device from one of its arguments, as in `torch.zeros(2, device=x.device)`, needs neither.
    """,
)

_SCRIPT = "torch.jit.script"
_EXPORT = "torch.jit.export"


def left_to_script(file: File, node: cst.CSTNode, what: str) -> bool:
    """Tell whether a rewrite has to be left out, and is listed, because TorchScript compiles this."""
    if not file.scripted.holds(node):
        return False
    file.find(TORCHSCRIPT, node, f"{what} in a script, which TorchScript compiles; left as it is")
    return True


def scripts(file: File) -> None:
    """Have tdev compile what has a device in it."""
    nodes = [*file.used, *file.shims, *_device_arguments(file)]
    with_device = [(file.scripted.home(node), node) for node in nodes]
    for one in file.scripted.compilations:
        inside = [node for home, node in with_device if home in one.functions]
        if one.compiler == _SCRIPT:
            found = file.resolver.reference(one.node)
            if found is None or file.kept(one.node) or _is_given_for_a_lack(file, one.node):
                continue
            unknown = found.target == "torch" and not inside and not one.known
            saved = unknown and _is_saved(file, one.node)
            file.saves_scripts = file.saves_scripts or saved
            if saved and file.options.style == "explicit":
                said = "what torch.jit.script compiles here is saved, for whatever machine loads it"
                file.find(TORCHSCRIPT, one.node, f"{said}; left as it is", "note")
                continue
            if inside or not one.known and not _names_no_device(file, one.node):
                file.use(TORCHSCRIPT, found, reason(_SCRIPT))
        elif one.compiler != _EXPORT:  # which is compiled with the module that it belongs to
            name = one.compiler.rpartition(".")[2]
            for node in inside:
                file.find(TORCHSCRIPT, node, f"under {name} torch compiles this device by itself")


def _names_no_device(file: File, node: cst.CSTNode) -> bool:
    """Tell whether what is compiled names no device, in whatever file it is: ``script(Norm(3))``, ``script(self.norm)``.

    Of a function that compiles what it is given, ``maybe_script(f)``, all that the file gives it; no other speaks of it.
    """
    options, tree = file.options.tree, file.python
    call = file.tree.parents[node]
    if options is None or tree is None or not isinstance(call, cst.Call) or not call.args:
        return False
    if "*" in options.silent_modules:
        return True
    found = tree.at(file.tree.span(call))
    if not isinstance(found, ast.Call) or not found.args:
        return False
    around = list(tree.ancestors(found))
    owner = next((p for p in around if isinstance(p, ast.ClassDef)), None)
    if isinstance(found.args[0], ast.Name) and _imported_as(tree, found.args[0].id) in (
        options.silent_functions
    ):
        return True
    if isinstance(found.args[0], ast.Name) and found.args[0].id == "self":
        return owner is not None and owner.name in options.silent_modules
    home = next((p for p in around if isinstance(p, ast.FunctionDef)), None)
    given = _given_to(tree, found.args[0], owner, home)
    silent = options.silent_modules | options.silent_makers
    if given is None and home is not None and home.name in options.own_compilers:
        if (first := home.args.args[:1]) and ast.unparse(found.args[0]) == first[0].arg:
            given, silent = _compiled_by(tree, home), options.silent_functions
    return bool(given) and all(
        last_name(each.func if isinstance(each, ast.Call) else each) in silent
        for each in given or ()
    )


def _imported_as(tree: PythonTree, name: str) -> str:
    """Return what another file calls what is imported under a name, and under which nothing else is bound."""
    imported = tree.names[0].get(name, "")
    bound = any(
        isinstance(node, ast.Name)
        and node.id == name
        and not isinstance(node.ctx, ast.Load)
        or isinstance(node, ast.arg)
        and node.arg == name
        for node in (tree.everything if imported else ())
    )
    return "" if bound else imported.rpartition(".")[2]


def _given_to(
    tree: PythonTree, value: ast.expr, owner: ast.ClassDef | None, home: ast.FunctionDef | None
) -> list[ast.expr] | None:
    """Return the calls that make what a variable, or an attribute of a class, holds; None where something else may."""
    if isinstance(value, ast.Call):
        return [value]
    around: ast.AST | None = owner
    if isinstance(value, ast.Name):
        around = home
    elif not isinstance(value, ast.Attribute) or not is_self(value.value):
        return None
    text, found = ast.unparse(value), list[ast.expr]()
    for node in ast.walk(around) if around is not None else ():
        match node:
            case ast.Assign(targets=targets, value=made) if text in map(ast.unparse, targets):
                found.append(made)
            case ast.AnnAssign(target=target, value=ast.expr() as made):
                found += [made] if ast.unparse(target) == text else []
            case ast.arg(arg=name) if name == text:
                return None
            case ast.For(target=target) | ast.withitem(optional_vars=ast.expr() as target):
                if text in (ast.unparse(each) for each in ast.walk(target)):
                    return None
            case _:
                pass
    made_by = [
        each
        for each in found
        if not isinstance(each, ast.Constant)
        and not (isinstance(each, ast.Call) and text in map(ast.unparse, each.args))
    ]
    return made_by if all(isinstance(each, ast.Call) for each in made_by) else None


def _compiled_by(tree: PythonTree, compiler: ast.FunctionDef) -> list[ast.expr] | None:
    """Return the functions that a file has compiled by one of its own: ``@maybe_script``, ``maybe_script(f)``."""
    found: list[ast.expr] = []
    for node in tree.everything:
        if not isinstance(node, ast.Name) or node.id != compiler.name:
            continue
        parent = next(tree.ancestors(node))
        if isinstance(parent, ast.FunctionDef) and node in parent.decorator_list:
            found.append(ast.Name(parent.name, ast.Load()))
        elif isinstance(parent, ast.Call) and parent.func is node and len(parent.args) == 1:
            if not isinstance(parent.args[0], ast.Name):
                return None
            found.append(parent.args[0])
        else:
            return None
    return found


_SAVES = re.compile(r"\bjit\.save\(\s*(?:\w+\s*=\s*)?(\w+)|(?<![\w.])(\w+)\.save\(")


def _is_saved(file: File, node: cst.CSTNode) -> bool:
    """Tell whether what a call gives is written to a file in its function, for whatever machine loads it."""
    home = next((p for p in file.tree.ancestors(node) if isinstance(p, cst.FunctionDef)), None)
    kept = next(
        (p for p in file.tree.ancestors(node) if isinstance(p, (cst.Assign, cst.BaseSuite))), None
    )
    if home is None or not isinstance(kept, cst.Assign):
        return False
    name = file.tree.text(kept.targets[0].target)
    saved = _SAVES.findall(file.tree.source[slice(*file.tree.span(home))])
    return any(name in each for each in saved)


def _is_given_for_a_lack(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a name is what ``getattr(torch.jit, "_script", …)`` gives where torch has not the other one."""
    parent = file.tree.parents[node]
    call = file.tree.parents[parent] if isinstance(parent, cst.Arg) else None
    if not isinstance(call, cst.Call) or len(call.args) != 3 or call.args[2] is not parent:
        return False
    if not isinstance(call.func, cst.Name) or call.func.value != "getattr":
        return False
    return (file.resolver.torch_name(call.args[0].value) or "").startswith("torch.jit")


def _device_arguments(file: File) -> list[cst.CSTNode]:
    """Return the arguments that a script is given as a device and hands on: ``x.to(device)``."""
    return [
        arg.value
        for arg in (file.tree.of(cst.Arg) if file.scripted.functions else ())
        if is_device_word(arg.value) and file.flow.may_be_cuda(arg.value)
    ]
