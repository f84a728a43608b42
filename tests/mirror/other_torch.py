"""The mirror under another installed torch than the one it was generated from; run as a program.

    python tests/mirror/other_torch.py

Imports every module of the catalog under ``tdev`` and asks it for every public name that any of its torches has. A
name that the installed torch has must be there, with its signature where the mirror has put something in its place;
one that it lacks must raise an AttributeError. Ends with status 1 and a list where that is not so.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import warnings
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "generated")]


def main() -> int:
    """Compare and print; 0 where everything is as it shall be."""
    warnings.simplefilter("ignore")
    import tdev
    import torch

    from generator.render.merged import merged

    catalog = json.loads((ROOT / "catalog.json").read_text(encoding="utf-8"))
    counts = {"modules": 0, "modules this torch lacks": 0, "names": 0, "names this torch lacks": 0}
    wrong: list[str] = []
    for name, module in merged(catalog)["modules"].items():  # what only older torches have, too
        original = _import(name)
        if original is None:
            counts["modules this torch lacks"] += 1
            continue
        mirror = _import("tdev" + name[len("torch") :])
        counts["modules"] += 1
        if mirror is None:
            wrong.append(f"{name}: not importable under tdev")
            continue
        for attribute in module["names"]:
            here = _has(original, attribute)
            counts["names" if here else "names this torch lacks"] += 1
            complaint = _complaint(mirror, attribute, here) or _difference(
                original, mirror, attribute
            )
            if complaint:
                wrong.append(f"{name}.{attribute}: {complaint}")
    assert tdev.zeros(2, device="cuda").shape == (2,)
    print(f"torch {torch.__version__}, mirror of {', '.join(catalog['torches'])}: {counts}")
    print("\n".join(wrong[:50]) or "as it shall be")
    return 1 if wrong else 0


def _import(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except Exception:  # whatever a module of another torch raises, it cannot be had here
        return None


def _has(module: ModuleType, name: str) -> bool:
    try:
        getattr(module, name)
    except Exception:
        return False
    return True


def _complaint(mirror: ModuleType, name: str, here: bool) -> str:
    """What is wrong with how ``mirror`` answers for ``name``; empty where nothing is."""
    try:
        getattr(mirror, name)
    except AttributeError as error:
        if here:
            return f"missing: {error}"
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}" if here else ""
    return ""


def _difference(original: ModuleType, mirror: ModuleType, name: str) -> str:
    """What a reader of the signature finds otherwise than in torch; empty where torch's own cannot be read."""
    theirs, ours = getattr(original, name, None), getattr(mirror, name, None)
    if ours is theirs or not callable(theirs) or isinstance(theirs, type):
        return ""  # one class of ours has several names, and the signature of torch.cuda's
    try:
        wanted = str(inspect.signature(theirs))
    except (TypeError, ValueError):
        return ""
    found = str(inspect.signature(ours))  # type: ignore[arg-type]
    return "" if found == wanted else f"signature {found}, torch's {wanted}"


if __name__ == "__main__":
    sys.exit(main())
