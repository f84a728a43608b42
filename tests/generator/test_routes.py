"""Curated files: what is wrong in them is said with file and entry, before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.errors import GenerationError
from generator.plan.routes import read_routes

GOOD = """
[empty_cache]
spellings."torch.cuda.empty_cache" = {}
spellings."torch.mps.empty_cache" = { device = "None" }
cuda = { route = "mapped", call = "torch.cuda.empty_cache()" }
"mps,mlx" = { route = "mapped", call = "torch.mps.empty_cache()" }
"sim,cpu" = { route = "noop", note = "there is no cache" }
"""


def folder(tmp_path: Path, text: str, name: str = "cuda.toml") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_good_file_is_read(tmp_path: Path) -> None:
    (capability,) = read_routes(folder(tmp_path, GOOD)).capabilities
    assert capability.id == "empty_cache"
    assert set(capability.cells) == {"cuda", "mps", "mlx", "sim", "cpu"}
    assert capability.cells["mlx"] is capability.cells["mps"] or (
        capability.cells["mlx"] == capability.cells["mps"]
    )
    assert capability.spellings["torch.mps.empty_cache"] == {"device": "None"}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("spellings", "spelings", ["unknown key", "spelings"]),
        ('"sim,cpu"', '"sim"', ["no cell for cpu"]),
        ('"sim,cpu"', '"sim,cpu,mps"', ["'mps' has two cells"]),
        ('"sim,cpu"', '"sim,gpu"', ["unknown key", "sim,gpu"]),
        ('"mapped", call', '"maped", call', ["unknown route 'maped'"]),
        ('call = "torch.cuda.empty_cache()"', 'note = "x"', ["needs either call or object"]),
        ('call = "torch.cuda.empty_cache()"', 'call = "torch.("', ["not a Python expression"]),
        ('call = "torch.cuda.empty_cache()"', 'cal = "x"', ["unknown key 'cal'"]),
        (', note = "there is no cache"', "", ["noop needs a note"]),
        (
            'route = "noop", note = "there is no cache"',
            'route = "unsupported", why = "x"',
            ["needs why and instead"],
        ),
        ("[empty_cache]", "[empty_cache", ["not valid TOML"]),
        ("= {}", "= 3", ["needs a table of renames"]),
    ],
)
def test_mistakes_name_file_and_entry(
    tmp_path: Path, before: str, after: str, words: list[str]
) -> None:
    assert before in GOOD
    with pytest.raises(GenerationError) as caught:
        read_routes(folder(tmp_path, GOOD.replace(before, after, 1)))
    for word in ["cuda.toml", *words]:
        assert word in str(caught.value)


def test_a_spelling_belongs_to_one_capability(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match="already belongs to cuda.toml: \\[empty_cache\\]"):
        read_routes(folder(tmp_path, GOOD + GOOD.replace("[empty_cache]", "[other]")))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("shims.toml", '["torch.Tensor.to"]\nnote = "x"', "give factory or devices, or none"),
        ("shims.toml", '["torch.Tensor.to"]\nfactory = "x"', "module:function"),
        ("devices.toml", '["torch.zeros"]\nnote = "x"', "either devices"),
        ("devices.toml", '["torch.zeros"]\ndevice = ["x"]', "unknown key 'device'"),
        ("devices.toml", '["torch.zeros"]\nnone = "x"\nlacking.mlz = "y"', "unknown key 'mlz'"),
        ("scope.toml", "modules = []", "unknown key 'modules'"),
    ],
)
def test_the_other_files_are_strict_too(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(GenerationError, match=words):
        read_routes(folder(tmp_path, text, name))


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match="nowhere"):
        read_routes(tmp_path / "nowhere")
