"""The developer's commands. Every session runs in the environment that nox runs in.

.venv/bin/nox -s check          one session; .venv is made by either of the README's commands
.venv/bin/nox --list            all of them
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from importlib import metadata
from pathlib import Path

import nox

nox.needs_version = ">=2024.4"
nox.options.default_venv_backend = "none"  # one environment for all: torch takes a gigabyte in each
nox.options.error_on_missing_interpreters = (
    True  # of --force-python: what was not run has not passed
)
nox.options.sessions = ["check", "lint", "typecheck", "tests"]

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join([str(ROOT / "generated"), str(ROOT)])}
LOGS = ROOT / "build" / "logs"
TORCHES = ROOT / "generator" / "facts" / "torches"
# A process has one device of PyTorch's PrivateUse1 kind: tests of these have processes of their own.
OWN_PROCESSES = {"mlx": "tests/accelerators/mlx", "sim": "tests/accelerators/sim/suite"}
BACKENDS = ("cpu", *OWN_PROCESSES)
OURS = ("tdev_core", "generator", "tools", "benchmarks", "hatch_build.py", "noxfile.py")
# What only the deep session needs brings twenty packages of its own.
AUDITORS = {
    "bandit": ("bandit>=1.9",),
    "audit": ("pip-audit>=2.9",),
    "browser": ("selenium>=4.20", "jsonschema>=4.20"),
}
# The site in a browser, and its data by a reader of JSON schemas that is not ours.
BROWSED = ("tests/site/test_browser.py", "tests/site/test_build.py")
# What is written in C and C++, by the name of its part of the deep session.
SANITIZED = {"sanitized-calls": "calls", "sanitized-native": "native", "debug-allocator": "debug"}
# Tests that ask mypy, which has read all of torch once the session typecheck has run.
TYPED = "tests/mirror/test_types.py"
EXTRAS = ("codemod", "mlx", "site", "dev")  # of pyproject.toml: what tests need besides torch
FUZZED = tuple(
    f"tests/codemod/engine/test_{name}.py"
    for name in ("engine_corpus", "engine_properties", "slicing")
)


def python(session: nox.Session, *arguments: str, **settings: str) -> None:
    """Run the Python that nox runs in, whatever the PATH has."""
    env = {**ENVIRONMENT, **settings}
    session.run(sys.executable, *arguments, *session.posargs, env=env, external=True)


@nox.session
def generate(session: nox.Session) -> None:
    """Write catalog.json, generated/tdev and the pages made from them anew, from torch and the routes."""
    for module in ("generator", "generator.codemod", "tools.pages"):
        python(session, "-m", module)


@nox.session
def check(session: nox.Session) -> None:
    """Fail, with the diff and the mending command, where catalog or generated code have drifted."""
    python(session, "-m", "generator", "--check")


@nox.session
def lint(session: nox.Session) -> None:
    """ruff (format and check), and who may import whom (import-linter); files for the first two after --."""
    everywhere = [] if session.posargs else ["."]
    python(session, "-m", "ruff", "format", "--check", *everywhere)
    python(session, "-m", "ruff", "check", "--output-format", "concise", *everywhere)
    session.run(str(Path(sys.executable).with_name("lint-imports")), env=ENVIRONMENT, external=True)


@nox.session
def typecheck(session: nox.Session) -> None:
    """mypy --strict over tdev (bodies, then stubs), tdev_core, generator, tools, benchmarks; the tests of types.

    Files after --: of these alone.
    """
    python(session, "-m", "tools.typecheck")
    if not session.posargs:
        pytest(session, "cpu", TYPED, workers=1)


@nox.session
@nox.parametrize("backend", [nox.param(name, id=name) for name in BACKENDS])
def tests(session: nox.Session, backend: str) -> None:
    """The tests, on all cores; files, folders and options of pytest after --."""
    asked = [argument for argument in session.posargs if (ROOT / argument.split("::")[0]).exists()]
    mine = [test for test in asked if home(test) == backend]
    if asked and not mine:
        session.skip(f"none of these tests is of {backend}")
    given = [word for word in session.posargs if word not in asked or word in mine]
    pytest(
        session, backend, *given, *([] if asked else [*everything(backend), f"--ignore={TYPED}"])
    )


@nox.session
@nox.parametrize(
    "part",
    [
        nox.param(name, id=name)
        for name in (*BACKENDS, "fuzz", "opdb", "browser", "bandit", "audit", *SANITIZED)
    ],
)
def deep(session: nox.Session, part: str) -> None:
    """Run what takes long: tests marked deep, fuzzing, torch's operators, a browser, bandit, pip-audit, sanitizers."""
    session.env["TDEV_FUZZ_FILES"] = "2000"
    if part in AUDITORS:
        install = (sys.executable, "-m", "pip", "install", "--quiet", *AUDITORS[part])
        session.run(*install, external=True)
    if part == "opdb":
        for path in (
            "tests/parity/opdb.py",
            "tests/accelerators/sim/opdb.py",
            "tests/accelerators/mlx/opdb.py",
        ):
            python(session, path)
    elif part == "bandit":
        python(session, "-m", "bandit", "--quiet", "-c", "pyproject.toml", "-r", *OURS)
    elif part == "audit":
        # What is installed here, tdev itself apart, which no index has.
        python(session, "-m", "pip_audit", "--skip-editable", "--progress-spinner", "off")
    elif part in SANITIZED:
        python(session, "-m", "tools.sanitized", SANITIZED[part])
    elif part == "browser":
        # Chromium and its driver are the system's; without them the tests say so.
        if shutil.which("npm"):
            into = ("npm", "install", "--silent", "--prefix", str(ROOT / "build" / "axe"))
            session.run(*into, "axe-core@4", external=True)
        pytest(session, "cpu", "-m", "deep or not deep", *BROWSED, workers=1)
    elif part == "fuzz":
        pytest(session, "cpu", *FUZZED)
    else:
        pytest(session, part, "-m", "deep", *everything(part), nothing_is_fine=True)


