"""A device's native kernels in this process: loaded where they have been built, and counted, and left out for a while.

Without them everything works, by Python alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tdev_core import caches, settings
from tdev_core.accelerators.privateuse import native
from tdev_core.accelerators.privateuse.native import BuildError, Library
from tdev_core.errors import warn_once

__all__ = ["Kernels"]


@dataclass
class Kernels:
    """The kernels of ``library``.

    Attributes:
        module: the library, once it has been loaded.
        command: what builds it, for a person.
        remark: why that has not been done, if there is a reason.
    """

    library: Library
    command: str
    remark: Callable[[], str | None] = lambda: None
    module: Any = None

    def state(self) -> str:
        """Say in a few words, for a person, whether the native kernels are in use, and how they come to be."""
        if not settings.flag("TDEV_NATIVE"):
            return "Python kernels (TDEV_NATIVE=0)"
        if not native.supported():
            return "Python kernels (this Python cannot have native ones)"
        try:
            if caches.holds(self.library.location()):
                return "native kernels"
            advice = self.remark() or f"faster: {self.command}"
        except (BuildError, caches.Refused) as error:
            return f"Python kernels ({error})"
        return f"Python kernels; {advice}"

    def load(self, missing: Callable[[], object] = lambda: None) -> Any:
        """Return the library if it has been built for this torch and these sources; else None, after ``missing()``."""
        if not settings.flag("TDEV_NATIVE") or not native.supported():
            return None
        try:
            path = self.library.location()
        except BuildError:  # nowhere to keep one
            return None
        try:
            if caches.holds(path):
                return self.library.load()
            missing()
        except caches.Refused as error:
            warn_once(f"{error}; Python's kernels answer until then", RuntimeWarning, key=path)
        except (ImportError, OSError) as error:
            warn_once(
                f"the native kernels of device {self.library.device} could not be loaded ({error}); Python's are used. "
                f"Build them again with: {self.command} --force",
                RuntimeWarning,
                key=path,
            )
        return None

    def answered(self) -> int:
        """Count the calls that the native kernels have answered in this process."""
        return 0 if self.module is None else int(self.module.answered())

    @contextmanager
    def using(self, on: bool) -> Iterator[None]:
        """Go on with or without the native kernels, in all threads, to compare the two."""
        before = self.module is not None and self.module.enable(on)
        try:
            yield
        finally:
            if self.module is not None:
                self.module.enable(before)
