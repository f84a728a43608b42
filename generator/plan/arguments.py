"""Hold an arm's call against the function of ``tdev_core`` that it calls, and against the parameters of torch's.

A call that cannot be made is refused when it is planned, not when a program makes it. So is a parameter of torch's
function that nobody looks at: an argument that is dropped in silence can be the one that kept the program safe.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from generator.errors import GenerationError
from generator.facts.model import Signature
from generator.plan.core import Core

__all__ = ["refuse_dropped", "refuse_unread", "refuse_untaken", "used_names", "value_of_noop"]


def value_of_noop(cell_value: str | None, returns: str | None, where: str, dotted: str) -> str:
    """Return what a function that does nothing returns; ``returns`` is how torch annotates its result.

    Raises:
        GenerationError: torch's function returns something, or does not say that it returns nothing, and the cell
            does not say what.
    """
    if returns == "None":
        return cell_value or "None"
    if cell_value is None or (
        cell_value == "None" and returns is not None and "None" not in returns
    ):
        raise GenerationError(
            f"{where}: {dotted} returns {returns or 'what torch does not annotate'}; give the noop's value."
        )
    return cell_value


def used_names(expression: str, core: Core, where: str) -> set[str]:
    """Return the names that ``expression`` looks at: not those it hands to a parameter that a function ignores.

    Raises:
        GenerationError: it calls a function that its module in ``tdev_core`` does not have, or one with arguments
            that it does not take.
    """
    unseen: set[ast.AST] = set()
    tree = ast.parse(expression, mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        module = ast.unparse(node.value)
        if module.partition(".")[0] in ("torch", "mx") or module not in core:
            continue
        function = core.definition(core.find(module, where), node.attr, where)
        call = next((c for c in ast.walk(tree) if isinstance(c, ast.Call) and c.func is node), None)
        if call is None and function is not None:
            refuse_unread(function, where)
        if not isinstance(function, ast.FunctionDef) or call is None:
            continue
        ignored = _ignored(function)
        for name, argument in _given(function, call, where):
            if name in ignored:
                unseen |= set(ast.walk(argument))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in unseen}


def refuse_dropped(
    dotted: str,
    names: Iterable[str],
    renames: Mapping[str, str],
    used: set[str],
    ignores: Mapping[str, str],
    where: str,
) -> None:
    """Refuse a parameter in ``names`` that the answer neither uses nor lists among ``ignores``.

    ``used`` and ``ignores`` are canonical names; ``renames`` leads from them to this spelling's own.

    Raises:
        GenerationError: there is one, or ``ignores`` lists one that is used.
    """
    both = sorted(used & ignores.keys())
    if both:
        raise GenerationError(f"{where}: {', '.join(both)} is used, and said to be ignored.")
    seen: set[str] = set()
    for name in used | ignores.keys():
        text = renames.get(name, name)
        if text.isidentifier():
            seen.add(text)
        else:
            seen |= {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    dropped = sorted(set(names) - seen)
    if dropped:
        raise GenerationError(
            f"{where}: {dotted} drops {', '.join(dropped)}. Use each in call or check, or say why ignoring it is "
            f'right: ignores = {{ {dropped[0]} = "..." }}.'
        )


def refuse_untaken(
    text: str, dotted: str, signatures: Iterable[Signature], core: Core, where: str
) -> None:
    """Refuse a class of ``tdev_core``, named by ``text``, that does not take what torch's takes when it is made.

    A class that is made as one of torch's, or takes anything by name, takes it all. In which place a parameter stands is
    left to the tests under that torch.

    Raises:
        GenerationError: there is a parameter that it does not take.
    """
    module, _, name = text.rpartition(".")
    if module.partition(".")[0] in ("torch", "mx") or module not in core:
        return
    made = _made_by(core.find(module, where), name, core, where)
    if made is None or made.args.kwarg is not None:
        return
    wanted = {
        parameter.name
        for signature in signatures
        for parameter in signature.parameters
        if not parameter.kind.startswith("var_")
    }
    untaken = sorted(wanted - _parameters(made))
    if untaken:
        raise GenerationError(
            f"{where}: {text} does not take {', '.join(untaken)}, which {dotted} takes. Give it the parameter, in the place "
            "that torch has it in, and use it, refuse it or let its docstring say why it is accepted."
        )


def _made_by(module: str, name: str, core: Core, where: str) -> ast.FunctionDef | None:
    """Return what makes an instance of a class, its own or that of a base beside it; None: it is torch's, or no class."""
    answer = core.definition(module, name, where)
    if not isinstance(answer, ast.ClassDef):
        return None
    methods = {node.name: node for node in answer.body if isinstance(node, ast.FunctionDef)}
    made = methods.get("__init__") or methods.get("__new__")
    for base in answer.bases:
        if made is None and isinstance(base, ast.Name):
            try:
                made = _made_by(module, base.id, core, where)
            except GenerationError:  # of another module, which only this class's own imports
                continue
    return made


