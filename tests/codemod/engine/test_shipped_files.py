"""A file that lies in the tree beside the source is read: where no storage in it says CUDA, torch loads it as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdev_core.codemod.engine import Names, Options, rewrite

WAYS = [
    "str(folder) + '/sizes.pt'",
    "folder / 'sizes.pt'",
    "f'{folder}/sizes.pt'",
    "os.path.join(HERE, 'sizes.pt')",
    "Path(__file__).resolve().parent.joinpath('sizes.pt')",
    "Path(__file__).with_name('sizes.pt')",
    "os.path.join(os.path.dirname(os.path.dirname(__file__)), 'pkg', 'sizes.pt')",
    "os.path.join(os.path.dirname(__file__), '../pkg/sizes.pt')",
]
SOURCE = """import os
from pathlib import Path

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def sizes(name):
    folder = Path(os.path.abspath(__file__)).parent
    return torch.load({})
"""


def loads_as_torch(source: Path, way: str) -> bool:
    text = SOURCE.format(way)
    return "tdev" not in rewrite(text, Names.load(), Options(), filename=str(source)).code


@pytest.mark.parametrize("way", WAYS)
def test_a_file_beside_the_source_is_read(tmp_path: Path, way: str) -> None:
    source = tmp_path / "pkg" / "sizes.py"
    source.parent.mkdir()
    assert not loads_as_torch(source, way)  # it is not there
    shipped = source.with_name("sizes.pt")
    shipped.write_bytes(b"PK\\3\\4 a pickle of storages on the cpu")
    assert loads_as_torch(source, way)
    shipped.write_bytes(b"PK\\3\\4 a pickle of storages on cuda:0")
    assert not loads_as_torch(source, way)
    shipped.write_bytes(b"version https://git-lfs.github.com/spec/v1")
    assert not loads_as_torch(source, way)


@pytest.mark.parametrize("way", ["folder / name", "name", "Path('sizes.pt')", "folder + name"])
def test_another_may_come_from_anywhere(tmp_path: Path, way: str) -> None:
    (tmp_path / "sizes.pt").write_bytes(b"PK\\3\\4 a pickle of storages on the cpu")
    assert not loads_as_torch(tmp_path / "sizes.py", way)
