"""The mirror under another installed torch than the one it was generated from; run as a program.

    python tests/mirror/other_torch.py

Imports every module of the catalog under ``tdev`` and asks it for every public name. A name that the
installed torch has must be there; one that it lacks must raise an AttributeError that says which torch
has it and how to regenerate. Ends with status 1 and a list where that is not so.
"""

from __future__ import annotations

import importlib
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

    catalog = json.loads((ROOT / "catalog.json").read_text(encoding="utf-8"))
    counts = {"modules": 0, "modules this torch lacks": 0, "names": 0, "names this torch lacks": 0}
    wrong: list[str] = []
    for name, module in catalog["modules"].items():
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
            complaint = _complaint(mirror, attribute, here)
            if complaint:
                wrong.append(f"{name}.{attribute}: {complaint}")
    assert tdev.zeros(2, device="cuda").shape == (2,)
    print(f"torch {torch.__version__}, mirror generated from {catalog['torch']}: {counts}")
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
        return "" if "generat" in str(error) else f"a message without advice: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}" if here else ""
    return ""


if __name__ == "__main__":
    sys.exit(main())
