"""Keeps code objects on disk, so that a second start needs neither the rules nor the compiler.

One entry per source file, Python and set of rules. An entry holds digests of the source that it was
made from and of itself: a stale or damaged one is simply no entry. A cache that cannot be read or
written is no cache; it never makes a program fail.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import CodeType

_HEADER = b"tdev\x01\n"
_DIGEST = 32


class CodeCache:
    """Code by path and source; ``variant`` tells apart ways of compiling the same source."""

    def __init__(self, where: Path | None, variant: str = "") -> None:
        self._where = where
        self._variant = variant

    def get(self, path: str, source: bytes) -> CodeType | None:
        """Return the code made earlier from these bytes of this file, or None."""
        if self._where is None:
            return None
        try:
            entry = (self._where / self._name(path)).read_bytes()
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
            code = marshal.loads(payload)
        except (ValueError, EOFError, TypeError):
            return None
        return code if isinstance(code, CodeType) else None

    def put(self, path: str, source: bytes, code: CodeType) -> None:
        """Remember ``code`` for ``path``; replaces what was remembered for it."""
        if self._where is None:
            return
        payload = marshal.dumps(code)
        with suppress(OSError):
            self._where.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._where)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_HEADER + _digest(source) + _digest(payload) + payload)
                os.replace(temporary, self._where / self._name(path))
            except OSError:
                with suppress(OSError):
                    os.unlink(temporary)

    def _name(self, path: str) -> str:
        key = f"{path}\0{fingerprint()}\0{self._variant}"
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:40] + ".code"


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
    ]
    stats = [(file.name, file.stat()) for file in files]
    own = [f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in stats]
    python = [sys.version, importlib.util.MAGIC_NUMBER.hex(), str(sys.flags.optimize)]
    return hashlib.sha256("\n".join([*python, *own]).encode()).hexdigest()


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
