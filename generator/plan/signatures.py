"""Write the signature of an emitted function, and the arguments that hand all of it on."""

from __future__ import annotations

from generator.errors import GenerationError
from generator.facts.model import Parameter, Signature
from generator.plan.expressions import annotation, literal_default

__all__ = ["ANY", "pass_through", "signature_text"]

ANY = "(*args: Any, **kwargs: Any) -> Any"


def signature_text(signature: Signature | None, where: str) -> str:
    """Return the parameters and the result of a definition, as source; ``where`` is told in an error."""
    if signature is None:
        return ANY
    parts: list[str] = []
    last = ""
    parameters = signature.parameters
    for number, parameter in enumerate(parameters):
        kind = parameter.kind
        if last == "positional_only" and kind != "positional_only":
            parts.append("/")
        if kind == "keyword_only" and last not in ("keyword_only", "var_positional"):
            parts.append("*")
        parts.append(_parameter_text(parameter, where))
        last = kind
        if kind == "positional_only" and number == len(parameters) - 1:
            parts.append("/")
    return f"({', '.join(parts)}) -> {annotation(signature.returns)}"


def _parameter_text(parameter: Parameter, where: str) -> str:
    star = {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")
    if star:
        return f"{star}{parameter.name}: Any"
    note = annotation(parameter.annotation)
    if parameter.default is None:
        return f"{parameter.name}: {note}"
    default = literal_default(parameter.default_expr or parameter.default)
    if default is None:
        raise GenerationError(
            f"{where}: the default of {parameter.name!r} ({parameter.default}) cannot be written "
            "into an emitted module."
        )
    if default == "None" and note != "Any" and "None" not in note and not note.endswith("Device"):
        note = f"{note} | None"
    return f"{parameter.name}: {note} = {default}"


def pass_through(signature: Signature | None) -> str:
    """Return the argument list that hands every parameter on."""
    if signature is None:
        return "*args, **kwargs"
    parts = []
    for parameter in signature.parameters:
        match parameter.kind:
            case "positional_only" | "positional_or_keyword":
                parts.append(parameter.name)
            case "var_positional":
                parts.append(f"*{parameter.name}")
            case "keyword_only":
                parts.append(f"{parameter.name}={parameter.name}")
            case "var_keyword":
                parts.append(f"**{parameter.name}")
    return ", ".join(parts)
