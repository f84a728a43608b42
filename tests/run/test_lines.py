"""What names a place in the source names the place in the file on disk."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tdev_core.codemod.engine import Edit
from tdev_core.codemod.text import apply_edits
from tdev_core.run.positions import Origin
from tdev_core.run.rewriting import rewritten_tree
from tests.run.conftest import Run

FAILING = """\
import torch


def inner(x):
    return (
        x
        / 0
    )


class Thing:
    def method(self):
        return inner(torch.cuda.synchronize() and 1)


Thing().method()
"""


def test_a_traceback_is_the_one_that_python_gives(app: Path, run: Run, python: Run) -> None:
    (app / "main.py").write_text("import torch\nimport beside  # line 2\n")
    (app / "beside.py").write_text(FAILING)
    done = run("../app/main.py")
    expected = FAILING.replace("import torch", "import tdev as torch")
    (app / "main.py").write_text("import tdev as torch\nimport beside  # line 2\n")
    (app / "beside.py").write_text(expected)
    alone = python("../app/main.py")
    assert done.returncode == alone.returncode == 1
    assert done.stderr == alone.stderr
    assert "tdev_core" not in done.stderr and 'beside.py", line 6, in inner' in done.stderr


@pytest.mark.parametrize("where", ["main.py", "beside.py"])
def test_a_syntax_error_is_the_users_own(app: Path, run: Run, python: Run, where: str) -> None:
    (app / "main.py").write_text("import torch\nimport beside\n")
    (app / "beside.py").write_text("x = 1\n")
    (app / where).write_text("import torch\ntorch.cuda.synchronize()\nif x = 1:\n    pass\n")
    done, alone = (
        run("../app/main.py"),
        python("-c", f"import sys; sys.path[0] = {str(app)!r}; import beside"),
    )
    assert done.returncode == (2 if where == "main.py" else 1)
    assert f'{where}", line 3' in done.stderr and "SyntaxError" in done.stderr
    assert "tdev_core" not in done.stderr and "importlib" not in done.stderr
    if where == "beside.py":
        assert done.stderr.splitlines()[-4:] == alone.stderr.splitlines()[-4:]


def test_inspect_and_warnings_and_debuggers_see_the_file(app: Path, run: Run) -> None:
    (app / "main.py").write_text(
        "import inspect, sys, warnings\n"
        "import torch\n"
        "def f():\n"
        '    """Doc."""\n'
        "    return torch.cuda.synchronize()\n"
        "print(inspect.getsource(f), end='')\n"
        "print(inspect.getsourcelines(f)[1], f.__code__.co_filename == __file__)\n"
        "print(inspect.getsource(sys.modules['__main__']).splitlines()[1])\n"
        "import beside\n"
        "print(beside.__loader__.get_source('beside').splitlines()[0])\n"
        "warnings.warn('here')\n"
    )
    (app / "beside.py").write_text("import torch\n\ntorch.cuda.synchronize()\n")
    done = run("../app/main.py")
    assert done.stdout.splitlines() == [
        "def f():",
        '    """Doc."""',
        "    return torch.cuda.synchronize()",
        "3 True",
        "import torch",
        "import torch",
    ]
    assert "main.py:11: UserWarning: here\n  warnings.warn('here')" in done.stderr


def test_pdb_stops_at_the_files_lines(app: Path, python: Run) -> None:
    (app / "main.py").write_text(
        "import torch\n\n\ndef f(n):\n    m = n + 1\n    return m\n\n\nf(torch.cuda.synchronize() and 41)\n"
    )
    script = f"b {app / 'main.py'}:6\nc\np m\nw\nc\nq\n"
    done = python("-m", "pdb", "-m", "tdev_core.run", "../app/main.py", input=script)
    assert "(Pdb) 42" in done.stdout, done.stdout + done.stderr
    assert f"> {app}/main.py(6)f()" in done.stdout and "-> return m" in done.stdout


def test_a_program_with_its_own_hook_or_breakpoint(app: Path, run: Run) -> None:
    (app / "main.py").write_text(
        "import sys, torch\n"
        "def hook(kind, value, trace):\n"
        "    print(kind.__name__, trace.tb_lineno, trace.tb_next, sys.last_value is value)\n"
        "sys.excepthook = hook\n"
        "sys.breakpointhook = lambda: print('stopped at', sys._getframe(1).f_lineno)\n"
        "breakpoint()\n"
        "torch.nothing\n"
    )
    done = run("../app/main.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "stopped at 6\nAttributeError 7 None True\n"


def edited(source: str, *replacements: tuple[str, str]) -> tuple[str, list[Edit]]:
    """``source`` with each text (which occurs once) replaced, and the edits that say so."""
    edits = []
    for before, after in replacements:
        assert source.count(before) == 1, before
        start = source.index(before)
        line, column = source.count("\n", 0, start) + 1, start - source.rfind("\n", 0, start)
        end = start + len(before)
        end_line, end_column = source.count("\n", 0, end) + 1, end - source.rfind("\n", 0, end)
        edits.append(Edit("r", line, column, end_line, end_column, before, after))
    return apply_edits(source, edits), edits


SOURCE = """\
import torch
from torch import (
    nn,
)
ü = "größe"; torch.cuda.synchronize(ü, x)
def f(a=torch.cuda, *, b):
    return a.b(torch.device("cuda"), ü).c
