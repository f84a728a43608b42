"""A second, cheaper look at files that do not mention CUDA at all.

Such a file matters only if a device that comes from elsewhere reaches a function of torch
(``torch.zeros(n, device=device)``), or if it loads a checkpoint. The standard library's own
parser answers that in a twentieth of the time that a concrete syntax tree takes. It may only
say no where the rules would find nothing; whatever it cannot parse goes on to them.
"""

from __future__ import annotations

import ast
import re
import warnings

from tdev_core.codemod.engine.api import MENTIONS, Style

_WORDS = re.compile(MENTIONS)
_DEVICE = re.compile(r"device|load\b|load_state_dict_from_url")
_ALWAYS = frozenset({"load", "load_state_dict_from_url", "set_default_device", "device"})
_KEYWORDS = frozenset({"device", "device_type", "map_location"})
# Settings that a person types; what other objects call `.device` is a real one.
_SETTINGS = re.compile(
    r"(^|_)(args?|opts?|options?|cfg|conf|config|configs|settings|hparams?|hps|flags|namespace|"
    r"cli|kwargs)$|^(self|cls)$",
    re.IGNORECASE,
)


def worth_a_look(source: str, style: Style = "explicit") -> bool:
    """Whether the rules of this style could change or report anything in this file."""
    if _WORDS.search(source):
        return True
    if style == "accelerator":
        return False  # only what names CUDA has a generic spelling
    if "torch" not in source or not _DEVICE.search(source):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.lstrip("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return _Look(tree).found


class _Look:
    """One walk over a file: the names that come from torch, then the calls that start with them."""

    def __init__(self, tree: ast.Module) -> None:
        self.roots: set[str] = set()
        calls: list[tuple[ast.Call, ast.AST | None]] = []
        stack: list[tuple[ast.AST, ast.AST | None]] = [(tree, None)]
        while stack:
            node, function = stack.pop()
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            elif isinstance(node, ast.Call):
                calls.append((node, function))
            inner = node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
            stack.extend((child, inner) for child in ast.iter_child_nodes(node))
        self.assigned: dict[int, dict[str, list[ast.expr | None]]] = {}
        self.found = any(self._matters(call, function) for call, function in calls)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "torch":
                    self.roots.add(alias.asname or "torch")
        elif node.module is not None and node.level == 0:
            if node.module.split(".")[0] == "torch" and not node.module.startswith("torch.nn"):
                self.roots.update(alias.asname or alias.name for alias in node.names)

    def _matters(self, call: ast.Call, function: ast.AST | None) -> bool:
        chain = _chain(call.func)
        if chain[-1:] == ["partial"] and call.args:
            chain = _chain(call.args[0])
        elif any(_chain(a)[-1:] == ["device"] and _chain(a)[0] in self.roots for a in call.args):
            return True  # `map(torch.device, names)`: handed on to what will call it
        elif any(
            _chain(k.value)[-1:] == ["device"] and _chain(k.value)[0] in self.roots
            for k in call.keywords
            if k.arg in ("type", "converter", "factory")
        ):
            return True
        if not chain or chain[0] not in self.roots or "nn" in chain[:2]:
            return False
        if chain[-1] in _ALWAYS:
            return True
        for keyword in call.keywords:
            if keyword.arg is None or keyword.arg in _KEYWORDS:
                if not self._harmless(keyword.value, function):
                    return True
        # A device by position (`torch.optim.swa_utils.update_bn(loader, model, device)`)
        return any(isinstance(a, ast.Name) and "device" in a.id for a in call.args)

    def _harmless(self, value: ast.expr, function: ast.AST | None) -> bool:
        if isinstance(value, ast.Constant):
            return not isinstance(value.value, int) or isinstance(value.value, bool)
        if isinstance(value, ast.Attribute):
            base = value.value
            name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            return value.attr == "device" and _SETTINGS.search(name) is None
        if isinstance(value, ast.Name) and isinstance(
            function, (ast.FunctionDef, ast.AsyncFunctionDef)
        ):
            values = self._values(function).get(value.id)
            return values is not None and all(
                v is not None and isinstance(v, ast.Attribute) and self._harmless(v, None)
                for v in values
            )
        return False

    def _values(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> dict[str, list[ast.expr | None]]:
        """What a function gives its names; None for what is not a plain assignment."""
        known = self.assigned.get(id(function))
        if known is not None:
            return known
        values: dict[str, list[ast.expr | None]] = {}
        a = function.args
        for parameter in [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]:
            if parameter is not None and not _is_real_device(parameter.annotation):
                values.setdefault(parameter.arg, []).append(None)
            elif parameter is not None:
                values.setdefault(parameter.arg, [])
        plain: set[int] = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        values.setdefault(target.id, []).append(node.value)
                        plain.add(id(target))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                if id(node) not in plain:
                    values.setdefault(node.id, []).append(None)
        self.assigned[id(function)] = values
        return values


def _chain(node: ast.expr) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return []
    parts.append(node.id)
    return parts[::-1]


def _is_real_device(annotation: ast.expr | None) -> bool:
    text = ast.unparse(annotation).strip("'\"") if annotation is not None else ""
    return text.replace(" ", "") in (
        "torch.device",
        "Optional[torch.device]",
        "torch.device|None",
        "None|torch.device",
    )
