"""Keeps code objects on disk, so that a second start needs neither the rules nor the compiler.

One entry per source file, Python and set of rules. An entry holds digests of the source that it was
made from and of itself: a stale or damaged one is simply no entry. A cache that cannot be read or
written is no cache; it never makes a program fail. One that another user could have written to is none
either (:mod:`tdev_core.caches`), and says so once. What was used longest ago makes room for what is new.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import sys
from functools import lru_cache
from pathlib import Path
from types import CodeType

from tdev_core import caches
from tdev_core.packages.interpreter import choosing

_HEADER = b"tdev\x01\n"
_DIGEST = 32
_SUFFIX = ".code"

FILES = 2048
"""The most entries that stay. A program with more modules of its own than that compiles some at each start."""
BYTES = 64 << 20
_OFTEN = 64  # entries that a process writes between two looks at how many there are


class CodeCache:
    """Code by path and source; ``variant`` tells apart ways of compiling the same source."""

    def __init__(self, where: Path | None, variant: str = "") -> None:
        self._where = where
        self._variant = variant
        self._written = 0

    def get(self, path: str, source: bytes) -> CodeType | None:
        """Return the code made earlier from these bytes of this file, or None."""
        if self._where is None:
            return None
        file = self._where / self._name(path)
        try:
            entry = caches.read(file)
        except caches.Refused as error:
            self._give_up(error)
            return None
        except OSError:
            return None
        start = len(_HEADER)
        payload = entry[start + 2 * _DIGEST :]
        if entry[:start] != _HEADER or entry[start : start + _DIGEST] != _digest(source):
            return None
        # marshal does not survive every damage, so damage is found before it is read.
        if entry[start + _DIGEST : start + 2 * _DIGEST] != _digest(payload):
            return None
        try:
            code = marshal.loads(payload)  # nosec B302  # the user's own: caches.read
        except (ValueError, EOFError, TypeError):
            return None
        return code if isinstance(code, CodeType) else None

    def put(self, path: str, source: bytes, code: CodeType) -> None:
        """Remember ``code`` for ``path``; replaces what was remembered for it."""
        if self._where is None:
            return
        payload = marshal.dumps(code)
        entry = _HEADER + _digest(source) + _digest(payload) + payload
        file = self._where / self._name(path)
        try:
            caches.write(file, entry)
        except caches.Refused as error:
            self._give_up(error)
            return
        except OSError:
            return
        if self._written % _OFTEN == 0:
            caches.trim(self._where, _SUFFIX, files=FILES, size=BYTES)
        self._written += 1

    def _give_up(self, error: caches.Refused) -> None:
        self._where = None
        print(f"tdev run: nothing is remembered for the next start: {error}", file=sys.stderr)

    def _name(self, path: str) -> str:
        key = f"{path}\0{fingerprint()}\0{self._variant}\0{sorted(choosing.answered())}"
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:40] + _SUFFIX


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Digest what compiled code depends on besides its source: the Python, its options, and our own files.

    The files are told by size and time, as ``make`` does: cheaper than reading them, and right for
    an installed version as for a checkout that is being edited.
    """
    package = Path(__file__).resolve().parents[1]
    files = [
        *sorted((package / "codemod" / "engine").rglob("*.py")),
        *sorted((package / "codemod" / "engine").rglob("*.json")),
        *sorted((package / "run").glob("*.py")),
        *sorted((package / "ecosystem").glob("*_table.py")),
        *sorted((package / "ecosystem").glob("*.toml")),
    ]
    stats = [(file.name, file.stat()) for file in files]
    own = [f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in stats]
    python = [sys.version, importlib.util.MAGIC_NUMBER.hex(), str(sys.flags.optimize)]
    return hashlib.sha256("\n".join([*python, *own]).encode()).hexdigest()


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
