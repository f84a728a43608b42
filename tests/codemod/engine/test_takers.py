"""Who takes a value, by whichever way it goes there."""

from __future__ import annotations

import ast

import pytest

from tdev_core.codemod.engine import Names, Options, ProgramTree, rewrite
from tdev_core.codemod.engine.python.devices import Devices
from tdev_core.codemod.engine.python.lines import Lines
from tdev_core.codemod.engine.python.takers import Taker, Takers
from tdev_core.codemod.engine.python.tree import PythonTree
from tests.codemod.small_trees import migrated

HEAD = "import torch, other, own, logging\nfrom other import Base\nfrom .near import helper\n\n"


def _taken(text: str) -> list[Taker]:
    """Return who takes ``asked()`` in a text."""
    source = HEAD + text
    tree = PythonTree(Lines(source))
    calls = (n for n in tree.everything if isinstance(n, ast.Call))
    asked = next(n for n in calls if ast.unparse(n) == "asked()")
    return Takers(tree, source, Devices(tree, source), frozenset({"own"})).of(asked)


def _said(text: str) -> list[str]:
    return sorted(
        {f"{t.kind} {t.by}{f'.{t.parameter}' if t.parameter else ''}".strip() for t in _taken(text)}
    )


@pytest.mark.parametrize(
    "text",
    [
        "other.f(gpus=asked())",
        "def f():\n    n = 1 if asked() else 0\n    m = n\n    other.f(gpus=m)",
        "def f(n):\n    if asked():\n        n = 2\n    else:\n        n = None\n    other.f(gpus=n)",
        "def f():\n    d = {'gpus': asked()}\n    other.f(**d)",
        "def f():\n    d = dict(gpus=asked())\n    other.f(**d)",
        "def f():\n    d = {}\n    d['gpus'] = asked()\n    other.f(**d, x=1)",
        "def f(**kw):\n    kw['gpus'] = asked()\n    other.f(**kw)",
        "other.f({'gpus': 1 if asked() else 0})",
        "def f():\n    a, n = 1, asked()\n    other.f(gpus=n)",
        "def f():\n    if (n := asked()):\n        pass\n    other.f(gpus=n)",
        "def f():\n    n = asked() and not 3\n    other.f(gpus=int(n))",
        "def f(o):\n    n = asked()\n    other.f(gpus=o.get('gpus', n))",
        "def g(n):\n    other.f(gpus=n)\ndef f():\n    g(asked())",
        "def g(**kw):\n    other.f(**kw)\ndef f():\n    g(gpus=asked())",
        "class A(Base):\n    def __init__(self, n):\n        other.f(gpus=n)\ndef f():\n    A(n=asked())",
        "from functools import partial\nmake = partial(other.f, gpus=asked())",
        "def f():\n    n = 0\n    for _ in range(2):\n        other.f(gpus=n)\n        n = asked()",
        "def f():\n    n = asked()\n    def g():\n        return other.f(gpus=n)\n    return g",
        "def f():\n    w = {True: 'a', False: 'b'}[asked()]\n    other.f(gpus=w)",
        "def f():\n    w = f'cuda:{asked()}'\n    other.f(gpus=w.upper())",
    ],
)
def test_a_package_takes_it(text: str) -> None:
    assert _said(text) == ["package other.f.gpus"]


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("def f():\n    n = asked()", []),
        ("def f():\n    n = asked()\n    ...", ["open"]),
        ("def f():\n    n = asked()\n    return locals()", ["open"]),
        ("def f():\n    class A:\n        if asked():\n            n = 3", ["open"]),
        ("def f():\n    n = asked()\n    n = 3\n    other.f(n)", []),
        ("def f():\n    n = 'a' if asked() else 'b'\n    print('on ' + n)", ["told"]),
        ("def f():\n    m = f'{asked()}'\n    raise ValueError(m)", ["told"]),
        ("def f():\n    logging.info('%s', asked())", ["told"]),
        ("def f(x):\n    d = 'a' if asked() else 'b'\n    return x.to(d)", ["torch"]),
        ("def f():\n    return torch.zeros(2, device=asked())", ["torch torch.zeros"]),
        ("class A(Base):\n    def __init__(self):\n        super().__init__(n=asked())", ["package other.Base.n"]),
        ("class A:\n    def f(self):\n        self.n = asked()\n    def g(self):\n        other.f(n=self.n)", ["open", "package other.f.n"]),
        ("n = asked()\nother.f(n=n)", ["open", "package other.f.n"]),
        ("def g():\n    return 'a' if asked() else 'b'\nother.f(n=g())", ["open", "package other.f.n"]),
        ("def f(m):\n    d = m.cuda() if asked() else m", ["unknown"]),
        ("def f(m):\n    if asked():\n        m.cuda()", ["unknown"]),
        ("def f():\n    for _ in range(asked()):\n        pass", ["unknown range"]),
        ("def f():\n    return own.f(asked())", ["unknown own.f"]),
        ("def f():\n    return helper(asked())", ["unknown .near.helper"]),
        (
            "def f():\n    t = torch.float16 if asked() else torch.float32\n    other.f(t)",
            ["package other.f", "unknown"],
        ),
        ("@other.mark(asked())\ndef f():\n    pass", ["unknown"]),
        ("def f():\n    global N\n    N = asked()", ["unknown"]),
        ("asked()", ["unknown"]),
    ],
)  # fmt: skip
def test_others_take_it(text: str, who: list[str]) -> None:
    assert _said(text) == who


