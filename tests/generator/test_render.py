"""Templates and writer: the output of a small catalog is run, and the writer owns its folder."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from generator.errors import GenerationError
from generator.paths import CORE, TEMPLATES
from generator.plan.plan import plan
from generator.render.render import render
from generator.render.stubs import Stubs
from generator.render.writer import compare, write_file, write_tree

sys.path.insert(0, str(Path(__file__).parent))
import small  # noqa: E402


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    catalog = plan(small.facts(*small.members()), small.routes(tmp_path), small.EVIDENCE, CORE)
    return render(catalog, TEMPLATES)


def test_every_emitted_module_parses_and_says_what_made_it(files: dict[str, str]) -> None:
    for path, text in files.items():
        if path.endswith((".py", ".pyi")):
            ast.parse(text)
            assert "@generated" in text.splitlines()[0], path


def test_emitted_functions_have_real_signatures_and_explicit_arms(files: dict[str, str]) -> None:
    text = files["tdev/cuda/__init__.py"]
    assert "def synchronize(device: torch.types.Device = None) -> None:" in text
    arm = "        case _Backend.MPS:\n            _devices.device_index(device)\n            torch.mps"
    assert f"match _instead_of_cuda():\n{arm}" in text
    assert "\nStream = _backend.Backend\n" in text
    assert (
        '-> int:\n    """Mirror of ``torch.cuda.temperature``' in text and "_unsupported(" in text
    )
    assert "# the CPU has finished when a call returns" in text
    assert "exec(" not in text


def test_stubs_hand_on_torchs_types(files: dict[str, str]) -> None:
    stub = files["tdev/cuda/__init__.pyi"]
    assert "from torch.cuda import (" in stub and "    Stream as Stream," in stub
    assert "    import torch.cuda as _theirs" in stub
    assert "\n    synchronize = _theirs.synchronize\n" in stub, (
        "an editor looks for it in the source"
    )


def _stubs(private: dict[str, dict[str, object]]) -> Stubs:
    def module(*typed: str, modules: tuple[tuple[str, str], ...] = ()) -> dict[str, object]:
        return {
            "typed": list(typed),
            "modules": [list(pair) for pair in modules],
            "loaded": [],
            "summary": "",
            "partial": {},
            "since": [],
        }

    modules = {
        "torch": module("a", "b", "_p", modules=(("a", "torch.a"), ("b", "torch.b"))),
        "torch.a": module("x", modules=(("x", "torch.a.x"), ("np", "numpy"))),
        "torch.a.x": module("f"),
        "torch.b": module("f", modules=(("hidden", "torch.b.hidden"),)),
        "torch.b.hidden": module("f"),
    }
    return Stubs({"range": "1", "modules": modules, "private": private, "mirrors": {}})


def _pairs(rows: list[dict[str, str]], key: str = "from") -> list[tuple[str, str]]:
    return [(row[key], row["name"]) for row in rows]


def test_a_package_that_lacks_the_name_of_a_submodule_is_ours() -> None:
    stubs = _stubs({})
    root = stubs.view("torch")
    assert _pairs(root["modules"]) == [("torch", "a"), ("tdev", "b")]
    below = stubs.view("torch.b")
    assert below["modules"] == [] == below["apart"]
    assert _pairs(below["unseen"]) == [("torch.b", "hidden")]


def test_private_submodules_are_looked_for_in_torch_by_mypy_and_in_ours_by_others() -> None:
    def row(*names: str, reached: bool, package: bool = False) -> dict[str, object]:
        return {
            "names": list(names),
            "reached": reached,
            "package": package,
            "loaded": [],
            "partial": {},
            "since": [],
        }

    stubs = _stubs(
        {
            "torch._p": row("f", "bound", reached=True, package=True),
            "torch._p.bound": row("f", reached=True),
            "torch._p.seen": row("f", reached=True),
            "torch._p.unseen": row("f", reached=False),
            "torch._q": row("f", reached=False),
            "torch.a._r": row("f", reached=False),
        }
    )
    root = stubs.view("torch")
    assert root["names"] == []
    assert _pairs(root["modules"]) == [("tdev", "b")]
    assert _pairs(root["apart"]) == [("tdev", "a"), ("tdev", "_p")]
    assert _pairs(root["apart"], "theirs") == [("torch", "a"), ("torch", "_p")]
    assert _pairs(root["unseen"]) == [("torch", "_q")]
    private = stubs.view("torch._p")
    assert private["names"] == ["bound", "f"]
    assert _pairs(private["modules"]) == [("torch._p", "seen")]
    assert _pairs(private["unseen"]) == [("torch._p", "unseen")]


