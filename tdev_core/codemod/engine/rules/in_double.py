"""Tells what is made in double precision on the device that a program chooses: CUDA and the CPU have it, and MPS refuses it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache

_WIDE = frozenset({"float64", "double", "complex128", "cdouble"})
_WORDS = (*_WIDE, "(float)", "=float", "WeightedRandomSampler", "f8")
_NUMPYS_DOUBLE = re.compile(
    r"[\"'](?:float64|double|f8)[\"']|\b(?:np|numpy)\.(?:float64|double)\b|dtype=float\b|\.astype\(float\b"
)
_KEEP_THE_DTYPE = frozenset({"tensor", "as_tensor", "asarray", "from_numpy"})
_A_DEVICE = re.compile(r"(?:\A|[._])(?:\w+_)?dev(?:ice)?\Z")
_CONVERTS = re.compile(r"(?:\w+\.)?device\((.*)\)")
_MPS = re.compile(r"(?<![a-z])mps(?![a-z])", re.IGNORECASE)


def is_made_double(scope: ast.AST, text: str, names: Collection[str] | None = None) -> bool:
    """Tell whether code makes something double on a device.

    Args:
        text: that of the code. What speaks of MPS knows that.
        names: the variables that keep the device; None where it is any that is called one.
    """
    if not any(word in text for word in _WORDS) or _MPS.search(text) is not None:
        return False
    return _makes_doubles(scope, None if names is None else frozenset(names))


@lru_cache(maxsize=8)
def _makes_doubles(scope: ast.AST, names: frozenset[str] | None) -> bool:
    code = _Code(scope, names)
    return any(map(code.is_double_there, code.calls))


def is_numpys_double(scope: ast.AST, data: ast.expr) -> bool:
    """Tell whether data are what NumPy makes double unless it is told otherwise: by what a function says, also of a list of such."""
    return _is_numpys(data, _made_in(scope), frozenset())


@lru_cache(maxsize=4)
def _made_in(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """Return what a function gives each of its variables, and what it puts into lists; none that gets its value in another way."""
    made: dict[str, list[ast.expr]] = {}
    bound: Counter[str] = Counter()
    for part in ast.walk(scope):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                bound[name] -= 1
                # Into a list of nothing something is put.
                made.setdefault(name, []).extend([value] if ast.unparse(value) != "[]" else [])
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value]):
                made.setdefault(name, []).append(value)
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound[name] += 1
            case _:
                pass
    return {name: values for name, values in made.items() if not bound[name]}


def _is_numpys(node: ast.expr, made: dict[str, list[ast.expr]], seen: frozenset[str]) -> bool:
    match node:
        case ast.Call(func=function, args=args, keywords=named):
            if _NUMPYS_MAKER.fullmatch(ast.unparse(function)) is None:
                return False
            return len(args) == 1 and all(each.arg != "dtype" for each in named)
        case ast.Name(id=name):
            values = made.get(name, [])
            return (
                bool(values)
                and name not in seen
                and all(_is_numpys(each, made, seen | {name}) for each in values)
            )
        case _:
            return False


_NUMPYS_MAKER = re.compile(
    r"(?:np|numpy)\.(?:zeros|ones|eye|identity|random\.(?:rand|randn|random|random_sample|standard_normal))"
)


def crosses_doubles(module: ast.Module, text: str) -> bool:
    """Tell whether a program has a list of dtypes, one of them double, with which each of its devices is tried.

    ``DTYPES = [torch.float32, torch.float64]``, and not ``x.dtype in (torch.float32, torch.float64)``.
    """
    if _IN_A_LIST.search(text) is None or _MPS.search(text) is not None:
        return False
    return any(map(_lists_doubles, ast.walk(module)))


_IN_A_LIST = re.compile(rf"[\[(,]\s*(?:torch|th)\.(?:{'|'.join(sorted(_WIDE))})\s*[\]),]")


def _lists_doubles(node: ast.AST) -> bool:
    match node:
        case ast.Assign(value=values) | ast.For(iter=values) | ast.comprehension(iter=values):
            given = [values]
        case ast.Call(func=ast.Attribute(attr="parametrize" | "product"), args=given):
            pass
        case _:
            return False
    return any(_is_list_of_doubles(each) for each in given)


def _is_list_of_doubles(node: ast.expr) -> bool:
    if not isinstance(node, (ast.List, ast.Tuple)):
        return False
    return any(
        isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id in ("torch", "th")
        and each.attr in _WIDE
        or _is_list_of_doubles(each)
        for each in node.elts
    )


class _Code:
    """The words of a function, a class or a module for dtypes, and for what lies on a device."""

    def __init__(self, scope: ast.AST, names: frozenset[str] | None) -> None:
        self._names = names
        self._wide: set[str] = set()
        self._placed: set[str] = set()
        self.calls: list[ast.Call] = []
        kept: list[tuple[str, ast.expr]] = []
        for part in ast.walk(scope):
            match part:
                case ast.Call():
                    self.calls.append(part)
                case ast.Assign(targets=[target], value=value):
                    kept.append((ast.unparse(target), value))
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    kept.append((ast.unparse(target), value))
                case ast.arguments():
                    kept += _defaults(part)
                case _:
                    pass
        if names is not None:  # `device = torch.device(args.device)`
            self._names = names.union(name for name, value in kept if self._says_device(value))
        for _ in range(2):  # `self.dtype = dtype`, of a parameter that is double unless it is given
            self._wide |= {name for name, value in kept if self._is_wide(value)}
        self._placed |= {name for name, value in kept if self._is_placed(value)}

    def is_double_there(self, call: ast.Call) -> bool:
        """Tell whether a call makes double what it places on the device, or what lies there."""
        named = {each.arg: each.value for each in call.keywords}
        made, data = _name(call.func), call.args[0] if call.args else None
        if made == "WeightedRandomSampler":  # which makes its weights double where they lie
            weights = named.get("weights", data)
            return weights is not None and self._is_placed(weights)
        device, dtype = named.get("device"), named.get("dtype")
        if made == "to" and isinstance(call.func, ast.Attribute):
            device = device or data
            dtype = dtype or next(iter(call.args[1:2]), None)
            if dtype is None and isinstance(inner := call.func.value, ast.Call) and inner.args:
                made, data = _name(inner.func), inner.args[0]
                dtype = next((each.value for each in inner.keywords if each.arg == "dtype"), None)
        if device is None or not self._says_device(device):
            return False
        if dtype is not None:
            return self._is_wide(dtype)
        if made not in _KEEP_THE_DTYPE or data is None:
            return False
        return _NUMPYS_DOUBLE.search(ast.unparse(data)) is not None

    def _is_wide(self, node: ast.expr) -> bool:
        match node:
            case ast.Attribute(value=ast.Name(id="torch" | "th"), attr=attr):
                return attr in _WIDE
            case ast.Name() | ast.Attribute():
                return ast.unparse(node) in self._wide
            case _:
                return False

    def _says_device(self, node: ast.expr) -> bool:
        text = ast.unparse(node)
        converted = _CONVERTS.fullmatch(text)
        text = converted[1] if converted is not None else text
        return _A_DEVICE.search(text) is not None if self._names is None else text in self._names

    def _is_placed(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call):
            return isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) in self._placed
        given = [each.value for each in node.keywords if each.arg == "device"]
        if _name(node.func) == "to":
            given += node.args[:1]
        return any(map(self._says_device, given))


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    yield from zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True)
    for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if value is not None:
            yield each.arg, value


def _name(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""
