"""Comparisons of a device's type with what only the running program knows."""

from __future__ import annotations

import ast
import collections
from typing import Any

import pytest

from tdev_core.backend import Backend
from tdev_core.run import comparisons
from tdev_core.run.instrumentation import instrument, may_need_it


@pytest.fixture(params=["sim", "mlx", "mps", "cuda", "cpu"])
def here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The type of the backend that is said to be active."""
    monkeypatch.setattr("tdev_core.backend.current", lambda: Backend(request.param))
    return str(request.param)


def asked(text: str, **names: Any) -> Any:
    """The value of an expression whose comparisons ask, and that they do."""
    tree = ast.parse(text)
    assert instrument(tree)
    space = {"Thing": Thing, "case": Case(), **names}
    exec(compile(tree, "<text>", "exec"), space)
    return space.get("result")


class Thing:
    """What has a device, as a tensor has one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.device = self

    @property
    def type(self) -> str:
        return self.text.partition(":")[0]

    def __str__(self) -> str:
        return self.text


class Kind:
    """What tells a device's type alone."""

    def __init__(self, text: str) -> None:
        self.device_type = text


class Case:
    """The two arguments of an assertion, as they arrive."""

    def assertEqual(self, first: object, second: object, msg: str = "") -> None:
        assert first == second, msg

    assertNotEqual = assertEqual

    def assertTrue(self, value: object) -> None:
        assert value

    def assertIn(self, first: object, second: Any, msg: str = "") -> None:
        assert first in second, msg


def test_the_accelerator_is_cuda_in_a_parameter(here: str) -> None:
    x = Thing(here)
    stands = here != "cpu"
    assert asked("result = x.device.type == kind", x=x, kind="cuda") is stands
    assert asked("result = kind == x.device.type", x=x, kind="cuda") is stands
    assert asked("result = x.device.type != kind", x=x, kind="cuda") is not stands
    assert asked("device_type = x.type; result = kind == device_type", x=x, kind="cuda") is stands
    assert (
        asked("result = made[0]['device'].type == kind", made=[{"device": x}], kind="cuda")
        is stands
    )
    assert asked("result = devices[0].type == kind", devices=[x], kind="cuda") is stands
    assert asked("result = x.device.type == kind", x=x, kind=here) is True
    assert asked("result = x.device.type == kind", x=x, kind="xpu") is False
    assert asked("result = x.device.type == kind", x=Thing("cpu"), kind="cuda") is False
    assert asked("result = x.device.type == kind", x=Thing("meta"), kind="cuda") is False


def test_the_accelerator_begins_as_cuda_does(here: str) -> None:
    x = Thing(f"{here}:1")
    stands = here != "cpu"
    for start in ("cuda", ("xpu", "cuda"), here, "cu" if here == "cuda" else here[:1]):
        told = "cuda" not in start or stands
        assert asked("result = x.device.type.startswith(kind)", x=x, kind=start) is told
    assert asked("result = str(x.device).startswith(kind)", x=x, kind="cuda:1") is stands
    assert asked("result = str(x.device).startswith(kind)", x=x, kind="cuda:0") is False
    assert asked("result = x.device.type.startswith(kind)", x=Thing("meta"), kind="cuda") is False
    assert comparisons.begins("sim", "cu") is False  # which does not say CUDA
    if stands:
        asked("assert x.device.type.startswith('cuda')", x=x)
        asked("case.assertTrue(x.device.type.startswith(('cuda', 'xpu')))", x=x)
    else:
        with pytest.raises(AssertionError):
            asked("assert x.device.type.startswith('cuda')", x=x)


def test_the_index_counts(here: str) -> None:
    stands = here != "cpu"
    assert asked("result = str(x.device) == kind", x=Thing(f"{here}:1"), kind="cuda:1") is stands
    assert asked("result = str(x.device) == kind", x=Thing(f"{here}:1"), kind="cuda:0") is False
    assert asked("result = str(x.device) == kind", x=Thing(f"{here}:1"), kind="cuda") is False


def test_several_types_are_compared_at_once(here: str) -> None:
    both = [Thing(here), Thing("meta")]
    stands = here != "cpu"
    kinds = "{x.device.type for x in both}"
    assert asked(f"result = {kinds} == known", both=both, known={"cuda", "meta"}) is stands
    assert asked(f"result = {kinds} == {{'cuda', 'meta'}}", both=both) is stands
    assert asked(f"result = {kinds} != {{'meta', 'xpu'}}", both=both) is True
    pair = "[str(both[0].device), both[1].type, 3]"
    same = asked(f"device = 0; result = {pair} == ['cuda', 'meta', 3]", both=both)
    assert same is stands
    assert asked(f"result = {pair} == ('cuda', 'meta', 3)", both=both) is False