tail = torch.tail
"""
REPLACEMENTS = [
    ("import torch\n", "import tdev as torch\nimport more\n"),
    ("from torch import (\n    nn,\n)", "from tdev import nn"),
    ("torch.cuda.synchronize", "tdev.cuda.sync"),
    ('torch.device("cuda")', "tdev.device(\n        'x',\n    )"),
    ("torch.tail", "tdev.tail"),
]


def test_every_node_outside_the_edits_keeps_its_place() -> None:
    rewritten, edits = edited(SOURCE, *REPLACEMENTS)
    tree = ast.parse(rewritten)
    Origin(SOURCE, rewritten, edits).relocate(tree)
    compile(tree, "x", "exec")
    shown = [
        ast.get_source_segment(SOURCE, node) for node in ast.walk(tree) if hasattr(node, "lineno")
    ]
    for wanted in ('"größe"', "ü", "x", "a", "b", "nn", "tail"):
        assert wanted in shown or wanted == "nn", wanted
    by_kind = {
        type(node).__name__: ast.get_source_segment(SOURCE, node)
        for node in ast.walk(tree)
        if hasattr(node, "lineno")
    }
    assert by_kind["FunctionDef"] == SOURCE[SOURCE.index("def f") : SOURCE.index("\ntail")]
    assert by_kind["Return"] == 'return a.b(torch.device("cuda"), ü).c'
    calls = [ast.get_source_segment(SOURCE, n) for n in ast.walk(tree) if isinstance(n, ast.Call)]
    assert calls == [
        "torch.cuda.synchronize(ü, x)",
        'a.b(torch.device("cuda"), ü)',
        'torch.device("cuda")',
    ]
    statements = [(node.lineno, node.end_lineno) for node in tree.body]
    assert statements == [(1, 2), (1, 2), (2, 4), (5, 5), (5, 5), (6, 7), (8, 8)]


@pytest.mark.parametrize("chosen", range(1, 2 ** len(REPLACEMENTS)))
def test_places_stay_in_order_whatever_is_replaced(chosen: int) -> None:
    picked = [r for i, r in enumerate(REPLACEMENTS) if chosen >> i & 1]
    rewritten, edits = edited(SOURCE, *picked)
    tree = ast.parse(rewritten)
    Origin(SOURCE, rewritten, edits).relocate(tree)
    compile(tree, "x", "exec")  # refuses places that end before they start
    last = SOURCE.count("\n")
    assert all(1 <= node.lineno <= node.end_lineno <= last for node in tree.body if node.end_lineno)
    names = {
        node.id: ast.get_source_segment(SOURCE, node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in ("ü", "x", "a", "tail")
    }
    assert names == {name: name for name in names} and len(names) == 4


def test_statements_of_a_long_line_keep_their_line() -> None:
    long = f"x = torch.zeros(1).cuda(); f({'y' * 60}, 1 // 0); print(x.is_cuda)"
    source = f"import torch\n{long}\nprint([1,\n    2])\n"
    tree, _, _ = rewritten_tree(source.encode(), "long.py")
    assert tree is not None
    [division] = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp)]
    assert ast.get_source_segment(source, division) == "1 // 0"
    assert {node.lineno for node in tree.body[1:4]} == {2}


def test_a_node_before_replaced_text_ends_where_it_did() -> None:
    rewritten, edits = edited("x+z\n", ("+z", "-www"))
    tree = ast.parse(rewritten)
    Origin("x+z\n", rewritten, edits).relocate(tree)
    [left] = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "x"]
    assert ast.get_source_segment("x+z\n", left) == "x"
