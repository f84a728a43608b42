"""SECURITY.md lists everything in tdev_core that turns data into running code, and nothing that is not there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WATCHED = re.compile(
    r"""
      ast\.literal_eval
    | (builtins\.)?(exec|eval|compile|__import__)
    | (pickle|marshal|dill|cloudpickle|shelve|joblib)\.(load|loads|Unpickler|open)
    | torch\.(load|jit\.load|jit\.CompilationUnit|export\.load|hub\.load)
    | torch\.utils\.cpp_extension\.\w+
    | yaml\.(load|full_load|unsafe_load)
    | subprocess\.(run|call|check_call|check_output|Popen|getoutput|getstatusoutput)
    | os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|startfile)
    | pty\.spawn | asyncio\.create_subprocess_\w+
    | ctypes\.(CDLL|PyDLL|WinDLL|OleDLL|cdll\.\w+|pythonapi|string_at|memmove)
    | importlib\.(import_module|util\.spec_from_file_location)
    | (importlib\.machinery\.)?(Extension|SourceFile|Sourceless)\w*Loader
    | runpy\.\w+ | imp\.\w+
    """,
    re.VERBOSE,
)
# Types, which annotations name as well: only a call makes code.
MADE = {"types.FunctionType", "types.CodeType"}
# Methods of an object whose type is not seen here.
METHODS = {"exec_module", "from_address", "from_buffer"}


def uses(source: str) -> Iterator[tuple[str, int]]:
    """Every mention of what is watched, by the name that torch or Python has for it, with its line."""
    tree = ast.parse(source)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    defined = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute | ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            yield f".{node.attr}", node.lineno
            continue
        first, dot, rest = dotted(node).partition(".")
        name = names.get(first, first) + dot + rest
        watched = WATCHED.fullmatch(name) or (name in MADE and id(node) in called)
        if watched and name not in defined:
            yield name, node.lineno


def dotted(node: ast.expr) -> str:
    """Return ``a.b.c`` for such an expression; for any other what stands after its last call or index."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))


def found() -> dict[tuple[str, str], list[int]]:
    where: dict[tuple[str, str], list[int]] = {}
    for path in sorted((ROOT / "tdev_core").rglob("*.py")):
        for name, line in uses(path.read_text(encoding="utf-8")):
            where.setdefault((path.relative_to(ROOT).as_posix(), name), []).append(line)
    return where


def listed() -> list[tuple[str, str]]:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `(tdev_core/[\w/]+\.py)` \| (`[^|]+`) \| ([^|]+) \|$", text, re.MULTILINE
    )
    assert all(len(why.split()) >= 3 for _, _, why in rows)
    return [(path, name) for path, names, _ in rows for name in re.findall(r"`([^`]+)`", names)]


def test_everything_that_runs_code_is_listed_and_says_why_it_is_safe() -> None:
    there, told = found(), listed()
    assert len(told) == len(set(told))
    missing = [
        f"{p}:{lines[0]}: {name}" for (p, name), lines in there.items() if (p, name) not in told
    ]
    assert not missing, "say in SECURITY.md what reaches them and why that is safe"
    assert not set(told) - set(there), "SECURITY.md lists what is not there any more"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import pickle\npickle.loads(x)", "pickle.loads"),
        ("import pickle as p\np.load(x)", "pickle.load"),
        ("from pickle import loads as read\nread(x)", "pickle.loads"),
        ("import pickle\nreturned = pickle.loads", "pickle.loads"),
        ("import marshal\nmarshal.loads(x)", "marshal.loads"),
        ("eval(x)", "eval"),
        ("exec(x, {})", "exec"),
        ("import builtins\nbuiltins.compile(x)", "builtins.compile"),
        ("__import__(x)", "__import__"),
        ("import torch\ntorch.load(x)", "torch.load"),
        ("from torch.utils.cpp_extension import load_inline\nload_inline(x)",
         "torch.utils.cpp_extension.load_inline"),
        ("import subprocess\nsubprocess.run(x, shell=True)", "subprocess.run"),
        ("from subprocess import Popen\nPopen(x)", "subprocess.Popen"),
        ("import os\nos.system(x)", "os.system"),
        ("import os\nos.execvp(x, y)", "os.execvp"),
        ("import ctypes\nctypes.CDLL(x)", "ctypes.CDLL"),
        ("from importlib import import_module\nimport_module(x)", "importlib.import_module"),
        ("loader.exec_module(x)", ".exec_module"),
        ("import ctypes\nctypes.c_int.from_address(x)", ".from_address"),
        ("from types import FunctionType\nFunctionType(x)", "types.FunctionType"),
    ],
)  # fmt: skip
def test_what_is_watched_is_seen(source: str, name: str) -> None:
    assert [found for found, _ in uses(source)] == [name]


def test_what_only_sounds_like_it_is_not() -> None:
    harmless = (
        "import re, mlx.core as mx\nre.compile(x); mx.eval(y); model.eval(); a.load(); eval_ = 1"
    )
    assert list(uses(harmless)) == []
