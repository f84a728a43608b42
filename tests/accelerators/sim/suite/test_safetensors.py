"""``safetensors`` reads to the device by every name of it, and keeps its own class for the CPU."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tdev_core.shims import safetensors_files

# What the library does with a device: a list of its own, and memory that only CUDA's build has.
LIBRARY = '''\
from torch import arange


class safe_open:
    """Opens."""

    def __init__(self, filename, framework, device="cpu", *, backend="mmap"):
        if str(device) != "cpu":
            raise ValueError(f"device {device} is invalid")
        self.device, self.backend, self.opened = device, backend, 0

    def __enter__(self):
        self.opened += 1
        return self

    def __exit__(self, *exc_info):
        self.opened -= 1

    def keys(self):
        return ["a"]

    def get_tensor(self, name):
        return arange(6.0)

    def get_tensors(self):
        return {"a": arange(6.0)}

    def get_slice(self, name):
        return Slice()


class Slice:
    def __getitem__(self, index):
        return arange(6.0)[index]

    def get_shape(self):
        return [6]
'''
LOADING = """\
from safetensors import safe_open


def load_file(filename, device="cpu"):
    with safe_open(filename, framework="pt", device=device) as f:
        return f.get_tensors()
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A library of that name, imported after tdev."""
    package = tmp_path / "safetensors"
    package.mkdir()
    (package / "__init__.py").write_text(LIBRARY)
    (package / "torch.py").write_text(LOADING)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("safetensors", "safetensors.torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    safetensors_files.uninstall()
    safetensors_files.install()
    yield importlib.import_module("safetensors.torch")
    safetensors_files.uninstall()
    for name in ("safetensors", "safetensors.torch"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "device", ["cuda", "sim", "cuda:1", "sim:1", torch.device("sim"), torch.device("cuda", 1), 1]
)
def test_a_file_is_read_to_the_device(library: Any, device: Any) -> None:
    index = 1 if device == 1 or ":1" in str(device) else 0
    found = library.load_file("x", device=device)["a"]
    assert found.device == torch.device("sim", index) and found.tolist() == [0, 1, 2, 3, 4, 5]
    with library.safe_open("x", "pt", device, backend="pread") as file:
        assert isinstance(file, library.safe_open) and file.backend == "pread"
        assert file.keys() == ["a"] and file.opened == 1
        assert file.get_tensor("a").device == torch.device("sim", index)
        part = file.get_slice("a")
        assert part.get_shape() == [6]
        assert part[2:4].device == torch.device("sim", index) and part[2:4].tolist() == [2, 3]
    assert file.opened == 0


def test_on_the_cpu_it_is_the_librarys_own(library: Any) -> None:
    file = library.safe_open("x", "pt")
    assert type(file).__name__ == "safe_open" and type(file) is not library.safe_open
    assert isinstance(file, library.safe_open) and not isinstance(3, library.safe_open)
    assert library.load_file("x", device=torch.device("cpu"))["a"].device.type == "cpu"
    with pytest.raises(ValueError, match="device nonsense is invalid"):
        library.safe_open("x", "pt", device="nonsense")


def test_uninstall_puts_the_class_back(library: Any) -> None:
    ours = library.safe_open
    safetensors_files.uninstall()
    for module in (library, sys.modules["safetensors"]):
        assert module.safe_open is not ours and module.safe_open is ours._tdev_original
    safetensors_files.install()
    assert library.load_file("x", device="cuda")["a"].device.type == "sim"


def test_the_library_itself(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    library.save_file({"a": torch.arange(3)}, str(tmp_path / "x.safetensors"))
    safetensors_files.install()
    try:
        loaded = library.load_file(str(tmp_path / "x.safetensors"), device="cuda")["a"]
    finally:
        safetensors_files.uninstall()
    assert loaded.device.type == "sim" and loaded.tolist() == [0, 1, 2]