def test_every_module_has_a_stub_and_a_mirror_its_source_beside_it(tmp_path: Path) -> None:
    catalog = plan(small.facts(*small.members()), small.routes(tmp_path), small.EVIDENCE, CORE)
    files = render(catalog, TEMPLATES)
    for name in catalog["modules"]:
        stem = "tdev" + name[len("torch") :].replace(".", "/")
        stubs = {f"{stem}.pyi", f"{stem}/__init__.pyi"} & files.keys()
        assert len(stubs) == 1, name
        (stub,) = stubs
        assert (stub.removesuffix("i") in files) == (name in catalog["mirrors"]), name
        # pyright warns of a stub without a source, unless it stands in a folder.
        assert name in catalog["mirrors"] or stub.endswith("/__init__.pyi")


def test_an_emitted_module_runs(files: dict[str, str], tmp_path: Path) -> None:
    """The small mirror of torch.cuda, executed for real on this host's backend."""
    import torch

    namespace: dict[str, object] = {}
    body = files["tdev/cuda/__init__.py"].partition("_adoption.adopt(")[0]
    exec(compile(body, "small_cuda.py", "exec"), namespace)
    if not torch.cuda.is_available() and not torch.backends.mps.is_available():
        assert namespace["synchronize"]() is None  # type: ignore[operator]
        with pytest.raises(NotImplementedError, match="there is no sensor"):
            namespace["temperature"]()  # type: ignore[operator]


def test_an_undefined_variable_in_a_template_is_an_error(
    files: dict[str, str], tmp_path: Path
) -> None:
    templates = tmp_path / "templates"
    for path in TEMPLATES.rglob("*.j2"):
        target = templates / path.relative_to(TEMPLATES)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    broken = templates / "tdev" / "shims.py.j2"
    broken.write_text("{{ nonsense }}\n", encoding="utf-8")
    catalog = plan(small.facts(*small.members()), small.routes(tmp_path), small.EVIDENCE, CORE)
    with pytest.raises(GenerationError, match="shims.py.j2.*nonsense"):
        render(catalog, templates)
    broken.write_text("def (:\n", encoding="utf-8")
    with pytest.raises(GenerationError, match="invalid Python for tdev/shims.py"):
        render(catalog, templates)


def test_the_writer_writes_what_changed_and_deletes_strays(tmp_path: Path) -> None:
    root = tmp_path / "out"
    assert write_tree(root, {"a/x.py": "1\n", "b.py": "2\n"}) == (2, 0)
    stamp = (root / "b.py").stat().st_mtime_ns
    (root / "stray").mkdir()
    (root / "stray" / "old.py").write_text("old")
    assert write_tree(root, {"a/x.py": "3\n", "b.py": "2\n"}) == (1, 1)
    assert (root / "b.py").stat().st_mtime_ns == stamp
    assert not (root / "stray").exists()
    assert (root / "a" / "x.py").read_text() == "3\n"
    assert write_tree(root, {"a/x.py": "3\n", "b.py": "2\n"}) == (0, 0)


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x.py"
    target.write_text("old")

    def broken(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write_file(target, "new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.py"]


def test_compare_shows_missing_stray_and_changed_files(tmp_path: Path) -> None:
    write_tree(tmp_path, {"same.py": "1\n", "changed.py": "1\n", "stray.py": "1\n"})
    diff = "".join(compare(tmp_path, {"same.py": "1\n", "changed.py": "2\n", "new.py": "3\n"}))
    assert "same.py" not in diff
    for line in ("-1", "+2", "+3", "stray.py (on disk)", "new.py (as generated)"):
        assert line in diff
    assert not list(
        compare(tmp_path, {name: "1\n" for name in ("same.py", "changed.py", "stray.py")})
    )