def test_a_list_is_asked_where_the_answer_is_a_verdict(here: str) -> None:
    x = Thing(here)
    stands = here in ("cuda", "sim", "mlx")
    raising = (
        "try:\n    if x.device.type not in kinds:\n        raise ValueError\n    result = True\n"
    )
    raising += "except ValueError:\n    result = False"
    assert asked(raising, x=x, kinds=("cuda", "xpu")) is stands
    assert asked(raising, x=x, kinds={"cuda": 1}) is stands
    assert asked(raising, x=x, kinds=(here,)) is True
    if stands:
        asked("assert x.device.type in ['cuda', 'xpu']", x=x)
        asked("assert str(x.device) in kinds", x=Thing(f"{here}:1"), kinds={"cuda:1"})
    with pytest.raises(AssertionError):
        asked("assert x.device.type not in kinds", x=x, kinds=(here,))
    with pytest.raises(AssertionError):
        asked("assert x.device.type in kinds", x=Thing("meta"), kinds=("cuda", "xpu"))


def test_a_text_that_is_a_device_is_looked_for_among_types(here: str) -> None:
    """As torchsummary asks of its parameter, which programs give ``device.type``."""
    stands = here in ("cuda", "sim", "mlx")
    refused = (
        "try:\n    if device not in ('cuda', 'cpu'):\n        raise ValueError\n    result = True\n"
        "except ValueError:\n    result = False"
    )
    assert asked(refused, device=here) is (stands or here == "cpu")
    assert asked(refused, device="tpu") is False
    if stands:
        asked(
            "assert device.lower() == 'x' or cfg['device'] in ['cuda', 'cpu']",
            device="",
            cfg={"device": here},
        )
    for text in ("assert device in kinds", "assert device in ['tpu']", "fast = device in ['cuda']"):
        assert not instrument(ast.parse(text))
    for source in (b"assert self.device in ['cuda']", b"if cfg['device'] not in ('cuda',): raise"):
        assert may_need_it(source)
    assert not may_need_it(b"for device in ['cuda', 'cpu']: pass")


def test_a_table_by_device_type_gives_cudas_row(here: str) -> None:
    x, y = Thing(f"{here}:1"), Thing("cpu")
    table = {"cuda": "fast", "cpu": "slow", "cuda:1": "second"}
    told = "slow" if here == "cpu" else "fast"
    assert asked("result = table[x.device.type]", x=x, table=table) == told
    assert asked("result = table[x.device.type]", x=y, table=table) == "slow"
    assert asked("result = {'cuda': 1, 'cpu': 0}[kind_of.device_type]", kind_of=Kind(here)) == (
        here != "cpu"
    )
    if here != "cpu":
        assert asked("result = table[str(x.device)]", x=x, table=table) == "second"
    if here != "cuda":
        own = {"cuda": 1, here: 2}
        assert asked("result = own[x.device.type]", x=x, own=own) == 2
        empty = collections.defaultdict(list, cuda=[1])
        assert asked("result = empty[x.device.type]", x=x, empty=empty) == []
    with pytest.raises(KeyError, match=here):
        asked("table[x.device.type]", x=x, table={"xpu": 1})
    assert asked("device_type = 1; result = ['a', 'b'][device_type]") == "b"


def test_a_table_is_written_as_the_program_says(here: str) -> None:
    x = Thing(here)
    counts: dict[str, int] = {}
    text = "counts[x.device.type] = 1; counts[x.device.type] += 1; result = x.device.type == kind"
    assert asked(text, x=x, counts=counts, kind=here) and counts == {here: 2}
    asked("del counts[x.device.type]; x.device.type == kind", x=x, counts=counts, kind=here)
    assert counts == {}


def test_what_is_looked_up_may_be_compared(here: str) -> None:
    held = {"cuda": Thing(here)}
    text = "device_type = kind; result = devices[device_type].type == kind"
    assert asked(text, devices=held, kind="cuda") is (here != "cpu")


def test_unittest_asks_too(here: str) -> None:
    x = Thing(f"{here}:0")
    asked("case.assertEqual(x.device.type, kind, 'said')", x=x, kind=here)
    with pytest.raises(AssertionError, match="said"):
        asked("case.assertEqual('xpu', x.device.type, 'said')", x=x)
    if here != "cpu":
        asked("case.assertEqual(x.device.type, 'cuda')", x=x)
        asked("case.assertEqual('cuda:0', str(x.device), 'said')", x=x)
    if here not in ("cpu", "mps"):
        asked("case.assertIn(x.device.type, ('cuda', 'xpu'), 'said')", x=x)


