"""The slice of a file that is parsed: nothing is left out that changes the result.

The same text is given to the rules whole and in slices, and they have to say the same: over every
case file, alone and among code that has nothing to do with it, over programs put together from
statements that depend on each other, and over the sources of the installed torch.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib.util
import os
from collections import Counter
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdev_core.codemod.engine import (
    STYLES,
    Names,
    Options,
    Style,
    SyntaxError_,
    driver,
    rewrite,
)
from tdev_core.codemod.engine.analysis.tree import Tree
from tdev_core.codemod.engine.api import WholeTextNeeded
from tdev_core.codemod.engine.slicing.lexical import is_foreign_method, object_of_device
from tdev_core.codemod.engine.slicing.slicer import take_slice

NAMES = Names.load()
CASES = Path(__file__).parents[1] / "cases"
# Most inputs stand in several styles, and are taken here in every style; tests that stay are never read in part.
INPUTS = sorted(
    path
    for path in {
        p.read_bytes(): p for s in ("in", "same") for p in CASES.glob(f"*/*/*.{s}.py")
    }.values()
    if path.parent.name != "test"
)
COUNT = int(os.environ.get("TDEV_FUZZ_FILES", "12"))

AROUND = '''
def unrelated(values, scale=2):
    """Says nothing."""
    total = 0
    for value in values:
        if value:
            total += value * scale
        elif scale > 3:
            total -= 1
    return [total, {"total": total}]


class Unrelated(dict):
    limit = 3

    def __init__(self, first):
        self.first = first
        self.second = unrelated([first])

    @property
    def both(self):
        return self.first, self.second

'''


def _said(source: str, style: Style, whole: bool, annotate: bool = False) -> Any:
    options = Options(style=style, annotate=annotate)
    try:
        return driver.apply_rules(source, NAMES, options, "program.py", whole=whole)
    except SyntaxError_ as error:
        return error.line


def _agree(source: str, style: Style, annotate: bool = False) -> bool:
    """Assert it; whether anything was left out of what the rules saw."""
    try:
        short = _said(source, style, False, annotate)
    except WholeTextNeeded:
        return False
    assert short == _said(source, style, True, annotate)
    return take_slice(source.replace("\r\n", "\n").replace("\r", "\n"), NAMES) is not None


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.deep] * (n % 3 > 0)) for n, path in enumerate(INPUTS)],
    ids=lambda p: "/".join(p.parts[-3:]),
)
def test_case(path: Path) -> None:
    source = path.read_bytes().decode().removeprefix("\ufeff")
    for style in STYLES:
        _agree(source, style)
    # No line end of another kind: the seam would be one.
    if "\r" in source.replace("\r\n", ""):
        return
    around = AROUND.replace("\n", "\r\n" if "\r\n" in source else "\n")
    above = not any(word in source for word in ("__future__", '"""', "tdev: keep"))
    # Among other code in one style, which is another one for the next case; all in the fuzz session.
    turn = INPUTS.index(path) % len(STYLES)
    for style in STYLES if COUNT > 12 else STYLES[turn : turn + 1]:
        _agree(source + around, style, annotate=True)
        if above:
            _agree(around + source, style)


