"""For stubs: which type checker is reading.

Source: ``mypy.reachability``; mypy takes a name ``MYPY`` for true wherever it comes from, and no other
checker does.
"""

from __future__ import annotations

__all__ = ["MYPY"]

MYPY = False