@pytest.mark.parametrize(
    "text",
    [
        "kernel = x.device.type in ('cuda', 'xpu')",  # may choose what only CUDA has
        "if x.device.type in kinds: pass\nelse: raise ValueError",
        "same = x.device.type == 'cpu'",
        "kernel = x.device.type.startswith('cuda')",  # the codemod's to decide
        "same = x.name.startswith(kind)",
        "same = x.device.type.startswith(*kinds)",
        "same = x.device.type.endswith(kind)",
        "same = node.type == kind",
        "same = 0 < x.device.type < kind",
        "same = x.device.type == kind == other",
        "same = x.device.type < kind",
        "same = f.g(x.device) == kind",
        "same = str(x.device, 'utf-8') == kind and str() == kind",
        "same = x[x.device.type, 1], x[device_name]",
        "x[x.device.type] = del_of[0]",
        "case.assertEqual(*x.device.type, kind)",
        "case.assertIn(kind, x.device.type)",
        "case.check(x.device.type, kind)",
    ],
)
def test_what_stays(text: str) -> None:
    tree = ast.parse(text)
    assert not instrument(tree)
    assert ast.dump(tree) == ast.dump(ast.parse(text))


def test_only_texts_are_respelled(here: str) -> None:
    class Odd(str):
        pass

    assert comparisons.equal(here, Odd("cuda")) is (here == "cuda")
    assert comparisons.equal(3, 3) is True and comparisons.equal([1], None) is False
    assert comparisons.equal(here, NotImplemented) is False
    many = type("Many", (), {"__eq__": lambda self, other: [True, False], "__hash__": None})()
    assert comparisons.equal(many, "cuda") == [True, False] and comparisons.equal_operands(
        many, here
    ) == (many, here)
    assert (
        comparisons.contained(here, f"cuda {here}") is True
        and comparisons.contained("x", "cuda") is False
    )
    assert comparisons.contained(here, iter([here, "x"])) is True
    with pytest.raises(TypeError):
        comparisons.contained("cuda", 3)


def test_questions_inside_questions_and_their_places() -> None:
    source = '"""Doc."""\nfrom __future__ import annotations\n\nassert (\n    x.device.type\n    == (a if y.device.type == b else c)\n)\n'
    tree = ast.parse(source)
    assert instrument(tree)
    assert [type(node).__name__ for node in tree.body[:3]] == ["Expr", "ImportFrom", "Import"]
    questions = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert [node.lineno for node in questions] == [5, 6]
    space: dict[str, Any] = dict(x=Thing("cpu"), y=Thing("cpu"), a="cpu", b="cpu", c="")
    exec(compile(tree, "<text>", "exec"), space)


def test_a_question_is_an_operand_of_another() -> None:
    tree = ast.parse("result = x.device.type == (y.device.type == kind)")
    assert instrument(tree)
    calls = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert len(calls) == 2 and calls[1] == "_tdev_comparisons.equal(y.device.type, kind)"


def test_a_deep_tree_is_no_obstacle() -> None:
    deep = "text = " + " + ".join(["'a'"] * 900) + "\nx.device.type == kind\n"
    assert instrument(ast.parse(deep))


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("print(x.device.type == kind)", "equal(x.device.type, kind)"),  # in a list of arguments
        ("found = [str(x.device) != kind]", "equal(str(x.device), kind)"),
        ("assert get_device().type in kinds", "contained(get_device().type, kinds)"),
        ("row = rows[state['device'].type]", "lookup(rows, state['device'].type)"),
        ("print({d.type for d in devices} == {kind})", ""),
        (
            "print({dev.type for dev in devices} == kinds)",
            "equal({dev.type for dev in devices}, kinds)",
        ),
    ],
)
def test_what_asks_imports_what_it_asks(text: str, asks: str) -> None:
    """Wherever it stands; and in the place of each question is one call."""
    tree = ast.parse(text)
    assert instrument(tree) is bool(asks)
    written = ast.unparse(tree)
    assert written.count("import tdev_core.run.comparisons") == bool(asks)
    assert (
        f"_tdev_comparisons.{asks}" in written if asks else written == ast.unparse(ast.parse(text))
    )


def test_only_the_attribute_that_is_asked_becomes_a_question() -> None:
    """Others begin at the same place."""
    text = "told = batch.parts['x'].is_cuda.real\nbatch.is_cuda = 1\n"
    tree = ast.parse(text)
    assert instrument(tree, {(1, 7), (2, 0)})
    last = ast.unparse(tree).splitlines()
    assert last[1:] == [
        "told = _tdev_comparisons.is_cuda(batch.parts['x']).real",
        "batch.is_cuda = 1",
    ]


def test_a_table_that_makes_its_rows_makes_this_one_too(here: str) -> None:
    from collections import defaultdict

    table = defaultdict(lambda: "made", {"cuda": "cuda's"})
    assert comparisons.lookup(table, here) == ("cuda's" if here == "cuda" else "made")
    assert comparisons.lookup({"cuda": "cuda's", here: "own"}, here) == "own"