LINES = st.sampled_from(
    [
        "pass",
        "where = 'cuda'",
        "where = other",
        "where: str = 'cpu'",
        "other = where if n else 'cuda:1'",
        "other = torch.device('cuda')",
        "other, n = 'cuda', 3",
        "n = n + 1",
        "x = x.to(where)",
        "x = x.to(other); n = 2",
        "x.to(self.where)",
        "x = y.to(torch.float32)",
        "x = torch.zeros(n, device=where)",
        "x = torch.zeros(n, device=choose())",
        "x = torch.zeros(n, **given)",
        "given = {'device': where}",
        "given = dict(n=n)",
        "x = choose()",
        "y = torch.ones(n)",
        "if y.is_cuda: n = 4",
        "ok = y.is_cuda",
        "self.where = where",
        "self.where = choose()",
        "self.n = n",
        "x = load(n)",
        "make = torch.cuda.Stream",
        "s = make()",
        "torch = n",
        "import torch",
        "from torch import load",
        "load = n",
        "return where",
        "return n",
        "return torch.device(where)",
        "global where",
        "del n",
        "[y for y in x if y]",
        "n = (where := 'cuda')",
        "print('torch.', n)",
        "@torch.no_grad()\n{i}def choose(n=where):\n{i}    return n",
        "def choose(where='cuda'):\n{i}    n = where\n{i}    return n",
        "for where in ('cuda', n):\n{i}    x.to(where)",
        "for n in x:\n{i}    n = 1\n{i}else:\n{i}    y = n",
        "if where == 'cuda':\n{i}    n = 1\n{i}elif n:\n{i}    y = mps\n{i}else:\n{i}    pass",
        "if n.is_mps():\n{i}    y = n",
        "if n:\n{i}    y = n\n{i}elif torch.cuda.is_available():\n{i}    y = 'cuda'",
        "try:\n{i}    n = 1\n{i}except ValueError as y:\n{i}    where = y\n{i}finally:\n{i}    x = 2",
        "with n as y, x as where:\n{i}    y.to(where)",
        "é = 'ü'; x.cuda()",
        "assert x.is_cuda  # why",
        "while n:\n{i}    break",
        "# says nothing of it",
        "x = make(n, torch.ones(n))",
        "x = y.view(n).to(other.device)",
        "x = n if n > 2 else torch.zeros(1)",
        "x = n or torch.zeros(1)",
        "other = str(where)",
        "y = next(x.parameters())",
        "x, y = n[0], torch.ones(1)",
        "given = {'map_location': where}",
        "x = torch.load(n, **given)",
        "x.to(y.device)",
        "x = torch.zeros(n, device=x.device)",
        "x = torch.zeros(n, device=n.cfg.device)",
        "y = map(n, type=torch.device)",
        "from os import path, sep as n, name",
        "from torch import (nn, # (\n{i}    zeros as make,\n{i})",
        "def g(self, x: 'torch.Tensor' = None, *, where=('cpu'), n: int = 3):\n{i}    return x.is_cuda",
        "def f(x, n: (int) = (1), *y, **where):\n{i}    return n",
        "@n.x(x)\n{i}class A(n.x, y=n):\n{i}    x = 1\n{i}    x = torch.ones(1)",
    ]
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    lines = [draw(st.sampled_from(["import torch", "import torch as th, torch", "import os"]))]
    for _ in range(draw(st.integers(1, 4))):
        head, indent = draw(
            st.sampled_from(
                [
                    ("", ""),
                    ("def f(x, n=1):", "    "),
                    ("def choose(x=None):\n    '''Chooses.'''", "    "),
                    ("class A:\n    where = 'cpu'\n    def g(self, x, where=None):", " " * 8),
                    ("class A:\n    def g(self):\n        pass\n    def h(self, y):", " " * 8),
                    ("class B(A):", "    "),
                    ("async def f(torch):", "\t"),
                ]
            )
        )
        lines += [head] if head else []
        for line in draw(st.lists(LINES, min_size=1, max_size=6)):
            lines.append(indent + line.replace("{i}", indent))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


@settings(
    max_examples=50 if COUNT <= 12 else 2000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
@given(programs(), st.sampled_from(STYLES), st.booleans(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_program(source: str, style: Style, annotate: bool, newline: str) -> None:
    try:
        compile(source, "<program>", "exec", flags=ast.PyCF_ONLY_AST)
    except SyntaxError:
        return
    _agree(source.replace("\n", newline), style, annotate)


def _sample() -> list[Path]:
    found = importlib.util.find_spec("torch")
    assert found is not None and found.origin is not None
    root = Path(found.origin).parent
    files = [p for p in root.rglob("*.py") if p.stat().st_size < (60_000 if COUNT <= 12 else 2e6)]
    files.sort(key=lambda p: hashlib.sha256(str(p.relative_to(root)).encode()).digest())
    return [p for p in files if b"cuda" in p.read_bytes()][: COUNT // 2]


@pytest.mark.parametrize("style", STYLES)
def test_real_files(style: Style) -> None:
    assert any([_agree(path.read_text("utf-8"), style) for path in _sample()])


SOURCE = '''import torch

SIZES = {"small": 1}


def helper(a):
    b = a + 1
    return b


def run(x, n):
    """Moves it."""
    first = helper(n)
    second = first * 2
    where = "cuda"
    for i in range(3):
        second += i
    print(second)
    return x.to(where)
'''


def test_what_stays() -> None:
    slice_ = take_slice(SOURCE, NAMES)
    assert slice_ is not None
    assert slice_.text == (
        "import torch\n\npass\ndef run(x, n):\n"
        '    """Moves it."""\n    pass\n    where = "cuda"\n    return x.to(where)\n'
    )


def test_the_parameter_behind_a_star_does_not_become_the_stars() -> None:
    source = SOURCE.replace("def run(x, n):", "def run(x, *given: int, n=None, out: int = 3):")
    slice_ = take_slice(source, NAMES)
    assert slice_ is not None and "def run(x, *given, " in slice_.text
    ast.parse(slice_.text)
    assert _agree(source, "explicit")


def test_a_launch_is_that_of_the_function_right_around_it() -> None:
    """Also where a slice leaves that one out, and has the outer one."""
    source = SOURCE.replace(
        "    first = helper(n)\n",
        "    first = helper(n)\n    def inner(grid):\n        my_kernel[grid](n)\n    second = inner\n",
    )
    assert _agree(source, "explicit")
    found = _said(source, "explicit", False).findings
    assert ["inner starts a kernel; left as it is"] == [
        f.message for f in found if "kernel" in f.rule
    ]


def test_a_line_starts_where_it_does_also_behind_what_is_left_out() -> None:
    """What is written above the line is not written above the statements left out before it."""
    moves = "count = helper(4); x.cuda()\n"
    source = f"import torch\n\nprint('says nothing')\n{moves}{moves}"
    assert _agree(source, "accelerator")
    indented = moves.replace("count", "    count")
    function = f"import torch\n\ndef f(x, y):\n    x = y.to(torch.float32)\n{indented}{indented}"
    assert _agree(function, "accelerator")
    assert "    device = " in _said(function, "accelerator", False).code
    rows = _said(source, "accelerator", False).code.splitlines()
    assert rows[2] == "print('says nothing')" and rows[3].startswith("device = ")


def test_places_are_those_of_the_whole_text() -> None:
    """Each node of the short tree stands where the whole tree has one of its kind and text."""
    source = SOURCE.replace("helper", "hélper")
    short, whole = Tree(source, NAMES), Tree(source)
    for kind, nodes in short.nodes.items():
        places = {whole.span(node) for node in whole.nodes.get(kind, ())}
        for node in nodes:
            if kind.__name__ not in ("Module", "Pass") and short.text(node) != "":
                first = short.text(node).split()[0]
                assert short.span(node) in places or first in ("SIZES", "first", "for"), kind
    [function] = [n for n in short.nodes[type(whole.module.body[-1])]]
    assert short.text(function) == SOURCE[SOURCE.index("def run") :].replace(
        "helper", "hélper"
    ).rstrip("\n")


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    print('a long line that says nothing')\n    x = 1  # tdev: keep\n",
        "print 'not this Python'\n" * 3,
        "x = '\0' + 'a long line that says nothing'\n",
        "",
    ],
)
def test_nothing_is_left_out(source: str) -> None:
    assert take_slice(source, NAMES) is None


NEEDED = {
    "assignment": "def f(n):\n    y = torch.ones(n)\n    print(n, SIZES)\n    return y.is_cuda\n",
    "attribute": (
        "class A:\n    def __init__(self, n):\n        self.y = torch.ones(n)\n\n"
        "    def g(self):\n        return self.y.is_cuda\n"
    ),
    "return": (
        "def make(n):\n    print(n, SIZES)\n    return torch.ones(n)\n\n\n"
        "def g():\n    return make(3).is_cuda\n"
    ),
    "constant": "WHERE = 'cuda'\n\n\ndef f(x):\n    print(x, SIZES)\n    return x.to(WHERE)\n",
    "constant handed on": (
        "from elsewhere import build\n\nWHERE = 'cuda'\n\n\ndef f(x):\n    return build(x, WHERE)\n"
    ),
    "global": (
        "y = torch.ones(1)\n\n\ndef f(n):\n    global y\n    y = make_one_of(n)\n\n\n"
        "def g():\n    return y.is_cuda\n"
    ),
    "neighbour": (
        "def f(n):\n    if torch.cuda.is_available():\n        print(n, SIZES)\n"
        "    if n.mps.is_available():\n        print(SIZES, n)\n"
    ),
    "elif": (
        "def f(n):\n    if torch.cuda.is_available():\n        print(n, SIZES)\n"
        "    elif n.mps.is_available():\n        print(SIZES, n)\n"
    ),
    "docstring": (
        'def f(n):\n    """Says what it does."""\n    print(n, SIZES)\n'
        "    import torch\n    return n.device.type == 'cuda'\n"
    ),
    "renamed import": "from torch import device as place\n\n\ndef f(n):\n    return place(n)\n",
    "shadowed torch": (
        "def f(n):\n    torch = make_one_of(n)\n    return n.device.type == 'cuda'\n"
    ),
    "loop variable": (
        "def f(n):\n    y = torch.ones(1)\n    for y in n:\n        print(n, SIZES)\n"
        "    return y.is_cuda\n"
    ),
    "match": (
        "def f(n):\n    match n:\n        case 1:\n            where = 'cuda'\n"
        "    print(n, SIZES)\n    return other.build(where)\n"
    ),
    "word before what it holds": (
        "W = 'cuda'\n\n\ndef f(device, where=W):\n    print(SIZES)\n    other.build(where, n=1)\n"
    ),
    "parameter": (
        "def f(n, y: torch.Tensor, other: int = 3, *, x: 'torch.Tensor' = None):\n"
        "    print(n, SIZES)\n    return y.is_cuda or x.is_cuda\n"
    ),
    "class attribute": (
        "class A:\n    y = torch.ones(1)\n\n    def g(self):\n"
        "        print(SIZES, SIZES)\n        return self.y.is_cuda\n"
    ),
    "function among arguments": (
        "def f(n):\n    y = torch.ones(n, out=n.made(SIZES))\n    return y.is_cuda\n"
    ),
    "choice": "def f(n):\n    y = torch.ones(1) if n.y else torch.ones(2)\n    return y.is_cuda\n",
    "second choice": "def f(n):\n    y = torch.ones(1) or n.y(SIZES)\n    return y.is_cuda\n",
    "unpacked": "def f(n):\n    x, y = n.x(SIZES), torch.ones(2)\n    return y.is_cuda\n",
    "next": "def f(n):\n    y = next(n.parameters())\n    print(n)\n    return y.is_cuda\n",
    "named expression": (
        "def f(n):\n    if (y := torch.ones(1)) is n:\n        print(SIZES)\n    return y.is_cuda\n"
    ),
    "method": (
        "class A:\n    def cuda(self, n):\n        print(n, SIZES)\n\n"
        "    def g(self):\n        return self.cuda()\n"
    ),
    "settings": "def f(n, args):\n    print(n, SIZES)\n    n.to(args.device)\n",
    "setting by key": "def f(n, cfg):\n    print(n, SIZES)\n    n.to(cfg[0].device)\n",
    "own device": (
        "class A:\n    def __init__(self, n):\n        self.device = n\n        print(SIZES, n)\n\n"
        "    def g(self):\n        return torch.ones(1, device=self.device)\n"
    ),
    "module of a device": (
        "import torch as th\n\n\ndef f(add):\n    print(SIZES)\n    add('--on', type=th.device)\n"
    ),
    "place of a checkpoint": (
        "def f(n, where):\n    given = {'map_location': where}\n    print(n, SIZES)\n"
        "    return torch.load(n, **given)\n"
    ),
    "no neighbours": (
        "def f(n):\n    if torch.cuda.is_available():\n        print(n)\n    print(n, SIZES)\n"
        "    if n.mps.is_available():\n        n.cuda()\n"
    ),
    "imported name": (
        "from other import build, Sizes, pick\n\n\ndef f(n):\n    print(n, SIZES)\n"
        "    return build(n, where='cuda')\n"
    ),
    "held as a format": (
        "def f(n):\n"
        "    where = 'cuda:%d' % n\n"
        "    print(n, SIZES)\n"
        "    return other.build(where, 1)\n"
    ),
    "held as a call of format": (
        "def f(n, y='cuda:{}'.format(1)):\n    print(n, SIZES)\n    return other.build(y)\n"
    ),
    "held as an f-string": (
        "def f(n, x=f'cuda:{SIZES}'):\n    print(n, SIZES)\n    other.build(x)\n"
    ),
    "held by a choice": (
        "def f(n, x='cuda'):\n"
        "    y = 'cpu' if n.x else x\n"
        "    print(n, SIZES)\n"
        "    return other.build(y)\n"
    ),
    "held by a second choice": (
        "def f(n, x='cuda'):\n    y = n.x or x\n    print(n, SIZES)\n    return other.build(y)\n"
    ),
    "held as a text": (
        "def f(n):\n"
        "    x = 'cuda'\n"
        "    y = str(x)\n"
        "    print(n, SIZES)\n"
        "    return other.build(y)\n"
    ),
    "held by an attribute": (
        "class A:\n"
        "    def f(self, n):\n"
        "        print(n, SIZES)\n"
        "        other.build(self.y, n)\n"
        "\n"
        "    def g(self):\n"
        "        self.y = 'cuda'\n"
    ),
    "held by an attribute of the class": (
        "class A:\n"
        "    x = 'cuda'\n"
        "\n"
        "    def f(self, n):\n"
        "        print(n, SIZES)\n"
        "        other.build(self.x)\n"
    ),
    "held by what is returned": (
        "def f(n):\n"
        "    if n:\n"
        "        return 'cuda'\n"
        "    return 'cpu'\n"
        "\n"
        "\n"
        "def g(n):\n"
        "    print(n, SIZES)\n"
        "    other.build(f(n))\n"
    ),
    "held by a global": (
        "def f(n):\n"
        "    global where\n"
        "    where = 'cuda'\n"
        "    print(n, SIZES)\n"
        "\n"
        "\n"
        "def g(n):\n"
        "    print(n, SIZES)\n"
        "    other.build(where, n)\n"
    ),
    "held by a mapping": (
        "def f(n):\n"
        "    given = dict(device=n)\n"
        "    print(n, SIZES)\n"
        "    return torch.ones(1, **given)\n"
    ),
    "held settings": ("def f(n, args):\n    y = args.device\n    print(n, SIZES)\n    n.to(y)\n"),
    "held settings by key": (
        "def f(n, args):\n    x = args['device']\n    print(n, SIZES)\n    n.to(x)\n"
    ),
    "held device of a default": (
        "def f(n, y=torch.device('cuda')):\n    print(n, SIZES)\n    return other.build(y)\n"
    ),
    "held name of torch": (
        "def f(n):\n"
        "    y = torch.cuda.Stream\n"
        "    print(n, SIZES)\n"
        "    if torch.cuda.is_available():\n"
        "        x = y(n)\n"
        "    return n\n"
    ),
    "module in a variable": (
        "def f(n):\n"
        "    x, y = n, torch.utils.cpp_extension\n"
        "    print(n, SIZES)\n"
        "    return y.load('a.cu', sources=['b.cu'])\n"
    ),
    "module two lines up": (
        "def f(n):\n    print(n, SIZES)\n    return (torch.  # of them\n"
        "        utils.cpp_extension.load('a.cu', sources=['b.cu']))\n"
    ),
    "space in a call": (
        "def make(n):\n    print(n, SIZES)\n    return torch.ones(n)\n\n\n"
        "def g():\n    return make \\\n        (3).is_cuda\n"
    ),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", NEEDED)
def test_what_a_rule_looks_up_stays(name: str, style: Style) -> None:
    head = "import other\n" if name == "docstring" else "import other\nimport torch\n"
    _agree(head + "\nSIZES = {'small': 1, 'large': 2}\n\n\n" + NEEDED[name], style)


@pytest.mark.parametrize(
    "line",
    [
        "y = x.gather(1, n)",
        "y = n[0].load(x)",
        "y = n(x).scatter(x)",
        "y = n.load(x)",
        "y = n.model.device",
        "y = [LATER, n]",
        "y = n.LATER",
        "y = n.SEEN",
        "y = n.mine",
        "y = [mine, n]",
    ],
)
def test_what_only_looks_like_a_word_goes(line: str) -> None:
    source = (
        f"import torch\nimport n\n\n\ndef f(x):\n    {line}\n    print(y, SIZES)\n\n\n"
        "def g(x):\n    LATER = 'cuda'\n    return x.to(LATER)\n\n\nSEEN = 'cuda'\n\n\n"
        "class A:\n    def h(self):\n        self.mine = 'cuda'\n"
    )
    slice_ = take_slice(source, NAMES)
    assert slice_ is not None and "y = " not in slice_.text
    assert "LATER = 'cuda'\n    return x.to(LATER)\n" in slice_.text
    assert _agree(source, "explicit")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("x.load(n)", True),
        ("(x.y.load(n))", True),
        ("a = x[1].load(n)", True),
        ("a = 'x'.load(n)", True),
        ("a = x.\\\ny.load(n)", False),
        ("a = (torch.  # why\n    y.load(n))", False),
        ("a = torch.x.load(n)", False),
        ("a = load(n)", False),
        ("a = x. load(n)", False),
        ("x . load(n)", False),
        ("x\n.load(n)", False),
    ],
)
def test_the_method_of_an_object(text: str, answer: bool) -> None:
    source = "pass; " + text
    assert is_foreign_method(source, source.index("load"), {"torch"}) is answer


def test_an_import_that_left_out_text_uses_stays() -> None:
    source = "import torch\n\n\ndef f(x):\n    torch.relu(x).sum(); torch.cuda.init()\n"
    result = _said(source, "explicit", False)
    assert "import torch\n" in result.code and "import tdev\n" in result.code
    assert _agree(source, "explicit")


SHORT = """import torch
from elsewhere import Unused, build, Other
from torch import Tensor


@wraps(one, two)
def run(x: Tensor, unused: int = 3, *, n=(2), last: int = 4) -> list[int]:
    # Why this is so.
    size = build(x, len(x) + 1)[2]
    y = torch.ones(build(size), n).view(size * n)
    print(size)

    for i in range(size):
        if i > size and y:
            y.cuda()
    # And this.
    return [y, size]
"""


def test_what_stays_of_a_statement() -> None:
    slice_ = take_slice(SHORT, NAMES)
    assert slice_ is not None
    assert (
        slice_.text
        == """import torch
from elsewhere import Other
from torch import Tensor
@...
def run(unused=None, *, last=None) -> ...:
    # Why this is so.
    pass
    y = torch.ones().view()
    for i in ...:
        if ...:
            y.cuda()
    # And this.
    pass
"""
    )
    assert _agree(SHORT, "explicit")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("x.device", True),
        ("x.to(y.device, n)", True),
        ("f(device=x.y[0].device)", True),
        ("f(device=x.device.type)", False),
        ("f(device=x.device if n else y)", False),
        ("self.device", False),
        ("self.x.device", True),
        ("args.device", False),
        ("self.train_cfg.device", False),
        ("cfg[0].device", False),
        ("torch.device", False),
        ("x.device(n)", False),
        ("x.device = y", False),
        ("x.devices", False),
        ("x.f().device", False),
        ("f(device=device)", False),
        ("device: str", False),
    ],
)
def test_the_device_of_an_object(text: str, answer: bool) -> None:
    assert bool(object_of_device(text, text.index("device"), {"torch"})) is answer


