"""Compare facts with what Python itself says about the live objects; run as a script.

In a process of its own, because it imports every public module of torch. Prints one JSON object:
how many signatures and defaults were compared, and what differs.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import json
import math
import sys
import warnings
from typing import Any

from generator.facts import Facts, Member, introspect
from generator.facts.walk import walk

KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional_or_keyword",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword_only",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}


def find(path: str, modules: dict[str, Any]) -> Any:
    """The object at a dotted path: the longest module prefix, then attributes."""
    parts = path.split(".")
    for size in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:size])
        try:
            value = modules[name] if name in modules else importlib.import_module(name)
        except ImportError:
            continue
        for part in parts[size:]:
            value = getattr(value, part)
        return value
    raise LookupError(path)


def same(left: Any, right: Any) -> bool:
    """Equality that also holds for NaN and for fresh copies of plain containers."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return left is right or bool(left == right)


def compare(member: Member, modules: dict[str, Any], result: dict[str, Any]) -> None:
    package, _, name = member.name.rpartition(".")
    value = getattr(modules[package], name)
    live = list(inspect.signature(value).parameters.values())
    facts = member.signatures[0].parameters
    if [(p.name, p.kind) for p in facts] != [(p.name, KINDS[p.kind]) for p in live]:
        result["parameters"].append([member.name, [p.name for p in facts], [p.name for p in live]])
        return
    result["signatures"] += 1
    for ours, theirs in zip(facts, live, strict=True):
        if (ours.default is None) != (theirs.default is inspect.Parameter.empty):
            result["presence"].append([member.name, ours.name])
            continue
        if ours.default_expr is None or ours.default_expr == "...":
            continue
        if ours.default_expr.startswith("lambda"):
            continue  # two lambdas are never equal
        try:
            evaluated = evaluate(ours.default_expr, modules)
        except Exception as error:  # noqa: BLE001 - reported, whatever it is
            result["unevaluated"].append([member.name, ours.name, ours.default_expr, str(error)])
            continue
        result["defaults"] += 1
        if not same(evaluated, theirs.default) and repr(evaluated) != repr(theirs.default):
            result["values"].append(
                [member.name, ours.name, ours.default_expr, repr(theirs.default)]
            )


def evaluate(text: str, modules: dict[str, Any]) -> Any:
    """The value of a default; a dotted path may lead through a module that no attribute reaches."""
    if all(part.isidentifier() for part in text.split(".")) and "." in text:
        return find(text, modules)
    roots = {item.id for item in ast.walk(ast.parse(text)) if isinstance(item, ast.Name)}
    known = {name: importlib.import_module(name) for name in roots if not hasattr(builtins, name)}
    return eval(text, known)


def main() -> None:
    warnings.simplefilter("ignore")
    facts: Facts = introspect()
    modules = walk().modules
    result: dict[str, Any] = {"signatures": 0, "defaults": 0}
    for name in ("parameters", "presence", "unevaluated", "values", "unreadable"):
        result[name] = []
    for member in facts.members:
        if member.source == "live" and member.kind == "function":
            try:
                compare(member, modules, result)
            except (ValueError, TypeError) as error:
                result["unreadable"].append([member.name, str(error)])
    json.dump(result, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
