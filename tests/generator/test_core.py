"""Modules of the core are found by name wherever they lie, and emitted imports say where."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from generator.errors import GenerationError
from generator.paths import TEMPLATES
from generator.plan.core import Core
from generator.plan.expressions import bind, handed_on
from generator.plan.plan import plan
from generator.render.render import render

sys.path.insert(0, str(Path(__file__).parent))
import small  # noqa: E402

ROOMS = (
    "__init__",
    "backend",
    "devices",
    "errors",
    "release",
    "mirror/__init__",
    "mirror/adoption",
    "mirror/checkers",
    "mirror/launch",
    "mirror/report",
    "shims/calls",
    "shims/install",
    "commands/cli",
    "cuda/memory/stats",
    "cuda/memory/__init__",
    "accelerators/sim/memory",
    "codemod/cli",
    "run/cli",
    "packages/installing",
    "measure/diffing",
    "measure/monitoring",
    "measure/tuning/applying",
    "measure/planning/planner",
    "run/pytest_plugin",
)
CONTENTS = {
    "backend": "class Backend: ...",
    "devices": "def translate(spec): return spec\ndef device_index(spec=None): return spec",
    "cuda/memory/stats": "def peak(size): return size\ndef to(original): return original",
    "cuda/memory/__init__": "def of(device): return device",
}


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    for name in ROOMS:
        path = tmp_path / "tdev_core" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CONTENTS.get(name, ""))
    return tmp_path / "tdev_core"


@pytest.mark.parametrize(
    ("name", "dotted"),
    [
        ("backend", "tdev_core.backend"),
        ("stats", "tdev_core.cuda.memory.stats"),
        ("adoption", "tdev_core.mirror.adoption"),
        ("memory", "tdev_core.cuda.memory"),  # not the simulator's, which is its own affair
        ("pytest_plugin", "tdev_core.run.pytest_plugin"),
        ("cli", "tdev_core.commands.cli"),
        ("codemod.cli", "tdev_core.codemod.cli"),
    ],
)
def test_a_module_is_found_by_its_name(rooms: Path, name: str, dotted: str) -> None:
    core = Core(rooms)
    assert name in core
    assert core.find(name, "here") == dotted
    assert core.path(dotted).is_file()


def test_an_unknown_name_and_one_that_two_modules_have_are_errors(rooms: Path) -> None:
    with pytest.raises(GenerationError, match="cuda.toml.*tdev_core has no module 'nothing'"):
        Core(rooms).find("nothing", "cuda.toml: [x]")
    (rooms / "distributed").mkdir()
    (rooms / "distributed" / "stats.py").touch()
    both = "'stats' is both tdev_core.cuda.memory.stats and tdev_core.distributed.stats"
    with pytest.raises(GenerationError, match=both):
        Core(rooms).find("stats", "cuda.toml: [x]")


def test_a_module_is_no_value(rooms: Path) -> None:
    """``backend`` names a module too; where torch's function has no such parameter, nothing is handed on."""
    given = {"renames": {}, "core": Core(rooms), "where": "here"}
    text = "stats.peak(size, backend=backend)"
    known = frozenset({"size", "backend"})
    assert bind(text, parameters=known, **given).text == "_stats.peak(size, backend=backend)"
    with pytest.raises(GenerationError, match="uses 'backend', which is neither a parameter"):
        bind(text, parameters=frozenset({"size"}), **given)
    assert handed_on(text, frozenset({"size"}), {}) == ("stats.peak(size)", {"backend"})
    assert handed_on(text, known, {}) == (text, set())


def test_emitted_modules_import_from_where_the_module_lies(rooms: Path, tmp_path: Path) -> None:
    routes = small.ROUTES.replace("devices.translate(device)", "stats.peak(memory.of(device))")
    catalog = plan(
        small.facts(*small.members()), small.routes(tmp_path, routes), small.EVIDENCE, rooms
    )
    files = render(catalog, TEMPLATES)
    lines = files["tdev/cuda/__init__.py"].splitlines()
    imports = [line for line in lines if line.startswith("from tdev_core")]
    assert imports == [
        "from tdev_core import backend as _backend",
        "from tdev_core import devices as _devices",
        "from tdev_core.backend import Backend as _Backend",
        "from tdev_core.backend import instead_of_cuda as _instead_of_cuda",
        "from tdev_core.backend import unsupported as _unsupported",
        "from tdev_core.cuda import memory as _memory",
        "from tdev_core.cuda.memory import stats as _stats",
        "from tdev_core.mirror import adoption as _adoption",
    ]
    assert "            _stats.peak(_memory.of(device))" in lines
    root = files["tdev/__init__.py"]
    assert "from tdev_core.mirror import launch as _launch\n" in root
    assert "    from tdev_core.devices import is_accelerator\n" in root
    assert "from tdev_core.commands.cli import main" in files["tdev/__main__.py"]
    assert "from tdev_core.shims.install import Shim" in files["tdev/_shims.py"]


def test_a_factory_of_the_routes_is_written_with_its_whole_path(
    rooms: Path, tmp_path: Path
) -> None:
    from generator.facts.model import Method

    method = Method("torch.Thing", "to", "method", (), "live", ("torch.Thing",), undecided=("d",))
    routes = small.routes(tmp_path, shims='["torch.Thing.to"]\nfactory = "stats:to"')
    catalog = plan(small.facts(*small.members(), methods=(method,)), routes, small.EVIDENCE, rooms)
    assert catalog["shims"][0]["factory"] == "tdev_core.cuda.memory.stats:to"


def test_a_factory_that_is_not_there_is_refused(rooms: Path, tmp_path: Path) -> None:
    from generator.facts.model import Method

    method = Method("torch.Thing", "to", "method", (), "live", ("torch.Thing",), undecided=("d",))
    routes = small.routes(tmp_path, shims='["torch.Thing.to"]\nfactory = "stats:too"')
    with pytest.raises(GenerationError, match=r"stats has no 'too'; did you mean 'to'"):
        plan(small.facts(*small.members(), methods=(method,)), routes, small.EVIDENCE, rooms)
