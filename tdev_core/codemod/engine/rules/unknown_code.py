"""Tells which calls of a function go to code that is not seen, and may take an accelerator by itself.

``SentenceTransformer(name).encode(texts)`` does, and ``embed(text)`` may, whose file is another. What Python, NumPy and the
like give does not, nor what torch makes where no device is named.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tdev_core.codemod.engine.python.statements import bound_by, stored
from tdev_core.codemod.engine.python.tree import PythonTree

_PACKAGES = sys.stdlib_module_names | frozenset(
    "cv2 h5py networkx numpy pandas PIL rdkit scipy sklearn tdev torch torch_geometric torchvision tqdm".split()
)
"""Those which make nothing on an accelerator where none is named."""
# What holds what it is given, whoever wrote it: PyTorch Geometric's `Data`, and those after it.
_HOLDS = re.compile(r"\w*Data|Graph|Batch")
_HANDS_ON = frozenset(
    "dict enumerate filter iter list map max min next reversed set sorted tuple zip".split()
)
"""The builtins that give what they are given."""
_BY_NAME = frozenset("__import__ eval exec getattr globals locals vars".split())
_BUILTINS = frozenset(dir(builtins)) - _BY_NAME
# `encode` is a text's, and a model's as well.
_PLAIN = frozenset(
    name
    for kind in (str, bytes, list, dict, set, tuple, int, float, Path)
    for name in dir(kind)
    if name[0] != "_" and name != "encode"
) | frozenset(
    "astype close contiguous cpu detach flatten float iterrows item itertuples long mean numel numpy permute read"
    " readline readlines reshape size squeeze sum t to tolist transpose unsqueeze view write".split()
)
"""The methods of texts, lists, numbers, paths, files and tensors."""
_OF_A_DATA_SET = frozenset(
    "data processed_dir processed_file_names processed_paths raw_dir raw_file_names raw_paths root slices".split()
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PATTERNS = (ast.MatchAs, ast.MatchStar, ast.MatchMapping)
_DEEP = 8
Home = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class UnknownCode:
    """Judges calls by what is called, in the functions of a file; ``owner`` is the class around, or the file, whose ``self`` is meant."""

    def __init__(self, tree: PythonTree, owner: ast.AST) -> None:
        self._tree = tree
        self._imported, self._defined = tree.names
        self._given: dict[str, list[ast.expr]] = {}
        self._methods = {n.name for n in ast.walk(owner) if isinstance(n, _FUNCTIONS)}
        for node in ast.walk(owner):
            match node:
                case ast.Assign(targets=targets, value=value):
                    pass
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    targets = [target]
                case _:
                    continue
            for each in (part for target in targets for part in ast.walk(target)):
                match each:
                    case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                        self._given.setdefault(attr, []).append(value)
                    case _:
                        pass

    def gives(self, attribute: str) -> bool:
        """Tell whether the class gives its objects an attribute."""
        return attribute in self._given

    def calls_some(self, home: Home) -> bool:
        """Tell whether something that stands in a function calls such code, or hands it on to be called."""
        if isinstance(home, ast.ClassDef):
            if not all(self._is_seen(base, home, _DEEP) for base in home.bases):
                return True
        return any(
            isinstance(node, ast.Call)
            and (not self._calls_seen(node.func, home) or self._hands_it_on(node))
            for node in ast.walk(home)
        )

    def _calls_seen(self, func: ast.expr, home: Home) -> bool:
        match func:
            case ast.Attribute(value=ast.Name(id="self")):
                return True  # who asks looks at that
            case ast.Attribute(value=receiver, attr=attr):
                return attr in _PLAIN or self._is_seen(receiver, home, _DEEP)
            case _:
                return self._is_seen(func, home, _DEEP)

    def _hands_it_on(self, call: ast.Call) -> bool:
        """Tell whether a function of such code is handed on: ``frame.apply(embed)``."""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return any(
            isinstance(each, ast.Name)
            and not each.id.isupper()
            and each.id in self._imported
            and not self._is_known(each.id)
            for each in given
        )

    def _is_known(self, name: str) -> bool:
        origin = self._imported.get(name, "")
        return origin.partition(".")[0] in _PACKAGES or bool(
            _HOLDS.fullmatch(origin.rpartition(".")[2])
        )

    def _is_seen(self, value: ast.expr, home: Home | None, deep: int) -> bool:
        """Tell whether a value is made by code that is seen, or known."""
        below = deep - 1
        match value:
            case _ if deep == 0:
                return False
            case ast.Name(id=name):
                return self._is_seen_by_name(name, home, below)
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                given = self._given.get(attr, [])
                known = attr in self._methods or attr in _OF_A_DATA_SET
                return all(self._is_seen(each, self._home(each), below) for each in given) and (
                    known or bool(given)
                )
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                return self._is_seen(inner, home, below)
            case ast.Call(func=ast.Name(id=name), args=args) if name in _HANDS_ON:
                return all(self._is_seen(each, home, below) for each in args)
            case ast.Call(func=ast.Attribute(value=inner)):
                return self._is_seen(inner, home, below)
            case ast.Call(func=func):
                return self._is_seen(func, home, below)
            case ast.Lambda() | ast.JoinedStr() | ast.Compare():
                return True  # what is called within is asked about where it stands
            case _:
                parts = [n for n in ast.iter_child_nodes(value) if isinstance(n, ast.expr)]
                return all(self._is_seen(each, home, below) for each in parts)

    def _is_seen_by_name(self, name: str, home: Home | None, deep: int) -> bool:
        if home is not None:
            around = [n for n in ast.walk(home) if n is not home]
            if any(isinstance(each, ast.arg) and each.arg == name for each in around):
                return False  # what a caller gives
            if any(isinstance(each, _PATTERNS) and name in bound_by(each) for each in around):
                return False
            values = list(_values(around, name))
            if values:
                return all(each is None or self._is_seen(each, home, deep) for each in values)
        if name in self._imported:
            return self._is_known(name)
        if name in self._defined:
            return True  # who asks looks into that
        values = list(_values(self._tree.module.body, name))
        if values:
            return all(each is None or self._is_seen(each, None, deep) for each in values)
        return name in _BUILTINS

    def _home(self, node: ast.AST) -> Home | None:
        return next((p for p in self._tree.ancestors(node) if isinstance(p, _FUNCTIONS)), None)


def _values(nodes: list[ast.AST] | list[ast.stmt], name: str) -> Iterator[ast.expr | None]:
    """Yield what these nodes give a variable, or take its values from; None for a function and the like."""
    for node in nodes:
        if isinstance(node, ast.comprehension):
            if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.target)):
                yield node.iter
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None and name in stored(item.optional_vars):
                    yield item.context_expr
        elif not isinstance(node, (ast.Import, ast.ImportFrom)) and name in bound_by(node):
            made = getattr(node, "iter", None) or getattr(node, "value", None)
            yield made if isinstance(made, ast.expr) else None
