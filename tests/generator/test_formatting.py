"""What black is not given, or is given in parts, is as black would write it."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import black
import pytest
from black.parsing import InvalidInput

from generator import catalog, paths
from generator.render import formatting, render
from generator.render.imports import only_imports
from generator.render.writer import present

LONG = "a" * 60
LISTED = '''# Made by nobody.
"""What is here.

And what is not.
"""

from torch.cuda import (
    empty_cache as empty_cache,
    synchronize as synchronize,
)
from torch.cuda import amp as amp
from tdev_core.mirror.checkers import MYPY

if not MYPY:  # who finds it anyway
    from torch.cuda import comm as comm
    from torch.cuda import nccl as nccl
'''
CHOSEN = (
    LISTED.replace("if not MYPY:", "if MYPY:") + "else:\n    from tdev.cuda import comm as comm\n"
)


def by_black(text: str, stub: bool = False) -> str | None:
    """``text`` as black writes it; None where it is no Python."""
    try:
        return black.format_str(text, mode=formatting._mode(stub))
    except InvalidInput:
        return None


def test_emitted_files_are_as_black_writes_them() -> None:
    """Some of those that it has not seen, and of those that it has seen in parts; ``nox -s lint`` takes all."""
    emitted = [path for path in present(paths.GENERATED) if path.endswith((".py", ".pyi"))]
    sources = [path for path in emitted if path.endswith(".py")]
    chosen = sorted({*emitted[::8], *sources[::4]})
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "black",
            "--check",
            *(str(paths.GENERATED / path) for path in chosen),
        ],
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_most_emitted_files_only_import() -> None:
    emitted = list(present(paths.GENERATED))
    spared = [
        path
        for path in emitted
        if only_imports((paths.GENERATED / path).read_text(encoding="utf-8"))
    ]
    assert len(spared) > len(emitted) / 2


@pytest.mark.parametrize(
    "text",
    [
        LISTED,
        CHOSEN,
        LISTED.replace("\n\nAnd what is not.\n", ""),
        LISTED.replace("What is here.", "What is here, at length." * 9),
        LISTED.replace("What is here", "Qué hay aquí"),
        LISTED.replace("empty_cache as empty_cache", f"{LONG} as {LONG}"),
        LISTED.replace("    empty_cache as empty_cache,\n", ""),
        LISTED.replace(" as amp", ""),
        LISTED.partition("\nif ")[0],
    ],
)
def test_lists_of_imports_are_recognised(text: str) -> None:
    assert only_imports(text)
    assert by_black(text) == by_black(text, stub=True) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("amp as amp", f"{LONG} as {LONG}"),
        ("    from torch.cuda import comm as comm", f"    from torch.cuda import {LONG} as {LONG}"),
        ("synchronize,\n", "synchronize\n"),
        ("    synchronize as", "  synchronize as"),
        ("amp as amp", "(amp as amp)"),
        ("amp as amp", "amp as class"),
        ("amp as amp", "amp as  amp"),
        ("amp as amp", "amp as amp "),
        ("amp as amp", "amp as amp;"),
        ("amp as amp\n", "amp as amp\nx = (1)\n"),
        ("torch.cuda import amp", "torch. cuda import amp"),
        ("torch.cuda import amp", "torch.if import amp"),
        ("(\n    empty", "(  \n    empty"),
        ("(\n    empty", "(\n\n    empty"),
        ("\n\nfrom torch.cuda import (", "\nfrom torch.cuda import ("),
        ("\n\nfrom torch.cuda import (", "\n\n\n\nfrom torch.cuda import ("),
        ("MYPY\n\nif", "MYPY\nif"),
        ("MYPY\n\nif", "MYPY\n\n\n\nif"),
        ("who finds it", "who finds it" * 9),
        ("who finds it", "誰" * 60),
        ("MYPY:  #", "MYPY: #"),
        ("MYPY:  #", " MYPY:  #"),
        ("    from torch.cuda import nccl", "     from torch.cuda import nccl"),
        ("# Made", "#Made"),
        ("nobody.\n", "nobody. \n"),
        ('"""What', '""" What'),
        ('"""What', "'''What"),
        ("here.\n", "here. \n"),
        ("here.\n", "here.\x0c\n"),
        ("And", "\tAnd"),
        ("And", "\xa0And"),
        ("What", 'What """'),
        ("What", "What\r"),
        ("\n\nAnd", "\n \nAnd"),
        ('is not.\n"""', 'is "not".""""'),
        ("comm as comm\n", "comm as comm\n\n\n"),
        ("\nAnd what is not.\n", ""),
    ],
)
def test_what_black_would_change_is_left_to_black(before: str, after: str) -> None:
    for text in (LISTED, CHOSEN):
        assert before in text
        broken = text.replace(before, after)
        assert by_black(broken) != broken
        assert not only_imports(broken)


