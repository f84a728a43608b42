"""What an audit finds in a code base, and how it says so."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("libcst", reason="an audit needs libcst: pip install 'tdev[codemod]'")
pytest.importorskip("jinja2", reason="an audit needs jinja2: pip install 'tdev[site]'")

from tdev_core.audit.badges import as_svg
from tdev_core.audit.collecting import Audit, collect
from tdev_core.audit.reporting import as_html, as_json, as_markdown, summary
from tdev_core.codemod.engine import Names, SyntaxError_, uses
from tdev_core.commands.audit_cli import badge, main
from tdev_core.site.catalog import Catalog
from tdev_core.site.reading import read
from tdev_core.site.sources import find

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import torch, torch.nn as nn
from torch.cuda.amp import GradScaler, autocast as ac
from torch import cuda as gpu

def train(x, torch_=1):
    stream = gpu.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with ac():
        y = nn.Linear(3, 3)(x)
    torch._C._cuda_clearCublasWorkspaces()
    torch.batch_norm_stats(x, 1.0)
    other(torch=1)
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read(find().root / "catalog.json")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "ünit.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "two.py").write_text("import torch\ntorch.cuda.Stream()\n")
    (tmp_path / "plain.py").write_text("print('hello')\n")
    return tmp_path


@pytest.fixture
def audit(tree: Path, catalog: Catalog) -> Audit:
    return collect([str(tree)], catalog)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch as th\nth.abs(1)\n", ["2:1 torch.abs"]),
        ("import torch.nn.functional as F\nF.relu(x)\n", ["1:8 torch.nn.functional", "2:1 torch.nn.functional.relu"]),
        ("from torch.cuda import synchronize as s\ns()\n", ["1:24 torch.cuda.synchronize", "2:1 torch.cuda.synchronize"]),
        ("import tdev as torch\ntorch.cuda.synchronize()\n", ["2:1 torch.cuda.synchronize"]),
        ("def f():\n    import torch\n    return torch.abs\ntorch.add\n", ["3:12 torch.abs"]),
        ("import torch\ndef f(torch):\n    return torch.abs\n", []),
        ("import torch\nf(torch=1)\nx.torch\n", []),
        ("import torch\ncuda = torch.cuda\ncuda.synchronize()\n", ["2:8 torch.cuda", "3:1 torch.cuda.synchronize"]),
        ("import numpy\nnumpy.abs(1)  # torch.abs\n", []),
        ("import torch\nx.cuda()\nx.to('cuda')\nm.to(device='cuda:1')\n", ["2:3 .cuda", "3:3 .to", "4:3 .to"]),
        ("import torch\nx.to(torch.float16)\nx.to('cpu')\nlog.type('x')\n", ["2:6 torch.float16"]),
        ("import torch\nx.type('torch.cuda.FloatTensor')\nf(x).pin_memory()\n", ["2:3 .type", "3:6 .pin_memory"]),
        ("import torch\nx.cuda\nself.cuda = cuda()\ntorch.cuda.synchronize()\n", ["4:1 torch.cuda.synchronize"]),
        ("import numpy\nx.cuda()  # tor ch\n", []),
    ],
)  # fmt: skip
def test_uses_are_found_by_what_they_stand_for(source: str, expected: list[str]) -> None:
    found = uses(source, Names.load())
    assert [
        f"{one.line}:{one.column} {one.name}" for one in found if one.name != "torch"
    ] == expected


def test_text_that_does_not_parse_is_an_error() -> None:
    with pytest.raises(SyntaxError_):
        uses("import torch\ndef (\n", Names.load())


def notebook(*cells: str, language: str = "python") -> str:
    made = [{"cell_type": "code", "metadata": {}, "source": cell, "outputs": []} for cell in cells]
    kernel = {"language_info": {"name": language}}
    return json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


def test_a_notebook_is_read_as_one_program(tmp_path: Path, catalog: Catalog) -> None:
    cells = (
        "%matplotlib inline\nimport torch as th",
        "!ls\n\nth.cuda.synchronize()\nx.cuda()",
        "def (",
    )
    (tmp_path / "n.ipynb").write_text(notebook(*cells), encoding="utf-8")
    (tmp_path / "r.ipynb").write_text(notebook("x <- torch$cuda()", language="R"), encoding="utf-8")
    (tmp_path / "broken.ipynb").write_text("{", encoding="utf-8")
    found = collect([str(tmp_path)], catalog)
    path = tmp_path / "n.ipynb"
    (used,) = found.used
    assert used.member.name == "torch.cuda.synchronize"
    assert [str(place).endswith("n.ipynb:cell 2:3") for place in used.places] == [True]
    assert [(n, len(p), p[0].cell, p[0].line) for n, p in found.methods] == [("cuda", 1, 2, 4)]
    failed = {Path(path).name: why for path, why in found.failed}
    assert failed["n.ipynb"] == "cell 3 is not Python 3 and was not read"
    assert "it is no notebook" in failed["broken.ipynb"] and len(failed) == 2
    assert found.files == 2 and path.read_text(encoding="utf-8") == notebook(*cells)


def test_methods_are_said_in_each_form(tmp_path: Path, catalog: Catalog) -> None:
    file = tmp_path / "a.py"
    file.write_text("import torch\n" + "torch.ones(1).cuda()\n" * 4, encoding="utf-8")
    found = collect([str(file)], catalog)
    assert ".cuda 4" in summary(found)[-1]
    places = json.loads(as_json(found, ()))["methods"]["cuda"]
    assert places == [f"{file}:{line}" for line in (2, 3, 4, 5)]
    for text in (as_markdown(found, ()), as_html(found, (), "1")):
        assert "Methods" in text and "a.py:4 and 1 more" in text


def test_the_badge_of_the_readme_is_the_examples() -> None:
    """Write it anew with: python -m tdev badge examples/ --output docs/badge.svg"""
    audit = collect([str(ROOT / "examples")], read(find().root / "catalog.json"))
    assert (ROOT / "docs" / "badge.svg").read_text(encoding="utf-8") == as_svg(audit, "mps")
    assert f"{audit.percent('mps')} % run on MPS](docs/badge.svg)" in (
        ROOT / "README.md"
    ).read_text(encoding="utf-8")


def test_each_member_counts_once_with_all_its_places(audit: Audit) -> None:
    found = {one.member.name: one for one in audit.used}
    assert set(found) == {
        "torch.batch_norm_stats",
        "torch.cuda.Stream",
        "torch.cuda.amp.GradScaler",
        "torch.cuda.amp.autocast",
        "torch.cuda.current_stream",
        "torch.nn.Linear",
    }
    stream = [(Path(p.path).name, p.line) for p in found["torch.cuda.Stream"].places]
    assert sorted(stream) == [("two.py", 2), ("ünit.py", 6)]
    assert [name for name, _ in audit.unknown] == ["torch._C._cuda_clearCublasWorkspaces"]
    assert audit.files == 3


def test_the_share_counts_names_that_have_an_answer(audit: Audit) -> None:
    assert audit.runs("cuda") == 6
    assert audit.runs("mps") == 5
    assert audit.percent("mps") == 83
    assert [one.member.name for one in audit.differing()][0] == "torch.batch_norm_stats"
    assert "torch.nn.Linear" not in {one.member.name for one in audit.differing()}


def test_the_table_is_worth_reading(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tree)]) == 0
    out = capsys.readouterr().out
    assert "torch.batch_norm_stats" in out and "unsupported" in out
    assert "6 names of torch in 3 files" in out
    assert "Apple MPS 83 %" in out
    assert "torch.nn.Linear" not in out
    assert main(["--all", str(tree)]) == 0
    assert "torch.nn.Linear" in capsys.readouterr().out


def test_json_has_every_place(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tree), "--format", "json", "--all"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["names"] == 6 and body["percent"]["mps"] == 83
    row = next(one for one in body["used"] if one["name"] == "torch.cuda.Stream")
    assert row["backends"]["mps"]["route"] == "emulated"
    assert len(row["places"]) == 2
    assert list(body["unknown"]) == ["torch._C._cuda_clearCublasWorkspaces"]


def test_markdown_says_what_has_no_answer(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tree), "--format", "markdown"]) == 0
    out = capsys.readouterr().out
    assert "| `torch.batch_norm_stats` | same | unsupported | unsupported |" in out
    assert "## What has no answer" in out and "only for CUDA" in out


def test_the_page_stands_alone(tree: Path, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    assert main([str(tree), "--format", "html", "--output", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "ünit.py:11" in text
    assert not re.search(r"(?:href|src)=\"(?!#)", text)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = re.search(r"style-src 'sha256-([^']+)'", text)
    assert style and digest
    assert digest[1] == base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()


def test_a_path_is_text_and_no_markup(
    tmp_path: Path,
    catalog: Catalog,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would be folded, anywhere
    (tmp_path / "<b>[red]x.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    assert main([str(tmp_path), "--format", "html"]) == 0
    out = capsys.readouterr().out
    assert "<b>[red]" not in out and "&lt;b&gt;[red]x.py:2" in out
    assert main(["."]) == 0
    assert "[red]" in capsys.readouterr().out


def test_badges_say_the_share(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert badge([str(tree), "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body == {
        "schemaVersion": 1,
        "label": "runs on MPS",
        "message": "83 %",
        "color": "#855300",
    }
    assert badge([str(tree), "--backend", "cuda"]) == 0
    svg = ElementTree.fromstring(capsys.readouterr().out)
    title = svg.findtext("{http://www.w3.org/2000/svg}title")
    assert title == "runs on CUDA: 100 % of the names of torch that this project uses"


def test_a_project_without_torch_has_a_badge_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    assert badge([str(tmp_path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["message"] == "no torch"
    assert badge([str(tmp_path)]) == 0
    assert "<title>runs on MPS: no torch</title>" in capsys.readouterr().out
    (tmp_path / "a.py").write_text("def (\ntorch")
    assert badge([str(tmp_path), "--format", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["message"] == "unknown"


def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.py").write_text("import torch\ndef (\n")
    (tmp_path / "nul.py").write_bytes(b"import torch\0")
    (tmp_path / "good.py").write_text("import torch\ntorch.abs(1)\n")
    assert main([str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert "bad.py: it does not parse" in captured.err
    assert "nul.py: it contains null bytes" in captured.err
    assert "1 name of torch in 1 file" in captured.out


def test_bad_input_ends_with_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 2
    assert "no such file or directory" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 2
    assert "there is no Python file" in capsys.readouterr().err
    (tmp_path / "a.py").write_text("import torch\n")
    assert main([str(tmp_path), "--output", str(tmp_path / "no" / "where")]) == 2
    assert "cannot be written" in capsys.readouterr().err
