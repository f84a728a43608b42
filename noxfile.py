"""The developer's commands. Every session runs in the environment that nox runs in.

.venv/bin/nox -s check          one session; .venv is made by either of the README's commands
.venv/bin/nox --list            all of them
"""

from __future__ import annotations

import nox

nox.needs_version = ">=2024.4"
nox.options.default_venv_backend = "none"  # one environment for all: torch takes a gigabyte in each
nox.options.sessions = ["check", "lint", "typecheck", "tests"]

LIBRARY_PATH = {"PYTHONPATH": "generated:."}


def python(session: nox.Session, *arguments: str) -> None:
    session.run("python", *arguments, *session.posargs, env=LIBRARY_PATH, external=True)


@nox.session
def generate(session: nox.Session) -> None:
    """Write catalog.json, generated/tdev and the pages made from them anew, from torch and the routes."""
    for part in ("", ".codemod_names", ".codemod_docs", ".function_docs"):
        python(session, "-m", f"generator{part}")


@nox.session
def check(session: nox.Session) -> None:
    """Fail, with the diff and the mending command, where catalog or generated code have drifted."""
    python(session, "-m", "generator", "--check")


@nox.session
def lint(session: nox.Session) -> None:
    """black --check and ruff."""
    session.run("python", "-m", "black", "--check", ".", external=True)
    session.run("python", "-m", "ruff", "check", ".", external=True)


@nox.session
def typecheck(session: nox.Session) -> None:
    """mypy --strict over tdev (stubs, then bodies), tdev_core, generator, tools and benchmarks."""
    python(session, "-m", "tools.typecheck")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests but for the two folders that have sessions of their own; pytest options after --."""
    python(session, "-m", "pytest", "--ignore=tests/package", "--ignore=tests/demo")


@nox.session
def demo(session: nox.Session) -> None:
    """Train the example by hand-changed imports, after the codemod, and untouched: the same losses."""
    python(session, "-m", "pytest", "-v", "tests/demo")


@nox.session
def package(session: nox.Session) -> None:
    """Build sdist and wheel, check their files, and use the wheel in an empty environment."""
    python(session, "-m", "pytest", "-v", "tests/package")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the budgets as ratios, print the table, and write benchmarks/RESULTS.md."""
    python(session, "-m", "benchmarks")


@nox.session
def upgrade(session: nox.Session) -> None:
    """Regenerate against the torch that is installed and report what changed; 1 asks for a person."""
    python(session, "-m", "generator.composites")
    python(session, "-m", "generator.upgrade")


@nox.session
def opdb(session: nox.Session) -> None:
    """Judge mirror, sim and mlx by torch's own operator database; writes the full reports."""
    for path in ("tests/parity/opdb.py", "tests/sim/opdb.py", "tests/mlx/opdb.py"):
        python(session, path)


@nox.session
def fuzz(session: nox.Session) -> None:
    """The codemod over 2,000 real files of the installed torch, in every style."""
    tests = (
        "tests/codemod/engine/test_engine_corpus.py",
        "tests/codemod/engine/test_engine_properties.py",
        "tests/codemod/engine/test_slicing.py",
    )
    session.env["TDEV_FUZZ_FILES"] = "2000"
    python(session, "-m", "pytest", "-q", *tests)


@nox.session(venv_backend="venv", default=False)
def other_torch(session: nox.Session) -> None:
    """The mirror under another torch: `nox -s other_torch -- 2.12.0`; fetches several gigabytes."""
    version = session.posargs[0] if session.posargs else "2.12.0"
    session.install(f"torch=={version}", "numpy", "psutil")
    session.run("python", "tests/mirror/other_torch.py")