def refuse_unread(answer: ast.FunctionDef | ast.ClassDef, where: str) -> None:
    """Refuse a function or class that stands for torch's own and takes a parameter that it neither reads nor speaks of.

    Its docstring, or that of its class, has to name what it accepts and does nothing with. A body that only raises
    refuses everything, and an end of a ``with`` is told of errors that are not its own.

    Raises:
        GenerationError: there is one.
    """
    said = ast.get_docstring(answer) or ""
    if isinstance(answer, ast.FunctionDef):
        _refuse_unread(answer, answer.name, said, frozenset(), where)
        return
    methods = {node.name: node for node in answer.body if isinstance(node, ast.FunctionDef)}
    made = methods.get("__init__")
    for name, method in methods.items():
        # Python hands all arguments to both.
        elsewhere = (
            _parameters(made) - _ignored(made) if made and name == "__new__" else frozenset()
        )
        if name != "__exit__":
            _refuse_unread(method, f"{answer.name}.{name}", said, elsewhere, where)


def _refuse_unread(
    function: ast.FunctionDef, name: str, said: str, elsewhere: frozenset[str], where: str
) -> None:
    said += ast.get_docstring(function) or ""
    body = [node for node in function.body if not _is_docstring(node)]
    if not body or all(isinstance(node, ast.Raise) or _refuses(node) for node in body):
        return
    unread = sorted(
        parameter
        for parameter in _ignored(function) - elsewhere - {"self", "cls"}
        if parameter[0] != "_" and not re.search(rf"\b{parameter}\b", said)
    )
    if unread:
        raise GenerationError(
            f"{where}: {name} takes {', '.join(unread)} and never looks at it. Use it, refuse it, or let its "
            "docstring say why it is accepted."
        )


def _refuses(node: ast.stmt) -> bool:
    """Tell whether a statement is ``unsupported(…)``, which raises."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).rpartition(".")[2] == "unsupported"
    )


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _given(function: ast.FunctionDef, call: ast.Call, where: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield each argument with the name of the parameter that takes it."""
    arguments = function.args
    places = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    required = set(places[: len(places) - len(arguments.defaults)])
    required |= {
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    }
    by_name = {argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)}
    found: set[str] = set()
    anything = False
    for number, value in enumerate(call.args):
        if isinstance(value, ast.Starred):
            anything = True
            continue
        if number < len(places):
            found.add(places[number])
            yield places[number], value
        elif arguments.vararg is None:
            raise _refused(function, call, where, f"takes {len(places)} arguments by position")
    for keyword in call.keywords:
        if keyword.arg is None:
            anything = True
        elif keyword.arg in by_name and keyword.arg not in found:
            found.add(keyword.arg)
            yield keyword.arg, keyword.value
        elif arguments.kwarg is None or keyword.arg in found:
            raise _refused(function, call, where, f"does not take {keyword.arg!r} there")
    missing = sorted(required - found)
    if missing and not anything:
        raise _refused(function, call, where, f"needs {', '.join(missing)}")


def _refused(function: ast.FunctionDef, call: ast.Call, where: str, why: str) -> GenerationError:
    return GenerationError(
        f"{where}: {ast.unparse(call)!r}: {function.name}({ast.unparse(function.args)}) {why}."
    )


def _parameters(function: ast.FunctionDef) -> frozenset[str]:
    return frozenset(node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg))


@cache
def _ignored(function: ast.FunctionDef) -> frozenset[str]:
    """Return the parameters that the body never reads."""
    read = {
        node.id
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return _parameters(function) - read