def spread(workers: int | None = None) -> list[str]:
    """Return what has pytest spread its tests over so many workers; None: over all cores."""
    # One more than cores: a worker waits while a program that its test has started runs.
    workers = workers or int(os.environ.get("TDEV_TEST_WORKERS") or min(cores() + 1, 8))
    return ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []


def pytest(
    session: nox.Session,
    backend: str,
    *arguments: str,
    workers: int | None = None,
    nothing_is_fine: bool = False,
) -> None:
    """Run pytest with so many workers; None: on all cores."""
    settings = {"OMP_NUM_THREADS": "1"}
    if backend == "sim":
        settings |= {"TDEV_BACKEND": "sim", "TDEV_SIM_DEVICES": "2"}
    command = ["-m", "pytest", *spread(workers)]
    report = session.name.replace("(", "-").rstrip(")")
    command += [f"--junitxml={LOGS / report}.xml", *arguments]
    session.run(
        sys.executable,
        *command,
        env={**ENVIRONMENT, **settings},
        external=True,
        success_codes=[0, 5] if nothing_is_fine else [0],
        interrupt_timeout=10,  # pytest ends its workers
        terminate_timeout=5,
    )


def everything(backend: str) -> list[str]:
    """Name all tests of one of the pytest runs."""
    if backend in OWN_PROCESSES:
        return [OWN_PROCESSES[backend]]
    return ["tests", *(f"--ignore={folder}" for folder in OWN_PROCESSES.values())]


def home(test: str) -> str:
    """Tell which of the pytest runs a test belongs to."""
    for backend, folder in OWN_PROCESSES.items():
        if (ROOT / test.split("::")[0]).is_relative_to(ROOT / folder):
            return backend
    return "cpu"


