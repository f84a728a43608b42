"""``pytest -p tdev.pytest_plugin``: tests and the code beside them run as if they had been migrated.

Modules below pytest's root directory (and below the directories of the ini option ``tdev_roots``) are
rewritten as they are imported, as ``python -m tdev run`` does it. Assertions are rewritten by pytest
itself afterwards, in the modules in which it always does that. Worker processes of ``pytest-xdist``
load the plugin as their parent does.
"""

from __future__ import annotations

import ast
from importlib.machinery import ModuleSpec
from typing import Any

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook, rewrite_asserts

from tdev_core import caches
from tdev_core.run.cache import CodeCache
from tdev_core.run.compiling import Compiler
from tdev_core.run.importer import Finder, install, uninstall
from tdev_core.run.roots import Roots
from tdev_core.run.state import State, hand_on, take_back

_FINDER = pytest.StashKey["PytestFinder"]()


class PytestFinder(Finder):
    """A finder that also knows modules whose assertions pytest wants to rewrite."""

    def __init__(self, roots: Roots, compiler: Compiler, asserting: Compiler) -> None:
        super().__init__(roots, compiler)
        self._asserting = asserting

    def compiler_for(self, spec: ModuleSpec) -> Compiler | None:
        """Return the asserting compiler where pytest's own hook would load the module."""
        if isinstance(spec.loader, AssertionRewritingHook):
            return self._asserting
        return super().compiler_for(spec)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare ``tdev_roots``."""
    parser.addini("tdev_roots", "more directories whose modules tdev rewrites", "paths", default=[])


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install the finder before the first ``conftest.py`` is imported."""
    _install(early_config)


def pytest_configure(config: pytest.Config) -> None:
    """Install the finder where the plugin was loaded later than from the command line."""
    _install(config)


def pytest_report_header(config: pytest.Config) -> str:
    """Say what is rewritten."""
    return f"tdev: rewriting modules below {', '.join(_roots(config))}"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take the finder out again."""
    finder = config.stash.get(_FINDER, None)
    if finder is not None:
        uninstall(finder)
        take_back()
        del config.stash[_FINDER]


def _roots(config: pytest.Config) -> tuple[str, ...]:
    return (str(config.rootpath), *map(str, config.getini("tdev_roots")))


def _install(config: pytest.Config) -> None:
    if _FINDER in config.stash:
        return

    def asserts(tree: ast.Module, source: bytes, path: str) -> None:
        rewrite_asserts(tree, source, path, config)

    state = State(roots=_roots(config), mirror=_mirror_is_there())
    cache = CodeCache(caches.directory("run"), _variant(config))
    finder = PytestFinder(Roots(state.roots), state.compiler(), Compiler(cache, asserts))
    config.stash[_FINDER] = finder
    install(finder)
    hand_on(state)


def _variant(config: pytest.Config) -> str:
    """Return what pytest's rewriting of a module depends on besides the module."""
    hook: Any = config.getini("enable_assertion_pass_hook")
    return f"pytest-{pytest.__version__}-{hook}"


def _mirror_is_there() -> bool:
    import sys

    return "tdev" in sys.modules
