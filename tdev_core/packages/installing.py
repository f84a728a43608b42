"""Has every import of the process find the stand-ins: for programs that are not rewritten, when they ask.

``tdev.standins.install()`` puts a finder behind all others, so that whatever is installed is found first, whole or in part.
A module that it finds is of the package's own name in ``sys.modules``: from then on libraries that look whether the package
can be imported find that it can. The distribution stays absent for ``importlib.metadata``, by which most of them decide.

Source that was migrated names them: ``from tdev.standins.flash_attn import flash_attn_func``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from tdev_core.ecosystem.package_table import stand_ins
from tdev_core.packages import asking

__all__ = ["install", "uninstall"]


def install() -> None:
    """Answer each import of a package in the table that is not installed, off CUDA; a second call does nothing.

    ``TDEV_STANDINS=0`` is asked at each import, and so is the backend.
    """
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


def uninstall() -> None:
    """Answer no more imports; what has been imported stays."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # Whoever is asked before found nothing, so that the package is not there.
        package = fullname.partition(".")[0]
        ours = package == fullname or asking.is_stand_in(sys.modules.get(package))
        if not ours or not asking.may_answer(fullname):
            return None
        found = asking.load(fullname)
        return ModuleSpec(fullname, asking.Names(found), is_package=hasattr(found, "__path__"))


class _Named(MetaPathFinder):
    """Finds ``tdev.standins.flash_attn``, as source that was migrated says: the package itself, or its stand-in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        module = fullname.removeprefix(_PREFIX)
        if module == fullname or module.partition(".")[0] not in stand_ins():
            return None
        found = asking.leaf(module)
        return ModuleSpec(fullname, asking.Names(found), is_package=hasattr(found, "__path__"))


_PREFIX = "tdev.standins."
_finder = _Finder()
sys.meta_path.insert(0, _Named())
