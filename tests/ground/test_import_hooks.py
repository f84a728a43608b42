"""Being told of imports: once, by everybody who waits, and without a trace afterwards."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from tdev_core import import_hooks
from tdev_core.import_hooks import when_imported


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to import from, and a watcher that nobody else waits on."""
    monkeypatch.setattr(import_hooks, "_watcher", import_hooks._Watcher())
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def _watched() -> bool:
    return import_hooks._watcher in sys.meta_path


def test_what_is_imported_is_told_at_once(folder: Path) -> None:
    told: list[object] = []
    when_imported(["json"], told.append)
    assert told == [sys.modules["json"]] and not _watched()


def test_all_who_wait_for_a_module_are_told_once(folder: Path) -> None:
    (folder / "hooked_a.py").write_text("value = 3\n")
    first: list[int] = []
    second: list[int] = []

    def tell_first(module: object) -> None:
        first.append(module.value)  # type: ignore[attr-defined]

    when_imported(["hooked_a"], tell_first)
    when_imported(["hooked_a"], tell_first)
    when_imported(["hooked_a", "hooked_b"], lambda module: second.append(module.value))  # type: ignore[attr-defined]
    assert first == [] and _watched()
    module = importlib.import_module("hooked_a")
    assert (first, second) == ([3], [3])  # after it has been executed
    assert type(module.__loader__) is type(module.__spec__.loader) is SourceFileLoader
    importlib.reload(module)
    assert (first, second) == ([3], [3])
    assert _watched()  # for hooked_b
    (folder / "hooked_b.py").write_text("value = 4\n")
    importlib.invalidate_caches()
    importlib.import_module("hooked_b")
    assert second == [3, 4] and not _watched()


def test_who_found_a_module_tells_of_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "hooked_f.py").write_text(
        "from tdev_core import import_hooks\nimport_hooks._watcher = import_hooks._Watcher()\n"
    )
    monkeypatch.setattr(import_hooks, "_watcher", import_hooks._watcher)  # put back afterwards
    told: list[object] = []
    when_imported(["hooked_f"], told.append)
    module = importlib.import_module("hooked_f")
    assert told == [module]


def test_an_import_that_fails_may_succeed_later(folder: Path) -> None:
    told: list[object] = []
    when_imported(["hooked_c"], told.append)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("hooked_c")
    (folder / "hooked_c.py").write_text("raise KeyError(1)\n")
    importlib.invalidate_caches()
    with pytest.raises(KeyError):
        importlib.import_module("hooked_c")
    assert told == [] and _watched()
    (folder / "hooked_c.py").write_text("x = 1234567\n")
    importlib.invalidate_caches()
    assert told == [importlib.import_module("hooked_c")] and not _watched()


def test_a_callback_may_wait_for_another_module(folder: Path) -> None:
    for name in ("hooked_d", "hooked_e"):
        (folder / f"{name}.py").write_text("")
    told: list[str] = []
    when_imported(
        ["hooked_d"], lambda module: when_imported(["hooked_e"], lambda m: told.append(m.__name__))
    )
    importlib.import_module("hooked_d")
    assert told == [] and _watched()
    importlib.import_module("hooked_e")
    assert told == ["hooked_e"] and not _watched()