def test_a_device_is_told_from_a_word() -> None:
    """A call by a name, and a choice of what is made."""
    texts = (
        "def f():\n    d = torch.device('a' if asked() else 'b')\n    other.f(d)",
        "def f():\n    d = torch.device('a') if asked() else torch.device('b')\n    other.f(d)",
        "def f():\n    d = 'a' if asked() else 'b'\n    other.f(d)",
    )
    assert [[t.made for t in _taken(text)] for text in texts] == [[True], [True], [False]]


def test_what_a_notebook_sets_is_its_own() -> None:
    """A word that no cell of it reads stays; another file may read a module's."""
    source = "import torch\n\nACCELERATOR = 'gpu' if torch.cuda.is_available() else 'cpu'\n"
    codes = {
        n: rewrite(source, Names.load(), Options(), filename=n).code for n in ("a.ipynb", "a.py")
    }
    assert codes["a.ipynb"] == source != codes["a.py"]


def test_callers_of_a_question_that_stays_are_promised_nothing() -> None:
    """It is said why it stays, and not that its answer is for what is used."""
    source = (
        "import torch\n\nfrom .near import make\n\n\nclass Model:\n    def fit(self):\n        told = {}\n"
        "        if self._has_gpu():\n            told['accelerator'] = 'gpu'\n        return make(trainer=told)\n\n"
        "    def _has_gpu(self):\n        return torch.cuda.is_available()\n"
    )
    tree = ProgramTree(called=frozenset({"_has_gpu"}))
    result = rewrite(source, Names.load(), Options(tree=tree), filename="a.py")
    assert result.code == source
    assert ["accelerator=…" in each.message for each in result.findings] == [True]


def test_what_a_test_sets_is_its_own_where_nobody_imports_it() -> None:
    margin = (
        "import torch\n\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "device = torch.device(device)\n\n\ndef test_it():\n    pass\n"
    )
    files = {
        "test_one.py": margin,
        "test_other.py": margin,
        "test_more.py": "from .test_other import (\n    device,\n)\nimport torch\n\nX = torch.zeros(3).to(device)\n",
    }
    assert migrated(files, "test_one.py").code == margin
    assert "tdev.device(device)" in migrated(files, "test_other.py").code


def test_what_moves_by_an_answer_takes_it_for_any_device() -> None:
    """A package that calls ``.cuda()`` by it does so through tdev's shims, beside what the file itself moves by the same question."""
    source = (
        "import torch\nfrom pytorch_grad_cam import GradCAM\nfrom other import Explainer\n\n\n"
        "def explain(model, image, mask):\n"
        "    if torch.cuda.is_available():\n        mask = mask.cuda()\n"
        "    with GradCAM(model, use_cuda=torch.cuda.is_available()) as cam:\n"
        "        return cam(image, mask)\n\n\n"
        "def by_another(model):\n    return Explainer(model, use_cuda=torch.cuda.is_available())\n"
    )
    code = migrated({"made.py": source}).code
    assert code.count("tdev.cuda.is_available()") == 2
    assert "Explainer(model, use_cuda=torch.cuda.is_available())" in code