def cores() -> int:
    """Count the cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


@nox.session(default=False)
def mutants(session: nox.Session) -> None:
    """Plant faults, one at a time, each to be found by the tests of its room; options of tools.mutants after --."""
    python(session, "-m", "tools.mutants", OMP_NUM_THREADS="1")


@nox.session
def site(session: nox.Session) -> None:
    """Build the compatibility site into build/site; a link that leads nowhere fails."""
    python(session, "-m", "tdev", "site", "--output", str(ROOT / "build" / "site"))


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the budgets as ratios, print the table, and write benchmarks/RESULTS.md."""
    python(session, "-m", "benchmarks")


@nox.session
def upgrade(session: nox.Session) -> None:
    """Add another torch, which `-- 2.16.0` records: everything that is made from it, then the tests.

    Ends with status 1 where a person must decide; build/upgrade.md says what. Run it again then. A torch that is
    recorded already is not fetched again; `python -m generator.facts --torch 2.16.0` does that.
    """
    if session.posargs and not (TORCHES / f"{session.posargs[0]}.json").exists():
        record = (sys.executable, "-m", "generator.facts", "--torch", session.posargs[0])
        # Once interrupted it removes the environment, gigabytes, before it ends.
        session.run(*record, env=ENVIRONMENT, external=True, interrupt_timeout=120)
    made_of = json.loads((ROOT / "catalog.json").read_text(encoding="utf-8"))["torch"]
    # What tests have called is of the installed torch, the pinned one: of names that it lacks there is nothing to call.
    evidence = ("tests/mirror/exercise.py", "--write")
    moved = made_of != metadata.version("torch").partition("+")[0]
    for step in (
        ("-m", "generator.upgrade"),
        ("-m", "generator.codemod"),
        *([evidence] if moved else []),
        ("-m", "generator"),
        ("-m", "tools.pages"),
    ):
        session.run(sys.executable, *step, env=ENVIRONMENT, external=True)
    for name in ("check", "typecheck", "tests"):
        session.notify(name, [])


@nox.session(venv_backend="venv", default=False)
def other_torch(session: nox.Session) -> None:
    """Names, signatures and every room's tests under another torch: `nox -s other_torch -- 2.12.0`; fetches gigabytes.

    Every part is run, whatever became of those before it; `-- 2.12.0 sim cuda` runs those two. A table of them ends it.
    """
    sys.path.insert(0, str(ROOT))  # of nox's own command it is not
    from tools import rooms

    version, *chosen = session.posargs or ["2.12.0"]
    parts = rooms.parts(ROOT / "tests", OWN_PROCESSES, ("-m", "pytest", "-q", *spread()))
    unknown = set(chosen) - {part.name for part in parts}
    if unknown:
        session.error(f"no such part: {', '.join(sorted(unknown))}")
    project = nox.project.load_toml(ROOT / "pyproject.toml")["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for name in EXTRAS for one in extras[name])]
    wanted = [one for one in wanted if not one.startswith("tdev[")]
    session.install(f"torch=={version}", *wanted)
    # As it stands here, with the C module for this Python; torch stays what was just installed.
    session.install("--no-deps", "--no-build-isolation", "-e", str(ROOT))
    results: list[rooms.Result] = []
    for part in parts:
        if chosen and part.name not in chosen:
            continue
        report = LOGS / f"torch-{version}" / f"{part.name}.xml"
        report.unlink(missing_ok=True)
        told = [f"--junitxml={report}"] if part.counted else []
        env = {**ENVIRONMENT, "OMP_NUM_THREADS": "1", **part.settings}
        started = time.monotonic()
        try:
            session.run("python", *part.arguments, *told, env=env)
            well = True
        except nox.command.CommandFailed:
            well = False
        results.append(rooms.Result(part, well, time.monotonic() - started, report))
    session.log("\n" + rooms.table(version, results))
    bad = [one.part.name for one in results if not one.well]
    if bad:
        session.error(f"failed: {', '.join(bad)}")
