"""Write what is emitted for one function, class or value: signature, arms and bodies, as finished text.

Templates only lay these out; they decide nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from generator.errors import Decision, GenerationError, Undecided
from generator.facts.model import Member, Method, Signature
from generator.plan.arguments import refuse_dropped, refuse_untaken, used_names, value_of_noop
from generator.plan.core import Core
from generator.plan.expressions import Rewritten, bind, handed_on
from generator.plan.routes import BACKENDS, Capability, Cell
from generator.plan.signatures import ANY, pass_through, signature_text

__all__ = [
    "Arm",
    "Emitted",
    "asked",
    "emit_bound",
    "emit_routed",
    "emit_translated",
    "own_backend",
    "pinning",
]


@dataclass(frozen=True)
class Arm:
    """One ``case`` of the match on the backend: which backends, and the statements."""

    backends: tuple[str, ...]
    body: tuple[str, ...]


@dataclass(frozen=True)
class Emitted:
    """One definition in an emitted module.

    ``kind`` is ``translated`` (device arguments translated, torch's own function called), ``routed``
    (a match on the backend) or ``bound`` (a class or value picked at import). ``modules`` are the
    ``tdev_core`` modules that it uses, dotted. ``passing`` are the arguments of ``_calls.passing``, which
    says of a builtin's wrapper what torch's own function answers, or empty. ``lacking`` are parameters that the
    routes hand on and this torch's function does not have.
    """

    name: str
    kind: str
    torch_name: str
    summary: str
    signature: str
    arms: tuple[Arm, ...]
    modules: tuple[str, ...]
    script: str = ""
    passing: str = ""
    lacking: tuple[str, ...] = ()


def own_backend(dotted: str) -> str | None:
    """Return the backend on which ``dotted`` is torch's own answer, where the mirror gives way to it."""
    if dotted.startswith("torch.mps."):
        return "mps"
    if dotted.startswith(("torch.xpu.", "torch.mtia.")):
        return None
    return "cuda"


def asked(home: str | None) -> str:
    """Return the function of ``tdev_core.backend`` that tells the arms of a mirror apart."""
    return f"instead_of_{home}" if home else "current"


def _away(dotted: str) -> tuple[str, ...]:
    """Return the backends on which a definition of ``dotted`` runs: at home the mirror gives way to torch's own."""
    return tuple(backend for backend in BACKENDS if backend != own_backend(dotted))


# Parameters that torch names so are not one plain device.
_TRANSLATORS = {
    "pin_memory": "_unpinned",
    "device_type": "_translate_type",
    "device_types": "_translate_type",
    "device_ids": "_translate_each",
    "devices": "_translate_each",
}


def emit_routed(
    capability: Capability, dotted: str, member: Member, core: Core, original: str
) -> Emitted:
    """Return the function ``dotted`` answered by the cells of ``capability``.

    ``original`` is the expression that reaches torch's own function.
    """
    signature = member.signatures[0] if member.signatures else None
    returns_none = signature is not None and signature.returns == "None"
    names = (
        frozenset(p.name for p in signature.parameters)
        if signature
        else frozenset({"args", "kwargs"})
    )
    modules: set[str] = set()
    bodies: dict[str, tuple[str, ...]] = {}
    refused: dict[str, list[str]] = {}
    lacking: set[str] = set()
    for backend in _away(dotted):
        cell = capability.cells[backend]
        where = f"{capability.where} {backend}"
        if cell.route in ("same", "native"):
            bodies[backend] = _returning(f"{original}({pass_through(signature)})", returns_none)
            continue
        renames = capability.spellings[dotted]
        try:
            bodies[backend] = _body(
                cell, dotted, names, renames, core, where, modules, lacking, signature
            )
        except GenerationError as error:
            refused.setdefault(str(error).removeprefix(where), []).append(backend)
    if refused:  # one decision for what is written once for several backends
        texts = (f"{capability.where} {','.join(on)}{what}" for what, on in refused.items())
        raise Undecided(Decision(text, dotted) for text in texts)
    return Emitted(
        dotted.rpartition(".")[2],
        "routed",
        dotted,
        member.summary,
        signature_text(signature, capability.where),
        _merged(bodies),
        tuple(sorted(modules)),
        lacking=tuple(sorted(lacking)),
    )


def _body(
    cell: Cell,
    dotted: str,
    names: frozenset[str],
    renames: Mapping[str, str],
    core: Core,
    where: str,
    modules: set[str],
    lacking: set[str],
    signature: Signature | None,
) -> tuple[str, ...]:
    if cell.route == "unsupported":
        return (f"_unsupported({dotted!r}, {cell.why!r}, {cell.instead!r})",)
    returns = signature.returns if signature else None
    text = value_of_noop(cell.value, returns, where, dotted) if cell.route == "noop" else cell.call
    if text is None:
        raise GenerationError(f"{where}: {dotted} is a function; give call, not object.")
    used: set[str] = set()
    bodies: list[Rewritten] = []
    for expression in (cell.check, text):
        if expression is not None:
            expression, absent = handed_on(expression, names, renames)
            lacking |= absent
            used |= used_names(expression, core, where)
            bound = bind(expression, parameters=names, renames=renames, core=core, where=where)
            modules |= bound.modules
            bodies.append(bound)
    refuse_dropped(dotted, names, renames, used, cell.ignores, where)
    checks = tuple(check.text for check in bodies[:-1])
    if cell.route == "noop":
        # The note is the reason why doing nothing is right; a reader of the emitted module wants it.
        comment = f"  # {cell.note}"
        return (*checks, ("return" if bound.text == "None" else f"return {bound.text}") + comment)
    return (*checks, *_mlx_import(bound), *_returning(bound.text, returns == "None"))


def _mlx_import(bound: Rewritten) -> tuple[str, ...]:
    # In the arm, not at the top: MLX is optional, and only its own backend has it for certain.
    return ("import mlx.core as _mx",) if bound.mlx else ()


def _returning(expression: str, returns_none: bool) -> tuple[str, ...]:
    return (expression,) if returns_none else (f"return {expression}",)


def _merged(bodies: Mapping[str, tuple[str, ...]]) -> tuple[Arm, ...]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for backend, body in bodies.items():
        groups.setdefault(body, []).append(backend.upper())
    return tuple(Arm(tuple(backends), body) for body, backends in groups.items())


def emit_bound(
    capability: Capability, dotted: str, member: Member, core: Core, original: str
) -> Emitted:
    """Return the class or value ``dotted``, picked once at import by the cells of ``capability``.

    ``original`` is the expression that reaches torch's own object.
    """
    name = dotted.rpartition(".")[2]
    modules: set[str] = set()
    bodies: dict[str, tuple[str, ...]] = {}
    for backend in _away(dotted):
        cell = capability.cells[backend]
        where = f"{capability.where} {backend}"
        if cell.route in ("same", "native"):
            bodies[backend] = (f"{name} = {original}",)
            continue
        text = cell.object
        if text is None:
            raises = ", a class of tdev_core that raises when it is made"
            raise GenerationError(
                f"{where}: {dotted} is a {member.kind}; give object"
                f"{raises if cell.route == 'unsupported' else ''}, not route {cell.route!r} alone."
            )
        used_names(text, core, where)
        if member.kind == "class":
            refuse_untaken(text, dotted, member.signatures, core, where)
        bound = bind(
            text,
            parameters=frozenset(),
            renames=capability.spellings[dotted],
            core=core,
            where=where,
        )
        modules |= bound.modules
        bodies[backend] = (*_mlx_import(bound), f"{name} = {bound.text}")
    return Emitted(
        name,
        "bound",
        dotted,
        member.summary,
        "",
        _merged(bodies),
        tuple(sorted(modules)),
        _script(dotted, member),
    )


def _script(dotted: str, member: Member) -> str:
    """Return the operator that TorchScript knows a builtin of torch's top level as."""
    name = dotted.rpartition(".")[2]
    return f"aten::{name}" if member.kind == "builtin" and dotted == f"torch.{name}" else ""


def pinning(member: Member | Method) -> tuple[str, ...]:
    """Return the parameter that asks for page-locked memory, which torch refuses where there is no CUDA."""
    names = {
        parameter.name for signature in member.signatures for parameter in signature.parameters
    }
    # torch's stub leaves it out of the factories of sparse tensors, which take it (torch/csrc/utils/tensor_new.cpp).
    sparse = "check_invariants" in names
    return ("pin_memory",) if sparse or "pin_memory" in names else ()


def emit_translated(
    dotted: str,
    member: Member,
    devices: tuple[str, ...],
    core: Core,
    original: str,
    *,
    shares: bool = False,
) -> Emitted:
    """``dotted`` with its device arguments translated and everything else handed on.

    ``original`` is the expression that reaches torch's own function, ``shares`` whether that makes a tensor of
    data without copying it.
    """
    name = dotted.rpartition(".")[2]
    script = _script(dotted, member)
    devices += pinning(member)
    if member.kind == "builtin" or len(member.signatures) != 1:
        return _translated_anyhow(dotted, member, devices, script, core, original, shares)
    signature = member.signatures[0]
    body = [f"{device} = {_translator(device, shares)}({device})" for device in devices]
    call = f"{original}({pass_through(signature)})"
    body += _returning(f"_here({call})" if shares else call, signature.returns == "None")
    return Emitted(
        name,
        "translated",
        dotted,
        member.summary,
        signature_text(signature, dotted),
        (Arm((), tuple(body)),),
        (),
        script,
    )


def _translated_anyhow(
    dotted: str,
    member: Member,
    devices: tuple[str, ...],
    script: str,
    core: Core,
    original: str,
    shares: bool,
) -> Emitted:
    """Return a builtin or an overloaded function: whatever the arguments, the device among them."""
    positions = {device: _one_position(dotted, member, device) for device in devices}
    placed = [position for position in positions.values() if position is not None]
    body: list[str] = []
    if not placed:
        # Nothing to translate, and handing on an empty dictionary would cost more than the check.
        body += ["if not kwargs:", f"    return {original}(*args)"]
    for device, position in positions.items():
        translate = _translator(device, shares)
        body.append(f"if {device!r} in kwargs:")
        body.append(f"    kwargs[{device!r}] = {translate}(kwargs[{device!r}])")
        if position is not None:
            rest = f", *args[{position + 1}:]"
            before = f"*args[:{position}], " if position else ""
            body.append(f"elif len(args) > {position}:")
            body.append(f"    args = ({before}{translate}(args[{position}]){rest})")
    call = f"{original}(*args, **kwargs)"
    body.append(f"return _here({call})" if shares else f"return {call}")
    passing = ""
    if member.kind == "builtin" and original == dotted:
        named = ", ".join(map(repr, devices))
        passing = (
            f"seen=({named},)" if shares else named
        )  # C knows what translate() gives, and no more
        passing += f", most={min(placed)}" if placed else ""
    return Emitted(
        dotted.rpartition(".")[2],
        "translated",
        dotted,
        member.summary,
        ANY,
        (Arm((), tuple(body)),),
        (core.find("calls", dotted),) if passing else (),
        script,
        passing,
    )


def _translator(device: str, shares: bool) -> str:
    return _TRANSLATORS.get(device, "_translate_apart" if shares else "_translate")


def _one_position(dotted: str, member: Member, device: str) -> int | None:
    positions = {
        None if parameter.kind == "keyword_only" else number
        for signature in member.signatures
        for number, parameter in enumerate(signature.parameters)
        if parameter.name == device
    }
    if len(positions) > 1:
        raise GenerationError(
            f"{dotted}: {device!r} stands at different places in its overloads; curate the function "
            "as a capability."
        )
    return positions.pop() if positions else None