def test_docstrings_in_left_out_text_ask_for_nothing() -> None:
    source = (
        "import torch\n\n\ndef f(x):\n    torch.cuda.init()\n\n\ndef g(x):\n"
        '    """As torch does it."""\n    return x + 1\n'
    )
    assert _said(source, "explicit", False).code.startswith("import tdev\n")
    assert _agree(source, "explicit")


def test_a_tree_goes_without_the_collector() -> None:
    def count() -> int:
        found = Counter(map(type, gc.get_objects()))
        return sum(found[kind] for kind in found if issubclass(kind, (cst.CSTNode, ast.stmt)))

    _said(SOURCE, "explicit", False)
    gc.collect()
    gc.disable()
    try:
        before = count()
        for whole in (False, True):
            _said(SOURCE, "explicit", whole)
        assert count() == before
    finally:
        gc.enable()


def test_where_statements_start_a_line() -> None:
    source = "x = 1; y = 2\nz = 3; \\\nw = 4\n\n# why\n@n\ndef f(a):\n    print(a, a, a, a)\n"
    slice_ = take_slice(source, NAMES)
    assert slice_ is not None
    assert slice_.statements == (0, source.index("z"), source.index("@"))


def test_nodes_are_checked_again_after_a_parse() -> None:
    Tree(SOURCE)
    with pytest.raises(SyntaxError_):
        Tree("x = (\n")
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")


def test_a_global_that_a_with_statement_binds() -> None:
    source = "import torch\n\n\ndef f(x):\n    global y\n    with x as y:\n        y.cuda()\n"
    assert "import tdev" in rewrite(source, NAMES, Options(), filename="f.py").code


def test_strings_in_left_out_text_ask_for_the_whole() -> None:
    source = "import torch\n\n\ndef f(x):\n    print('by torch.relu', x)\n    torch.cuda.init()\n"
    with pytest.raises(WholeTextNeeded):
        _said(source, "explicit", False)
    assert rewrite(source, NAMES, Options(), filename="f.py") == _said(source, "explicit", True)


def test_what_torch_jit_has_for_annotations_compiles_nothing() -> None:
    body = "\n\ndef f(x):\n    return x.cuda()\n\n\ndef g(x):\n    return x + x + x + x\n"
    assert take_slice(f"import torch\nfrom torch.jit import Final{body}", NAMES) is not None
    for name in ("script", "script_if_tracing as quickly", "Final, export", "*"):
        assert take_slice(f"import torch\nfrom torch.jit import {name}{body}", NAMES) is None
