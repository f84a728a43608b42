"""``python -m generator.upgrade``: what a change of torch means, told from a changed catalog."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from generator import union
from generator.errors import Decision, GenerationError
from generator.facts.pin import PINNED
from generator.upgrade import suggestions
from generator.upgrade.changes import Changes
from generator.upgrade.mentions import mention
from generator.upgrade.report import report, with_decided
from tests.forkserver import python
from tests.generator.small import with_the_pinned

ROOT = Path(__file__).resolve().parent.parent.parent
MENTIONING = ("README.md", "CHANGELOG.md", ".github/workflows/ci.yml", "tdev_core/site/versions.py")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the generator reads."""
    for name in ("generator", "templates", "tdev_core"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "catalog.json", tmp_path)
    return tmp_path


@pytest.fixture
def whole_tree(tree: Path) -> Path:
    """A copy of what it writes too."""
    shutil.copytree(ROOT / "generated", tree / "generated")
    for name in MENTIONING:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    return tree


def upgrade(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": ""}
    return python("-m", "generator.upgrade", *arguments, cwd=tree, env=env)


def changed(tree: Path, change: Any) -> str:
    """The catalog as another torch would have given it."""
    path = tree / "catalog.json"
    catalog = union.view(json.loads(path.read_text(encoding="utf-8")), PINNED)
    change(catalog)
    path.write_text(json.dumps(catalog), encoding="utf-8")
    return path.read_text(encoding="utf-8")


@pytest.mark.deep  # what is told of names that are new is, of those that are not, nothing
def test_nothing_to_tell(tree: Path) -> None:
    done = upgrade(tree, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "Nothing that the mirror shows has changed" in done.stdout


@pytest.mark.deep  # a whole mirror is written twice
@pytest.mark.slow
def test_names_added_removed_and_changed(whole_tree: Path) -> None:
    tree = whole_tree

    def older(catalog: dict[str, Any]) -> None:
        catalog["torch"] = "2.12.0"
        members = catalog["members"]
        del members["torch.relu"], catalog["modules"]["torch.monitor"]
        members["torch.gone"] = members["torch.sin"]
        catalog["modules"]["torch.old"] = catalog["modules"]["torch.hub"]
        members["torch.cuda.synchronize"]["signatures"][0]["parameters"][0]["name"] = "dev"
        members["torch.cos"]["signatures"] = members["torch.matmul"]["signatures"]

    changed(tree, older)
    done = upgrade(tree)
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert text.startswith(f"# torch 2.12.0 → {PINNED}")
    for section in (
        "## Names added: 1\n\n- torch.relu\n",
        "## Names removed: 1\n\n- torch.gone\n",
        "## Modules added: 1\n\n- torch.monitor\n",
        "## Modules removed: 1\n\n- torch.old\n",
        "## Wrapped or routed, and changed or gone: 1\n\n- torch.cuda.synchronize\n",
        "## Changed signatures: 2, in 2 kinds\n\n- torch.cos\n  - `",
        "- torch.cuda.synchronize\n  - `- dev: torch.types.Device = None`\n"
        "  - `+ device: torch.types.Device = None`\n",
    ):
        assert section in text, section
    assert (
        text.split("\nSaved as")[0].strip() == (tree / "build" / "upgrade.md").read_text().strip()
    )
    again = upgrade(tree)
    assert again.returncode == 0 and again.stdout.startswith(text.split("\nSaved as")[0].strip())
    assert json.loads((tree / "catalog.json").read_text())["torch"] == PINNED  # regenerated


def test_names_that_are_only_new_need_nobody_and_a_dry_run_writes_nothing(tree: Path) -> None:
    before = changed(tree, lambda catalog: catalog["members"].pop("torch.relu"))
    done = upgrade(tree, "--dry-run")
    assert done.returncode == 0, done.stdout
    assert "- torch.relu" in done.stdout
    assert (tree / "catalog.json").read_text(encoding="utf-8") == before
    assert not (tree / "generated").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 0}'])
def test_a_catalog_that_cannot_be_read(tree: Path, text: str) -> None:
    (tree / "catalog.json").write_text(text)
    done = upgrade(tree)
    assert done.returncode == 2
    assert "catalog.json" in done.stderr and "Traceback" not in done.stderr


@with_the_pinned
def test_all_decisions_are_told_at_once_with_what_to_write(tree: Path) -> None:
    routes = tree / "generator" / "routes"
    jit = routes / "jit.toml"
    jit.write_text(jit.read_text().replace("torch.jit.load", "torch.jit.load_of_old"))
    devices = routes / "cuda_devices.toml"
    text = devices.read_text()
    for spelling, renames in (
        ("torch.cuda.synchronize", "{}"),
        ("torch.cuda.device_count", "{}"),
        ("torch.mps.synchronize", '{ device = "None" }'),
    ):
        assert f'spellings."{spelling}" = {renames}\n' in text
        text = text.replace(f'spellings."{spelling}" = {renames}\n', "")
    devices.write_text(text)
    streams = routes / "cuda_streams.toml"
    # A name that neither the pinned torch has nor the oldest.
    later = 'spellings."torch.cuda.export_graph_data" = {}\n'
    text = streams.read_text()
    assert later in text
    streams.write_text(text.replace(later, ""))
    text = streams.read_text()
    assert text.count('spellings."torch.xpu.Stream" = {}\n') == 1
    streams.write_text(text.replace('spellings."torch.xpu.Stream" = {}\n', ""))
    random = routes / "cuda_random.toml"
    text = random.read_text().replace('check = "devices.device_index(device)", ', "")
    assert 'mlx,sim,cpu" = { route = "emulated", call = "rng.get_rng_state(device)"' in text
    random.write_text(text.replace("rng.get_rng_state(device)", "rng.get_rng_state()"))
    before = (tree / "catalog.json").read_bytes()
    done = upgrade(tree)
    assert done.returncode == 1, done.stderr
    assert "Nothing was written" in done.stdout
    assert (tree / "catalog.json").read_bytes() == before
    for part in (
        f"jit.toml: [jit_load]: torch {PINNED} has no 'torch.jit.load_of_old'",
        "- torch.cuda.synchronize: in a package of scope.toml, and no route",
        "  - `synchronize(device: torch.types.Device = None) -> None`\n",
        ".synchronize`, cuda_devices.toml: [synchronize]: if it means the same, add there",
        '    `spellings."torch.cuda.synchronize" = {}`',
        '    [cuda_synchronize]\n    spellings."torch.cuda.synchronize" = {}\n    cuda = { route = "native" }\n',
        "- torch.cuda.device_count: in a package",
        '    `spellings."torch.cuda.export_graph_data" = {}`',
        "  - else paste into cuda_devices.toml and complete:",
        # What the nearest capability's cells use, and the function does not take.
        '    `spellings."torch.mps.synchronize" = { device = "None" }`',
        # A class is refused by a class.
        '    # or: { route = "unsupported", object = "…", why = "…", instead = "…" }',
        # One decision for what is one cell, of several backends.
        "[get_rng_state] mps,mlx,sim,cpu: torch.cuda.random.get_rng_state drops device",
        "set_rng_state drops device",
    ):
        assert part in done.stdout, part
    assert (tree / "build" / "upgrade.md").read_text() in done.stdout
    assert not (tree / "generated").exists()


@with_the_pinned
def test_the_pin_is_set_where_the_version_stands(tree: Path) -> None:
    for name in ("constraints.txt", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tree)
    pin = tree / "generator" / "facts" / "pin.py"
    for path in (pin, tree / "constraints.txt"):
        path.write_text(path.read_text().replace(PINNED, "2.1.7"))
    path = tree / "CHANGELOG.md"
    path.write_text(path.read_text().replace(PINNED.rpartition(".")[0], "2.1"))
    done = upgrade(tree, "--pin")
    assert done.returncode == 0, done.stderr
    assert f'PINNED = "{PINNED}"' in pin.read_text()
    for name in ("constraints.txt", "CHANGELOG.md"):
        assert (tree / name).read_text() == (ROOT / name).read_text(), name
    assert upgrade(tree, "--pin").stdout == f"torch {PINNED} is pinned already.\n"


@pytest.fixture
def mentioning(tmp_path: Path) -> Path:
    for name in MENTIONING:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_torches_of_the_catalog_are_named_everywhere(mentioning: Path) -> None:
    torches = json.loads((ROOT / "catalog.json").read_text(encoding="utf-8"))["torches"]
    assert mention(torches, mentioning) == []


def test_a_torch_that_is_added_is_named_everywhere(mentioning: Path) -> None:
    torches = [*json.loads((ROOT / "catalog.json").read_text(encoding="utf-8"))["torches"], "9.1.0"]
    span = f"{union.short(torches[0])} to 9.1"
    assert mention(torches, mentioning) == list(MENTIONING) and mention(torches, mentioning) == []
    for name, text in zip(
        MENTIONING, (span, span, ', "9.1.0"]', f'"9.1.0": "{date.today()}"'), strict=True
    ):
        assert text in (mentioning / name).read_text(encoding="utf-8"), name
    of_now = (ROOT / MENTIONING[-1]).read_text(encoding="utf-8").splitlines()
    assert set(of_now) < set((mentioning / MENTIONING[-1]).read_text("utf-8").splitlines())


@pytest.mark.parametrize("name", MENTIONING)
def test_a_file_that_names_no_torches_is_told(mentioning: Path, name: str) -> None:
    (mentioning / name).write_text("nothing\n", encoding="utf-8")
    with pytest.raises(GenerationError, match=f"{Path(name).name} does not name the torches"):
        mention(["2.11.0", "9.1.0"], mentioning)


@pytest.mark.parametrize(
    ("names", "near"),
    [
        (("torch.cuda.green.is_localization_supported",), None),
        (("torch.cuda.tunable.wildcard_enable",), None),
        (
            ("torch.mps.streams.current_stream", "torch.mps.current_stream"),
            "torch.xpu.current_stream",
        ),
        (("torch.cuda.graphs.export_data", "torch.cuda.export_data"), "torch.cuda.export_dot"),
    ],
)
def test_what_is_near_only_by_its_letters_is_not_suggested(
    names: tuple[str, ...], near: str | None
) -> None:
    spelled = (
        *("torch.cuda.is_tf32_supported", "torch.cuda.export_dot", "torch.xpu.current_stream"),
        "torch.cuda.memory.caching_enable",
    )
    assert suggestions._nearest(names, spelled) == near


def test_what_was_decided_stays_in_the_report() -> None:
    """Through all runs of one upgrade, and not in the next one's."""

    def run(title: str, asked: tuple[str, ...], before: str) -> str:
        decisions = tuple(Decision(name, name, lacks_route=True) for name in asked)
        changes = Changes("2.1.0", title, ["torch.new"])
        return with_decided(
            report(changes, decisions, lambda name: f"  - a {name}\n    ```\n    [{name}]"), before
        )

    first = run("2.2.0", ("one", "two"), "")
    assert "## Decisions: 2" in first and "Decided" not in first
    second = run("2.2.0", ("two", "three"), first)
    assert "## Decisions: 2" in second and second.endswith(
        "## Decided: 1\n\n- one\n  - a one\n    ```\n    [one]\n"
    )
    last = run("2.2.0", (), second)
    assert "Decisions" not in last and "## Names added: 1" in last
    assert "## Decided: 3" in last and last.count("```") == 3
    assert run("2.2.0", (), last) == last
    assert "Decided" not in run("2.3.0", (), last)
