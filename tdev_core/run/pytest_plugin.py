"""``pytest -p tdev.pytest_plugin``: tests and the code beside them run as if they had been migrated.

The program's modules (:mod:`.roots`, from pytest's root directory; and the directories and modules that
the ini option ``tdev_roots`` names) are rewritten as they are imported, as ``python -m tdev run`` does it.
Assertions are rewritten by pytest
itself afterwards, in the modules in which it always does that. Worker processes of ``pytest-xdist``
load the plugin as their parent does.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Generator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook, rewrite_asserts

from tdev_core import caches
from tdev_core.ecosystem import libraries
from tdev_core.errors import ConfigError
from tdev_core.packages.interpreter import choosing
from tdev_core.run import launching, telling
from tdev_core.run.budgets import MARKERS, Budgets
from tdev_core.run.cache import CodeCache
from tdev_core.run.compiling import Compiler
from tdev_core.run.importer import Finder, install, uninstall
from tdev_core.run.roots import (
    NoSuchLibrary,
    Roots,
    configured_libraries,
    of_program,
    package_places,
)
from tdev_core.run.state import State, hand_on, take_back

_WHAT_INCLUDES = (
    "tdev_roots includes a module, --tdev-torch-testing the harness of torch's own tests"
)
_FINDER = pytest.StashKey["PytestFinder"]()
_STATE = pytest.StashKey[State]()
_HARNESS = tuple(
    f"torch.testing._internal.common_{name}"
    for name in ("utils", "cuda", "device_type", "nn", "distributed", "fsdp", "quantization")
)
"""What tells torch's own tests which devices there are. The files that hold the operators to test are no part of it."""


class PytestFinder(Finder):
    """A finder that also knows modules whose assertions pytest wants to rewrite."""

    def __init__(self, roots: Roots, compiler: Compiler, asserting: Compiler) -> None:
        super().__init__(roots, compiler)
        self.covers = roots.cover
        self._asserting = asserting

    def compiler_for(self, spec: ModuleSpec) -> Compiler | None:
        """Return the asserting compiler where pytest's own hook would load the module."""
        if isinstance(spec.loader, AssertionRewritingHook):
            return self._asserting
        return super().compiler_for(spec)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare ``tdev_roots`` and ``--tdev-torch-testing``."""
    parser.addini(
        "tdev_roots",
        "more directories, and modules by name, that tdev rewrites",
        "args",
        default=[],
    )
    parser.getgroup("tdev").addoption(
        "--tdev-torch-testing",
        action="store_true",
        help="the harness of torch's own tests (torch.testing._internal) sees tdev's devices as CUDA: TEST_CUDA, TEST_CUDNN, "
        "classes for each device type",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install the finder before the first ``conftest.py`` is imported."""
    _install(early_config)


def pytest_configure(config: pytest.Config) -> None:
    """Install the finder where the plugin was loaded later than from the command line; declare the markers."""
    _install(config)
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say on which devices the tests run, and what is rewritten."""
    state = _state(config)
    named = f"; and {', '.join(state.libraries)}" if state.libraries else ""
    return [
        f"tdev: {telling.backend_and_devices()}",
        f"tdev: rewriting modules below {', '.join(state.roots)}{named}",
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that ends well and has broken a limit which its markers set."""
    budgets = Budgets(item)
    result = yield
    said = budgets.broken()
    if said:
        pytest.fail(said, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure for want of CUDA which module met it as it is, and which setting includes it."""
    report = yield
    finder = item.config.stash.get(_FINDER, None)
    if finder is not None and report.failed and call.excinfo is not None:
        said = telling.of_failure(call.excinfo.value, finder.covers)
        if said is not None:
            report.sections.append(("tdev", said))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what would run the tests that were skipped for want of CUDA; in red where a device was there for them."""
    skipped = terminalreporter.stats.get("skipped", ())
    said_of = (str(report.longrepr[-1]) for report in skipped if isinstance(report.longrepr, tuple))
    reasons = [text.removeprefix("Skipped: ") for text in said_of]
    said = telling.of_skipped(reasons)
    if said is not None:
        terminalreporter.write_line(f"tdev: {said}", yellow=True)
    amiss = telling.of_skipped_in_vain(reasons, _WHAT_INCLUDES)
    if amiss is not None:
        terminalreporter.write_line(f"tdev: {amiss}", red=True, bold=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take the finder out again."""
    finder = config.stash.get(_FINDER, None)
    if finder is not None:
        uninstall(finder)
        launching.uninstall()
        libraries.forget_rewritten(finder.covers)
        take_back()
        del config.stash[_FINDER]


def _state(config: pytest.Config) -> State:
    """Return what is to be rewritten; raises ``pytest.UsageError`` for what cannot be found."""
    known = config.stash.get(_STATE, None)
    if known is not None:
        return known
    roots, modules = [*of_program(str(config.rootpath))], []
    for entry in config.getini("tdev_roots"):
        folder = _beside_settings(config) / entry
        if folder.is_dir():
            roots.append(os.path.realpath(folder))
        elif package_places(entry):
            modules.append(entry)
        else:
            raise pytest.UsageError(
                f"tdev_roots: {entry!r} is neither a directory ({folder}) nor a module that this Python finds. "
                "Name a directory relative to pytest's settings, or an importable package: src/, or mypackage"
            )
    if getattr(config.known_args_namespace, "tdev_torch_testing", False):
        roots.extend(place for name in _HARNESS for place in package_places(name))
        os.environ.setdefault("PYTORCH_TESTING_DEVICE_ONLY_FOR", "cpu,cuda")
    try:
        named = (*modules, *configured_libraries(str(config.rootpath)))
        state = State(
            tuple(dict.fromkeys(roots)), tuple(dict.fromkeys(named)), mirror=_mirror_is_there()
        )
        state.places()
    except (NoSuchLibrary, ConfigError) as error:
        raise pytest.UsageError(f"tdev: {error}") from None
    config.stash[_STATE] = state
    return state


def _beside_settings(config: pytest.Config) -> Path:
    """Return what directories in the settings are relative to."""
    return config.rootpath if config.inipath is None else config.inipath.parent


def _install(config: pytest.Config) -> None:
    if _FINDER in config.stash:
        return

    def asserts(tree: ast.Module, source: bytes, path: str) -> None:
        rewrite_asserts(tree, source, path, config)

    state = _state(config)
    cache = CodeCache(caches.directory("run"), _variant(config))
    finder = PytestFinder(state.places(), state.compiler(), Compiler(cache, asserts))
    config.stash[_FINDER] = finder
    install(finder)
    launching.install(state.places(), state.runner())
    libraries.add_rewritten(finder.covers)
    hand_on(state)
    choosing.simulate_numba()


def _variant(config: pytest.Config) -> str:
    """Return what pytest's rewriting of a module depends on besides the module."""
    hook: Any = config.getini("enable_assertion_pass_hook")
    return f"pytest-{pytest.__version__}-{hook}"


def _mirror_is_there() -> bool:
    return "tdev" in sys.modules
