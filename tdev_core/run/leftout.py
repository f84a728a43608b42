"""Names code that is nobody's library, asks for CUDA, and is not rewritten because of where it lies."""

from __future__ import annotations

import os
import re
import warnings

from tdev_core.errors import DeviceWarning
from tdev_core.run.roots import is_somebodys_own

_ASKS = re.compile(rb"""^(?!\s*#).*(torch\.cuda\b|\.cuda\(|["']cuda\b)""", re.M)

_named: set[str] = set()


def warn_of(name: str, path: str) -> None:
    """Warn once for each package whose file ``path``, the module ``name``, asks torch for CUDA.

    The warning's place is the line that asks.
    """
    package = name.partition(".")[0]
    if package in _named or not path.endswith(".py") or not is_somebodys_own(path):
        return
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError:
        return  # the import says so
    asks = _ASKS.search(source)
    if asks is None or b"torch" not in source:
        return
    _named.add(package)
    place = os.path.abspath(path)
    for _ in range(name.count(".") + (os.path.basename(path) == "__init__.py")):
        place = os.path.dirname(place)
    folder = place if os.path.isdir(place) else os.path.dirname(place)
    text = (
        f"{package} asks for CUDA and runs as it is: it lies neither beside the script nor below the working "
        "directory, in the same git repository or in a project that is installed editable. To have it "
        f"rewritten: python -m tdev run --root {folder} …, or tdev_roots in pytest's settings"
    )
    warnings.warn_explicit(
        DeviceWarning(text, "TDEV303"),
        DeviceWarning,
        filename=path,
        lineno=source.count(b"\n", 0, asks.start(1)) + 1,
    )
