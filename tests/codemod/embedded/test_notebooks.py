"""Notebooks: cells are rewritten, everything else keeps its bytes."""

from __future__ import annotations

import copy
import json
import random
import re
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdev_core.codemod import engine
from tdev_core.codemod.embedded.segments import Segment, rewrite_together
from tdev_core.codemod.engine import Edit, Names, Options, Result
from tdev_core.codemod.jobs.process import Job, process
from tdev_core.codemod.model import Kind, Outcome, Status
from tests.codemod import small_engine

NAMES = Names(frozenset(), {}, {}, frozenset(), {}, frozenset())
PNG = "iVBORw0KGgo" * 50


def notebook(*cells: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def code(*rows: str, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 3,
        "metadata": {},
        "outputs": [],
        "source": list(rows),
    } | more


def run(raw: bytes) -> Outcome:
    return process(Job("n.ipynb", Kind.NOTEBOOK, raw, Options()), small_engine, NAMES)


def text(data: dict[str, Any], **layout: Any) -> str:
    return json.dumps(data, **({"indent": 1, "ensure_ascii": False} | layout)) + "\n"


def sources(raw: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(raw)["cells"]]


def test_only_the_changed_lines_of_the_file_change() -> None:
    outputs = [
        {"output_type": "display_data", "data": {"image/png": PNG}, "metadata": {}},
        {"output_type": "stream", "name": "stdout", "text": ["torch.cuda.synchronize()\n"]},
    ]
    data = notebook(
        {
            "cell_type": "markdown",
            "id": "m",
            "metadata": {},
            "source": ["Call torch.cuda.synchronize()"],
        },
        code("%matplotlib inline\n", "import torch\n", "x = 'größe'", outputs=outputs, id="b"),
        code("# first\n", "torch.cuda.synchronize()", id="a"),
        kernelspec={"display_name": "3", "language": "python", "name": "python3"},
    )
    nbformat.validate(data)
    old = text(data)
    found = run(old.encode())
    assert found.new is not None
    new = found.new.decode()
    before, after = old.splitlines(), new.splitlines()
    assert [line for line in after if line not in before] == [
        '    "import tdev\\n",',
        '    "tdev.cuda.synchronize()"',
    ]
    assert [line for line in before if line not in after] == ['    "torch.cuda.synchronize()"']
    nbformat.validate(json.loads(new))
    assert [(c.rule, str(c.place)) for c in found.changes] == [
        ("imports", "cell 2:2:13"),
        ("calls", "cell 3:2:1"),
    ]
    assert run(found.new).status is Status.UNCHANGED


@pytest.mark.parametrize(
    "layout",
    [
        {"indent": None},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": None, "separators": (",", ":")},
        {"sort_keys": True},
        {"ensure_ascii": True},
    ],
    ids=str,
)
def test_the_layout_of_the_json_stays(layout: dict[str, Any]) -> None:
    data = notebook(
        code("torch.cuda.synchronize()  # größe\n", "y = '€'"), code("x = 1"), zzz=1, aaa="ü"
    )
    old = text(data, **layout)
    found = run(old.encode())
    assert found.new == old.replace('"torch.cuda', '"tdev.cuda').encode()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_newlines_and_the_end_of_the_file_stay(newline: str, end: str, bom: bytes) -> None:
    old = (
        bom
        + (text(notebook(code("torch.cuda.synchronize()"))).strip() + end)
        .replace("\n", newline)
        .encode()
    )
    assert run(old).new == old.replace(b'"torch.cuda', b'"tdev.cuda')


def test_escapes_and_odd_spellings_outside_the_changed_lines_stay() -> None:
    old = text(notebook(code("a = '/'\n", "torch.cuda.synchronize()\n", "b = 1"))).replace(
        "/", "\\/"
    )
    old = old.replace('"b = 1"', '"\\u0062 = 1"')
    assert run(old.encode()).new == old.replace('"torch.cuda', '"tdev.cuda').encode()


def test_a_source_that_is_one_string_stays_one() -> None:
    old = text(notebook(code() | {"source": "import torch\n\ntorch.cuda.synchronize()"}))
    found = run(old.encode())
    assert found.new is not None
    assert json.loads(found.new)["cells"][0]["source"] == (
        "import torch\nimport tdev\n\ntdev.cuda.synchronize()"
    )


def test_an_import_at_the_end_of_a_cell_stays_in_that_cell() -> None:
    old = text(
        notebook(code("import torch"), code("%%bash\n", "ls"), code("torch.cuda.synchronize()"))
    )
    found = run(old.encode())
    assert found.new is not None
    assert sources(found.new) == [
        "import torch\nimport tdev",
        "%%bash\nls",
        "tdev.cuda.synchronize()",
    ]


def test_cells_that_are_not_python_are_left_alone_and_named() -> None:
    old = text(
        notebook(
            code("torch.cuda.synchronize("),
            code("%%bash\n", "echo torch.cuda.synchronize()"),
            code(
                "!python -c 'import torch; torch.cuda.synchronize()'\n", "torch.cuda.synchronize()"
            ),
            code("this is no code"),
        )
    )
    found = run(old.encode())
    assert found.new is not None
    assert sources(found.new)[:2] == sources(old.encode())[:2]
    assert sources(found.new)[2].splitlines()[1] == "tdev.cuda.synchronize()"
    assert [(r.rule, r.place.cell, r.severity) for r in found.remarks] == [
        ("notebook-syntax", 1, "warning"),
        ("notebook-magic", 2, "warning"),
        ("notebook-magic", 3, "warning"),
        ("notebook-syntax", 4, "note"),
    ]


def test_each_magic_that_says_cuda_is_named_at_its_line() -> None:
    old = text(
        notebook(
            code("import torch\n", "!nvidia-smi -L\n", "torch.cuda.synchronize()\n", "!ls\n"),
            code("%env CUDA_VISIBLE_DEVICES=0\n", "%timeit torch.cuda.synchronize()"),
            code("%%bash\n", "ls\n", "pip install cupy-cuda12x"),
        )
    )
    found = run(old.encode())
    assert [(str(r.place), r.severity, r.name) for r in found.remarks] == [
        ("cell 1:2:1", "note", "!nvidia-smi -L"),
        ("cell 2:1:1", "note", "%env CUDA_VISIBLE_DEVICES=0"),
        ("cell 2:2:1", "warning", "%timeit torch.cuda.synchronize()"),
        ("cell 3:3:1", "note", "pip install cupy-cuda12x"),
    ]


SEEDS = code("import torch\n", "torch.cuda.manual_seed(0)")


def real(data: dict[str, Any]) -> Outcome:
    raw = text(data).encode()
    return process(Job("n.ipynb", Kind.NOTEBOOK, raw, Options()), engine, Names.load())


@pytest.mark.parametrize(
    "line",
    [
        "%pip install -q timm",
        "!pip install timm",
        "! python -m pip install timm",
        "!{sys.executable} -m pip install timm",
        "!uv pip install timm",
        "%conda install timm",
    ],
)
def test_a_notebook_that_installs_what_it_needs_is_told_of_tdev(line: str) -> None:
    found = real(notebook(code("# for a hosted service\n", line), SEEDS))
    [remark] = found.remarks
    assert (remark.rule, str(remark.place), remark.severity) == (
        "notebook-magic",
        "cell 1:2:1",
        "warning",
    )
    assert "install that there, too" in remark.message and remark.name == line
    assert found.new is not None
    again = process(Job("n.ipynb", Kind.NOTEBOOK, found.new, Options()), engine, Names.load())
    assert again.status is Status.UNCHANGED and again.remarks == (remark,), "a second run says so"


@pytest.mark.parametrize(
    "cells",
    [
        (code("%pip install timm tdev"), SEEDS),
        (code("%pip install timm"), code("import torch\n", "torch.manual_seed(0)")),
        (code("# !pip install timm"), SEEDS),
        (SEEDS,),
    ],
    ids=["tdev too", "no change", "a comment", "nothing"],
)
def test_others_are_not(cells: tuple[dict[str, Any], ...]) -> None:
    assert not real(notebook(*cells)).remarks


def test_a_change_keeps_its_reason() -> None:
    def rewrite(source: str, /, *, beside: str = "") -> Result:
        return Result(source, (Edit("r", 1, 1, 1, 1, "", "", "because"),))

    [(_, edit)] = rewrite_together([Segment("x = 1")], rewrite).edits
    assert edit.why == "because"


@pytest.mark.parametrize(
    "metadata",
    [{"kernelspec": {"language": "R"}}, {"language_info": {"name": "julia"}}],
    ids=["R", "Julia"],
)
def test_other_languages_are_left_alone(metadata: dict[str, Any]) -> None:
    old = text(notebook(code("torch.cuda.synchronize()"), **metadata))
    assert run(old.encode()) == Outcome(
        Status.UNCHANGED, f"a notebook in {list(list(metadata.values())[0].values())[0]}"
    )


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"torch", "no notebook"),
        (b'["torch"]', "no object"),
        (b'{"torch": 1, "nbformat": 3, "worksheets": []}', "format 3"),
        (b'{"torch": 1, "nbformat": 4}', "no list of cells"),
        (
            b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1], "torch": 1}]}',
            "strings",
        ),
        (b'{"nbformat": 4, "cells": ["torch"]}', "no object"),
        (b'{"nbformat": 4, "cells": [], "x": "torch\xff"}', "not utf-8"),
        (b"[" * 100_000 + b"torch", "no notebook"),
    ],
)
def test_what_is_no_notebook_says_why(raw: bytes, said: str) -> None:
    found = run(raw)
    assert (
        found.status is Status.ERROR and said in found.message and "report it" not in found.message
    )


