"""What one word in a source decides: the same source with and without it, and what comes of it."""

from __future__ import annotations

import pytest

from tdev_core.codemod.engine import Names, Options, Style, rewrite
from tdev_core.codemod.engine.rules.accelerator import wrapping
from tdev_core.codemod.engine.slicing import lexical

NAMES = Names.load()


def changed(source: str, style: Style = "alias") -> tuple[list[str], list[tuple[int, str]]]:
    """The lines that a rewrite changes, as they are afterwards, and the findings by line and rule."""
    result = rewrite(source, NAMES, Options(style=style), filename="f.py")
    lines = [new for new in result.code.splitlines() if new not in source.splitlines()]
    return lines, [(found.line, found.rule) for found in result.findings]


@pytest.mark.parametrize(
    ("asked", "demanded"),
    [
        ("torch.cuda.is_available()", True),
        ("bool(torch.cuda.is_available())", True),
        ("torch.cuda.device_count() > 0", True),
        ("int(torch.cuda.is_available())", False),
        ("repr(torch.cuda.is_available())", False),
    ],
)
def test_what_is_asserted_of_cuda_is_demanded(asked: str, demanded: bool) -> None:
    source = f'import torch\n\nassert {asked}, "needs a GPU"\nx = torch.zeros(1, device="cuda")\n'
    lines, found = changed(source)
    assert any("answers_cuda" in line for line in lines) is demanded, lines
    assert ((3, "demand") in found) is demanded


def test_only_the_buffer_of_that_name_is_a_tensor() -> None:
    source = (
        "import torch\nfrom torch import nn\n\n\nclass A(nn.Module):\n    def __init__(self):\n"
        '        super().__init__()\n        self.register_buffer("mask", torch.zeros(1))\n\n'
        "    def there(self):\n        yes = self.mask.is_cuda\n        maybe = self.other.is_cuda\n"
    )
    lines, found = changed(source)
    assert "        yes = torch.is_accelerator(self.mask)" in lines
    assert not any("self.other" in line for line in lines) and found == [(12, "is-cuda")]


def test_what_is_scripted_outside_of_a_class_is_no_method() -> None:
    source = "import torch\n\n\ndef f(self):\n    return torch.jit.script(self.net)\n"
    assert changed(source)[0] == ["import tdev as torch"]


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("", "to(torch.accelerator.current_accelerator())"),
        ("0", "to(0)"),
        ("device=0", ""),
        ("0, device=0", ""),
        ("*given", ""),
    ],
)
def test_a_move_keeps_the_device_that_it_names(given: str, becomes: str) -> None:
    lines, found = changed(f"import torch\n\nx = torch.zeros(1).cuda({given})\n", "accelerator")
    assert lines == ([f"x = torch.zeros(1).{becomes}"] if becomes else [])
    assert found == ([] if becomes else [(3, "accelerator-gap")])


@pytest.mark.parametrize(
    ("line", "inside", "broken"),
    [
        ("f(one_argument,another_argument)", False, ["f(", "    one_argument,", "    another_argument,", ")"]),
        ("one_argument,one_more_arguments", True, ["one_argument,", "one_more_arguments,"]),
        ("[one_name for one_name in names if one_name]", False,
         ["[", "    one_name", "    for one_name in names", "    if one_name", "]"]),
        ("x = f(a, b) if condition else g(c)", False, ["x = (", "    f(a, b)", "    if condition", "    else g(c)", ")"]),
        ("return first_name, second_names", False, ["return (", "    first_name, second_names", ")"]),
        ("assert one_name and another_name", False, ["assert (", "    one_name and another_name", ")"]),
        ("first_name=one_value, second=2", True, ["first_name=one_value, second=2"]),
        ("first_name=one_value, second=22", True, ["first_name=one_value,", "second=22,"]),
        ("short", False, ["short"]),
    ],
)  # fmt: skip
def test_a_long_line_is_broken_as_people_break_it(
    line: str, inside: bool, broken: list[str]
) -> None:
    assert wrapping.wrapped(line, 30, inside) == broken


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("gather(x)", False),
        ("y = x.gather(1)", True),
        ("y = json.load(file)", True),
        ("y = load(file)", False),
        ("y = torch.load(file)", False),
        ("f(x).gather(1)", True),
        ("'a'.join(x)", True),
        ("  .gather(1)", False),
    ],
)
def test_a_method_of_something_elses_is_told_by_what_stands_before(
    text: str, foreign: bool
) -> None:
    name = next(word for word in ("gather", "load", "join") if word in text)
    assert lexical.is_foreign_method(text, text.index(name), {"torch"}) is foreign


@pytest.mark.parametrize("keep", ["", "  # tdev: keep"])
def test_a_comparison_that_is_kept_stays_one_of_identity(keep: str) -> None:
    source = f"from torch import device\n\nd = device('cuda')\nsame = kind is device{keep}\nother = kind == device\n"
    lines, _ = changed(source)
    assert ("same = kind == device" in lines) is (not keep)
    assert not any("other" in line for line in lines)


def test_a_name_is_its_functions_own_unless_it_says_otherwise() -> None:
    source = (
        "import torch\n\n\ndef f():\n    x = torch.zeros(1)\n\n    def g():\n        nonlocal x\n"
        "        x = torch.ones(1)\n        inner = x.is_cuda\n\n    def h():\n        x = thing()\n"
        "        other = x.is_cuda\n\n    outer = x.is_cuda\n"
    )
    lines, found = changed(source)
    asked = [line.strip() for line in lines if "is_accelerator" in line]
    assert asked == ["inner = torch.is_accelerator(x)", "outer = torch.is_accelerator(x)"]
    assert found == [(14, "is-cuda")]


@pytest.mark.parametrize("used", ["f(torch=1)", "t.torch", "f(torch=t.torch)"])
@pytest.mark.parametrize("needed", [False, True])
def test_torch_stays_imported_where_something_needs_it(used: str, needed: bool) -> None:
    """A keyword or an attribute of that name does not; what stands behind it may."""
    source = f"import torch\n\nx = {used}\ntorch.cuda.synchronize()\n"
    source += "print(torch.relu(x))\n" if needed else ""
    code = rewrite(source, NAMES, Options(style="explicit"), filename="f.py").code
    assert code.count("import tdev\n") == 1
    assert ("import torch\n" in code) is needed
