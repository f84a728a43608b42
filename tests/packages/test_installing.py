"""``tdev.standins.install()``: imports of a process that is not rewritten find what nothing else finds."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdev_core.backend import Backend
from tdev_core.packages import asking, installing
from tdev_core.packages import flash_attn as stand_in
from tdev_core.packages.lacking import LackingImport

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("flash_attn") is not None, reason="flash_attn itself is installed"
    ),
    pytest.mark.filterwarnings("ignore::tdev_core.errors.DeviceWarning"),
]


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("tdev_core.backend.current", lambda: Backend.CPU)
    installing.install()
    installing.install()
    yield
    installing.uninstall()
    for name in [name for name in sys.modules if name.partition(".")[0] == "flash_attn"]:
        del sys.modules[name]


def test_an_import_finds_the_stand_in_under_the_packages_name() -> None:
    module = importlib.import_module("flash_attn")
    assert module.__name__ == "flash_attn" and module.__version__ == stand_in.__version__
    assert module.flash_attn_func is stand_in.flash_attn_func
    padding = importlib.import_module("flash_attn.bert_padding")
    assert module.bert_padding is padding
    assert importlib.import_module("flash_attn.layers.rotary").apply_rotary_emb
    assert asking.is_standing("flash_attn") and "flash_attn" in asking.standing()
    assert asking.leaf("flash_attn").flash_attn_func is stand_in.flash_attn_func
    with pytest.raises(AttributeError, match="flash_attn.nothing is not in the stand-in"):
        _ = module.nothing
    with pytest.raises(LackingImport, match="flash_attn.models.*pip install flash-attn"):
        importlib.import_module("flash_attn.models")
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("flash_attn")


def test_what_has_no_stand_in_is_absent_as_before() -> None:
    assert importlib.util.find_spec("flash_attn_3") is None
    with pytest.raises(ModuleNotFoundError, match="No module named 'nothing_of_the_kind'"):
        importlib.import_module("nothing_of_the_kind")


@pytest.mark.parametrize("why", ["switched off", "on CUDA", "uninstalled"])
def test_otherwise_the_package_is_absent(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if why == "switched off":
        monkeypatch.setenv("TDEV_STANDINS", "0")
    elif why == "on CUDA":
        monkeypatch.setattr("tdev_core.backend.current", lambda: Backend.CUDA)
    else:
        installing.uninstall()
    with pytest.raises(ModuleNotFoundError, match="No module named 'flash_attn'"):
        importlib.import_module("flash_attn")


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_there_is_found_first(
    whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "flash_attn").mkdir()
    if whole:
        (tmp_path / "flash_attn" / "__init__.py").write_text("flash_attn_func = 'the real one'\n")
    importlib.invalidate_caches()
    module = importlib.import_module("flash_attn")
    assert getattr(module, "flash_attn_func", None) == ("the real one" if whole else None)
    with pytest.raises(ModuleNotFoundError, match="No module named 'flash_attn.bert_padding'"):
        importlib.import_module("flash_attn.bert_padding")
