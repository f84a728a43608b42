"""A second, cheaper look at a file: does its code, not only its prose, concern a rule?

A file that mentions CUDA in comments and docstrings alone does not. One that does not mention it
at all matters only if a device that comes from elsewhere reaches a function of torch
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
_LOADS = frozenset({"load", "load_state_dict_from_url"})
_ALWAYS = frozenset({"set_default_device", "device"})
_OWN_DEVICE = re.compile(r"\b(?:self|cls)\.device\b[^\n=]*=[^=]|^[ \t]+device[ \t]*[:=]", re.M)
_KEYWORDS = frozenset({"device", "device_type", "map_location"})
# Settings that a person types; what other objects call `.device` is a real one.
_SETTINGS = re.compile(
    r"(^|_)(args?|opts?|options?|cfg|conf|config|configs|settings|hparams?|hps|flags|namespace|"
    r"cli|kwargs)$|^(self|cls)$",
    re.IGNORECASE,
)


def worth_a_look(source: str, style: Style = "explicit") -> bool:
    """Whether the rules of this style could change or report anything in this file."""
    mentioned = _WORDS.search(source) is not None
    if not mentioned:
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
    look = _Look(tree, source)
    if mentioned and look.mentions():
        return True
    return style != "accelerator" and look.hands_on_a_device()


class _Look:
    """One walk over a file: the names that come from torch, and the calls that start with them."""

    def __init__(self, tree: ast.Module, source: str) -> None:
        self.source = source
        self.roots: set[str] = set()
        self.calls: list[tuple[ast.Call, ast.AST | None]] = []
        self.assigned: dict[int, dict[str, list[ast.expr | None]]] = {}
        self.own_device = _OWN_DEVICE.search(source) is not None
        self._texts: list[str] = []
        stack: list[tuple[ast.AST, ast.AST | None]] = [(tree, None)]
        while stack:
            node, function = stack.pop()
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
                self._texts.append(ast.unparse(node))
            elif isinstance(node, ast.Call):
                self.calls.append((node, function))
            elif isinstance(node, ast.Attribute):
                self._texts.append(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._texts.append(node.value)
            inner = node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
            stack.extend((child, inner) for child in ast.iter_child_nodes(node))

    def mentions(self) -> bool:
        """Whether CUDA is mentioned in code, and not in comments and docstrings alone."""
        return any(_WORDS.search(text) for text in self._texts)

    def hands_on_a_device(self) -> bool:
        return any(self._matters(call, function) for call, function in self.calls)

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
        elif self._hands_on_torch_device(call, chain):
            return True
        if not chain or chain[0] not in self.roots or "nn" in chain[:2]:
            return False
        values = [k.value for k in call.keywords if k.arg is None or k.arg in _KEYWORDS]
        if chain[-1] in _LOADS:
            return not values or not all(self._harmless(v, function) for v in values)
        if chain[-1] in _ALWAYS:
            return not all(self._harmless(v, function) for v in [*call.args[:1], *values])
        if not all(self._harmless(v, function) for v in values):
            return True
        # A device by position (`torch.optim.swa_utils.update_bn(loader, model, device)`)
        return any(isinstance(a, ast.Name) and "device" in a.id for a in call.args)

    def _hands_on_torch_device(self, call: ast.Call, chain: list[str]) -> bool:
        """`map(torch.device, names)`, `add_argument(type=torch.device)`."""
        given = [k.value for k in call.keywords if k.arg in ("type", "converter", "factory")]
        if chain[-1:] == ["map"]:
            given += call.args
        chains = [_chain(value) for value in given]
        return any(c[-1:] == ["device"] and c[0] in self.roots for c in chains)

    def _harmless(self, value: ast.expr, function: ast.AST | None) -> bool:
        if isinstance(value, ast.Constant):
            return not isinstance(value.value, int) or isinstance(value.value, bool)
        if isinstance(value, ast.IfExp):
            return self._harmless(value.body, function) and self._harmless(value.orelse, function)
        if isinstance(value, ast.Attribute):
            base = value.value
            if isinstance(base, ast.Name) and base.id in ("self", "cls"):
                return value.attr == "device" and not self.own_device
            name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            return value.attr == "device" and _SETTINGS.search(name) is None
        if isinstance(value, ast.Name) and isinstance(
            function, (ast.FunctionDef, ast.AsyncFunctionDef)
        ):
            values = self._values(function).get(value.id)
            return values is not None and all(
                v is not None
                and isinstance(v, (ast.Attribute, ast.IfExp))
                and self._harmless(v, None)
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