@settings(max_examples=80, deadline=None, database=None)
@given(
    st.lists(
        st.lists(
            st.sampled_from(
                [
                    "import torch",
                    "torch.cuda.synchronize()",
                    "x = 'ä\u2028'",
                    "",
                    "%time y",
                    "# ü\x0c",
                ]
            ),
            max_size=4,
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(),
)
def test_whatever_the_notebook_only_source_lines_change(cells: list[list[str]], seed: int) -> None:
    choose = random.Random(seed)
    made = []
    for rows in cells:
        source: Any = "\n".join(rows)
        if choose.random() < 0.7:
            source = [row + "\n" for row in rows[:-1]] + rows[-1:]
        keys = list((code() | {"source": source, "id": PNG[: choose.randrange(9)]}).items())
        choose.shuffle(keys)
        made.append(dict(keys))
    data = notebook(*made, title="ä" * choose.randrange(2))
    old = text(data, indent=choose.choice([None, 1, 3]), ensure_ascii=choose.random() < 0.5)
    found = run(old.encode())
    assert found.status is not Status.ERROR, found.message
    if found.new is None:
        return
    new = found.new.decode()
    # As data, only sources differ; as text, only lines that hold them.
    blank, blank_old = json.loads(new), copy.deepcopy(data)
    for cell in (*blank["cells"], *blank_old["cells"]):
        cell["source"] = None
    assert blank == blank_old and list(map(list, blank["cells"])) == list(map(list, data["cells"]))
    strip = re.compile(r'"(?:import t|t)(?:orch|dev)[^"]*"(?:,\s*)?')
    assert strip.sub("", new) == strip.sub("", old) or any(
        isinstance(cell["source"], str) for cell in made
    )
    assert run(found.new).status is Status.UNCHANGED