def test_nothing_near_a_list_of_imports_is_taken_for_one_wrongly() -> None:
    """Small changes at random: whatever is still recognised is still as black writes it."""
    chance = random.Random(0)
    pieces = [
        "",
        " ",
        "\n",
        "\n\n",
        "    ",
        ",",
        '"',
        "#",
        "\\",
        "é",
        "\x1c",
        "as",
        "if",
        "else:\n",
        LONG,
    ]
    recognised = 0
    for _ in range(3000):
        text = chance.choice((LISTED, CHOSEN))
        for _ in range(chance.choice((1, 1, 2))):
            start = chance.randrange(len(text))
            end = start + chance.choice((0, 0, 1, 2, 10))
            text = text[:start] + chance.choice([*pieces, text[start : start + 40]]) + text[end:]
        if only_imports(text):
            recognised += 1
            assert by_black(text, stub=True) == text, text
    assert recognised > 30


def test_a_module_formatted_in_parts_is_as_black_writes_the_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TDEV_CACHE_DIR", str(tmp_path))
    text = (
        "# Made by nobody.\n'''What is here.'''\n\nimport torch\n\nif torch :\n    import torch.cuda\n\n\n"
        "def f(x):\n    '''One.'''\n\n    def g(): pass\n    return x [1]\n\n\n"
        "@torch.no_grad()\ndef h(x): return f(x = {'a': 1})\n\n\n\n"
        "def i() -> None: ...\n\n\n_mirror.adopt(\n    __name__,\n    {'x':1, })\n\n"
    )
    with formatting.formatting() as formatter:
        formatter.add("x.py", text)
        assert formatter.finish() == {"x.py": by_black(text)}


def test_black_is_not_asked_about_lists_of_imports(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TDEV_CACHE_DIR", str(tmp_path))
    asked: list[str] = []

    def asking(path: str, text: str) -> str:
        asked.append(path)
        return text

    monkeypatch.setattr(formatting, "_format", asking)
    with formatting.formatting() as formatter:
        formatter.add("a.py", LISTED)
        assert "a.py" in formatter
        formatter.add("b.py", "x = 1\n")
        assert formatter.finish() == {"a.py": LISTED, "b.py": "x = 1\n"}
    assert asked == ["b.py"]


def test_black_changes_only_long_lines_and_quotes_in_what_the_templates_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It goes twice over a file that it changes."""
    unformatted: dict[str, str] = {}

    class Collector:
        def __contains__(self, path: str) -> bool:
            return path in unformatted

        def add(self, path: str, text: str) -> None:
            unformatted[path] = text

        def finish(self) -> dict[str, str]:
            return unformatted

    @contextmanager
    def collecting() -> Iterator[Any]:
        yield Collector()

    monkeypatch.setattr(render, "formatting", collecting)
    render.render(catalog.read(paths.CATALOG), paths.TEMPLATES)
    changed = [
        path
        for path, text in unformatted.items()
        if text != (paths.GENERATED / path).read_text(encoding="utf-8")
    ]
    assert changed  # there are some: black is needed
    for path in changed:
        reason = re.search(r"^(?:.{101,}|.*[\[(= ]'.*)$", unformatted[path], re.MULTILINE)
        empty = '"""\n\n' if unformatted[path].endswith('"""\n\n') else None
        assert reason or empty, path
