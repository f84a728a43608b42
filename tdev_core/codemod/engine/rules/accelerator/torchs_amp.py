"""Tells, line by line, what torch.amp has for each use of apex.amp.

None is written. ``amp.initialize`` with O1 patches torch's functions for the whole process, so that the forward pass, the loss
and every evaluation, in whatever module, cast as it says; torch.autocast stands around lines. Which lines those are is not to be
seen from the call. O2 and O3 cast the model itself, and a program may look at its parameters.

Sources: docs/source/amp.rst and apex/amp of the repository NVIDIA/apex; torch's own documentation of torch.amp.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tdev_core.codemod.engine.rules.accelerator.torchs_calls import (
    UNSEEN,
    Call,
    Replaced,
    Written,
    literal,
)

__all__ = ["AMP"]

_DEVICE = "device.type"
_INITIALIZE = (
    "models", "optimizers", "enabled", "opt_level", "cast_model_type", "patch_torch_functions", "keep_batchnorm_fp32",
    "master_weights", "loss_scale", "cast_model_outputs", "num_losses", "verbosity", "min_loss_scale", "max_loss_scale",
)  # fmt: skip
_SCALE_LOSS = (
    "loss", "optimizers", "loss_id", "model", "delay_unscale", "delay_overflow_check",
)  # fmt: skip
_LEVELS = {
    "O0": "O0, which is float32 throughout: `model.float()`, without a scaler",
    "O1": "apex casts in every function of the process after it: where the model is evaluated, torch.autocast goes too",
    "O2": "O2 has a model in half precision and float32 copies for the optimizer; under torch.autocast the parameters are float32 themselves",
    "O3": "O3, which is half precision throughout: `model.half()`, inputs as well, without a scaler",
}


def _initialize(call: Call) -> Written:
    given = call.arguments(_INITIALIZE, 1)
    if given is None:
        return UNSEEN
    level = literal(given["opt_level"], ...) if "opt_level" in given else "O1"
    why = _LEVELS.get(str(level), "an opt_level that is not seen here; this is O1 and O2")
    if level in ("O0", "O3"):
        return Written(why=why)
    head = call.torch.spelled("torch.amp.GradScaler")
    if not head:
        return Written(why="torch under another name")
    arguments = [_DEVICE]
    if literal(given.get("loss_scale", ast.Constant(None)), ...) not in (None, "dynamic"):
        arguments.append(f"init_scale={call.text(given['loss_scale'])}")
        why += "; GradScaler's scale follows the gradients, a loss_scale of apex's stays"
    if "enabled" in given:
        arguments.append(f"enabled={call.text(given['enabled'])}")
    if literal(given.get("num_losses", ast.Constant(1)), ...) != 1:
        why += "; one GradScaler for each of the losses"
    return Written(
        (head, arguments, ""), f"as `scaler`, and models and optimizers stay as they are; {why}"
    )


def _scale_loss(call: Call) -> Written:
    given = call.arguments(_SCALE_LOSS, 2)
    if given is None:
        return UNSEEN
    scaled, whole = "scaler.scale", [call.text(given["loss"])]
    parent = next(call.python.ancestors(call.node))
    block = next(call.python.ancestors(parent)) if isinstance(parent, ast.withitem) else None
    if not isinstance(block, ast.With):
        return Written((scaled, whole, ".backward()"), "and no context around it")
    backward = _backward(block)
    why = "instead of the with and what it is around"
    if backward is None:
        why = "instead of the backward pass; what else the with is around stays, without the with"
    options = "" if backward is None else _options(call, backward)
    if any(isinstance(node, ast.Call) for node in ast.walk(given["loss"])):
        why += "; what is called in it, before, under torch.autocast"
    beside = [*_steps(call, given["optimizers"]), *_forward(call, block, given["loss"])]
    return Written((scaled, whole, f".backward({options})"), why, beside=tuple(beside))


def _backward(block: ast.With) -> ast.Call | None:
    """Return the backward pass of what a with statement binds, where that is all it is around."""
    bound = block.items[0].optional_vars
    match block.body:
        case [
            ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="backward")
                ) as backward
            )
        ] if len(block.items) == 1 and isinstance(bound, ast.Name) and bound.id == name:
            return backward
        case _:
            return None


def _options(call: Call, backward: ast.Call) -> str:
    keywords = (
        f"{k.arg}={call.text(k.value)}" if k.arg else f"**{call.text(k.value)}"
        for k in backward.keywords
    )
    return ", ".join([*(call.text(argument) for argument in backward.args), *keywords])


def _steps(call: Call, optimizers: ast.expr) -> Iterator[tuple[int, str]]:
    """Say what the steps of the optimizers become, in the function that the backward pass is in."""
    listed = optimizers.elts if isinstance(optimizers, (ast.List, ast.Tuple)) else [optimizers]
    names = {call.python.source(one) for one in listed}
    found: list[tuple[int, str]] = []
    for node in ast.walk(_scope(call)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = call.python.source(node.func.value)
        if node.func.attr == "step" and name in names and not node.args and not node.keywords:
            found.append((call.python.span(node)[0], name))
    for place, name in sorted(found):
        # One scaler is updated once, after the last of the optimizers.
        update = "; scaler.update()" if place == max(found)[0] or len(listed) == 1 else ""
        yield (
            place,
            f"torch has for {name}.step() after amp.scale_loss `scaler.step({name}){update}`",
        )


def _forward(call: Call, block: ast.With, loss: ast.expr) -> Iterator[tuple[int, str]]:
    """Say which statements before the backward pass torch.autocast goes around: those that the loss comes from, in its block."""
    before = _before(next(call.python.ancestors(block)), block)
    wanted = _read(loss)
    needed: list[ast.stmt] = []
    for statement in reversed(before):
        if _initializes(statement):
            break
        bound = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
        if bound & wanted:
            calls = any(isinstance(node, ast.Call) for node in ast.walk(statement))
            needed += [statement] if calls else []
            wanted |= _read(statement)
    head = call.torch.spelled("torch.autocast")
    if not needed or not head:
        return
    first, last = needed[-1], needed[0]
    start, _ = call.python.span(first)
    lines = f"lines {first.lineno} to {last.end_lineno}"
    if first.lineno == last.end_lineno:
        lines = "this line"
    yield start, f"torch has for amp.initialize, around {lines}, `with {head}({_DEVICE}, torch.float16):`"  # fmt: skip


def _initializes(statement: ast.stmt) -> bool:
    """Tell whether a statement is where amp is set up: what stands before it makes the model."""
    calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(getattr(f, "attr", getattr(f, "id", "")) == "initialize" for f in calls)


def _scope(call: Call) -> ast.AST:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
    return next(node for node in call.python.ancestors(call.node) if isinstance(node, kinds))


def _before(parent: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements that stand before one in its block."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return block[: block.index(statement)]
    return []


def _read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _master_params(call: Call) -> Written:
    given = call.arguments(("optimizer",), 1)
    if given is None:
        return UNSEEN
    optimizer = call.primary(given["optimizer"])
    text = f'p for group in {optimizer}.param_groups for p in group["params"]'
    return Written(("", [text], ""), f"after `scaler.unscale_({optimizer})`")


def _of_state(method: str) -> Replaced:
    def write(call: Call) -> Written:
        given = call.arguments(("state_dict",), int(method == "load_state_dict"))
        if given is None:
            return UNSEEN
        arguments = [call.text(node) for node in given.values()]
        why = "whose keys are others than apex's: a state that apex saved does not load"
        return Written((f"scaler.{method}", arguments, ""), why)

    return Replaced(write)


AMP: dict[str, Replaced] = {
    "apex.amp.initialize": Replaced(_initialize),
    "apex.amp.load_state_dict": _of_state("load_state_dict"),
    "apex.amp.master_params": Replaced(_master_params),
    "apex.amp.scale_loss": Replaced(_scale_loss),
    "apex.amp.state_dict": _of_state("state_dict"),
}
"""What torch has for the functions of apex.amp; all of it advice."""
