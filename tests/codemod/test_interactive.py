"""Hunk by hunk, on a pseudo-terminal: what is answered is what is written, and a no is remembered."""

from __future__ import annotations

import json
import os
import pty
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tdev_core.codemod.cli import main
from tests.codemod.conftest import Ran

SOURCE = """\
import torch


def one():
    torch.cuda.synchronize()
    return 1


def two(x):
    if x.device.type == "cuda":
        torch.cuda.empty_cache()


torch.cuda.init()  # the last
"""
KEPT = "  # tdev: keep\n"
Asked = Callable[..., tuple[int, str]]


@pytest.fixture
def asked(place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Asked:
    """Run `--interactive` with standard input a terminal on which these words are typed."""

    def run(typed: str, *arguments: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        threading.Thread(target=os.write, args=(ours, typed.encode()), daemon=True).start()
        with os.fdopen(theirs, "r", closefd=False) as terminal:
            monkeypatch.setattr("sys.stdin", terminal)
            status = main(["--interactive", "--force", "--jobs", "1", *(arguments or (".",))])
        os.close(ours)
        os.close(theirs)
        return status, re.sub(r"\x1b\[[0-9;]*m", "", capfd.readouterr().out)

    return run


def test_each_hunk_is_asked_for_with_its_reason(place: Path, asked: Asked) -> None:
    (place / "a.py").write_text(SOURCE)
    status, said = asked("y\ny\ny\n")
    assert status == 0
    assert said.count("write this hunk?") == 3 and "(1/3)" in said and "(3/3)" in said
    assert "a.py:5 cuda-reference: References to `torch.cuda`" in said
    assert "-    torch.cuda.synchronize()" in said and "+    tdev.cuda.synchronize()" in said
    text = (place / "a.py").read_text()
    assert text.startswith("import tdev\n") and "torch" not in text


def test_what_is_declined_stays_and_is_remembered(place: Path, asked: Asked) -> None:
    (place / "a.py").write_text(SOURCE)
    asked("n\ny\nn\n")
    text = (place / "a.py").read_text()
    # The import of torch stays, since what was declined needs it.
    assert text == (
        SOURCE.replace("import torch\n", "import tdev\nimport torch\n", 1)
        .replace("synchronize()\n", "synchronize()" + KEPT)
        .replace('x.device.type == "cuda"', "tdev.is_accelerator(x.device.type)")
        .replace("torch.cuda.empty", "tdev.cuda.empty")
        .replace("the last\n", "the last" + KEPT)
    )
    status, said = asked("")
    assert (status, said.count("?")) == (0, 0)  # not asked again
    assert (place / "a.py").read_text() == text


def test_a_baseline_remembers_instead(place: Path, asked: Asked) -> None:
    (place / "a.py").write_text(SOURCE)
    asked("n\ny\ny\n", "--baseline", "no.json", ".")
    text = (place / "a.py").read_text()
    assert "    torch.cuda.synchronize()\n" in text and "keep" not in text
    assert json.loads((place / "no.json").read_text())["files"]["a.py"] == [
        {"rule": "cuda-reference", "line": "torch.cuda.synchronize()", "count": 1}
    ]
    _, said = asked("", "--baseline", "no.json", ".")
    assert "write this hunk?" not in said and (place / "a.py").read_text() == text


@pytest.mark.parametrize("style", ["explicit", "alias"])
def test_what_was_declined_is_no_finding_of_the_linter(
    place: Path, asked: Asked, capfd: pytest.CaptureFixture[str], style: str
) -> None:
    """The imports, which follow the hunks and are not asked for, are not what is left."""
    source = f"{SOURCE}\n\ndef three(x):\n    return x.cuda()\n" if style == "alias" else SOURCE
    (place / "a.py").write_text(source)
    way = ("--style", style, "--baseline", "no.json", ".")
    asked("n\n" * 5, *way)
    judged = ["--check", "--jobs", "1", *way]
    assert main(judged) == 0 and capfd.readouterr().out == ""
    (place / "a.py").write_text(f"{source}torch.cuda.empty_cache()  # new\n")
    assert main(judged) == 1 and "empty_cache" in capfd.readouterr().out


def test_quitting_keeps_what_was_answered(place: Path, asked: Asked) -> None:
    (place / "a.py").write_text(SOURCE)
    (place / "b.py").write_text(SOURCE)
    for typed in ("y\nq\n", "y\n\x04"):  # the end of the input is a no to all that follows
        (place / "a.py").write_text(SOURCE)
        _, said = asked(typed)
        text = (place / "a.py").read_text()
        assert "tdev.cuda.synchronize()" in text and "torch.cuda.init()  # the last\n" in text
        assert "b.py" not in said and (place / "b.py").read_text() == SOURCE


def test_all_of_a_file(place: Path, asked: Asked) -> None:
    (place / "a.py").write_text(SOURCE)
    (place / "b.py").write_text(SOURCE)
    _, said = asked("what\na\nn\na\n")
    assert "y - write this hunk" in said, "what is no answer is told what there is"
    assert "torch" not in (place / "a.py").read_text()
    assert "synchronize()" + KEPT in (place / "b.py").read_text()


def test_an_edited_hunk_is_written_as_it_was_left(
    place: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "a.py").write_text(SOURCE)
    monkeypatch.setenv("VISUAL", "sed -i s/synchronize()/current_stream().synchronize()/")
    asked("e\na\n")
    text = (place / "a.py").read_text()
    assert "    tdev.cuda.current_stream().synchronize()\n" in text and "torch" not in text


def test_under_the_alias_and_in_notebooks_a_file_goes_as_a_whole(place: Path, asked: Asked) -> None:
    (place / "a.py").write_text(SOURCE)
    cell = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "source": "import torch\ntorch.cuda.init()",
    }
    book = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    (place / "n.ipynb").write_text(book)
    _, said = asked("n\nn\n", "--style", "alias", ".")
    assert said.count("(1/1)") == 2
    assert (place / "a.py").read_text() == "# tdev: keep\n" + SOURCE
    assert (place / "n.ipynb").read_text() == book


PORTED = """\
import torch


def one(model):
    return model.to("cuda")




def two(model):
    return model.to("cuda")
"""


@pytest.mark.parametrize("typed", ["y\nn\n", "n\ny\n", "y\nq\n", "n\n", "y\n", "y\ny\n"])
def test_a_file_of_the_accelerator_target_is_changed_whole_or_left_whole(
    place: Path, asked: Asked, typed: str
) -> None:
    (place / "a.py").write_text(PORTED)
    _, said = asked(typed + "\x04", "--target", "accelerator", ".")
    text = (place / "a.py").read_text()
    assert "(1/1)" in said, "there is one answer to give"
    assert text.count("accelerator()") == (2 if typed[0] == "y" else 0)
    assert text.count("cuda") == (0 if typed[0] == "y" else 2)
    assert text.startswith("# tdev: keep\n") == (typed[0] == "n")


def test_it_needs_a_terminal(place: Path, codemod: Callable[..., Ran]) -> None:
    ran = codemod("--interactive", ".")
    assert ran.status == 2 and "on a terminal" in ran.err
