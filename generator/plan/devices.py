"""Decide which parameters of a function are devices."""

from __future__ import annotations

from generator.errors import Decision
from generator.facts.devices import is_device_parameter
from generator.facts.model import Member
from generator.plan.routes import DeviceRoute, Routes

__all__ = ["curated_devices", "device_parameters", "undecided"]


def device_parameters(
    member: Member, curated: DeviceRoute | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names of the parameters of ``member`` that are devices, and of those nobody has decided.

    Only functions are asked: constructors are shims' business. ``curated`` is its entry of ``devices.toml``.
    """
    if member.kind not in ("function", "builtin") or member.helper:
        return (), ()
    if curated is not None:
        return curated.devices, ()
    known: dict[str, bool | None] = {}
    for signature in member.signatures:
        for parameter in signature.parameters:
            verdict = is_device_parameter(member, parameter)
            # One overload that says so is enough; "undecided" only stands if none does.
            if verdict or known.get(parameter.name) is not True:
                known[parameter.name] = verdict
    return (
        tuple(name for name, verdict in known.items() if verdict),
        tuple(name for name, verdict in known.items() if verdict is None),
    )


def curated_devices(member: Member, routes: Routes) -> DeviceRoute | None:
    """Return the entry of ``devices.toml`` with the longest dotted prefix of one of the member's names."""
    best: tuple[int, DeviceRoute] | None = None
    for path in member.exports:
        prefix = path
        while "." in prefix:
            found = routes.devices.get(prefix)
            if found is not None:
                parts = prefix.count(".")
                if best is None or parts > best[0]:
                    best = (parts, found)
                break
            prefix = prefix.rpartition(".")[0]
    return best[1] if best else None


def undecided(member: str, parameter: str) -> Decision:
    """Return what to say when the facts leave it open whether a parameter is a device."""
    return Decision(
        f"{member}({parameter}) may or may not be a device. Decide in generator/routes/devices.toml: "
        f'["{member}"] with devices = ["{parameter}"], or none = "why it is no device".',
        member,
    )
