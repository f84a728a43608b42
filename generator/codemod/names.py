"""Read from the installed torch what the codemod has to know, the same for every build of a release.

Of newer torches the catalog tells.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import types
import typing
import warnings

from generator import catalog, paths, union
from generator.codemod.tables import (
    ACCELERATOR,
    DEVICE_METHODS,
    DEVICE_PARAMS,
    EXTRA_MODULES,
    ROUTED,
    ROUTED_MODULES,
)
from generator.facts.builds import only_with_cuda

__all__ = ["collect"]

_SIGNATURE = re.compile(r"^\s*(\w+)\(([^\n]*)\)\s*->", re.MULTILINE)


def collect() -> dict[str, object]:
    """Everything that the engine's class ``Names`` holds, as plain data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated members announce themselves on access
        return _collect()


def _collect() -> dict[str, object]:
    import torch

    modules = _loaded()
    extra = {name: importlib.import_module(name) for name in EXTRA_MODULES}
    routed: set[str] = set(ROUTED)
    classes: set[str] = set()
    params: dict[str, list[tuple[str, int | None]]] = {}
    for name, module in (*modules.items(), *extra.items()):
        for member in _public(module):
            value = getattr(module, member)
            full = f"{name}.{member}"
            if isinstance(value, type):
                classes.add(full)
            if name.startswith(ROUTED_MODULES) and _owned(value, name):
                routed.add(full)
            elif name != "torch.accelerator" and not name.startswith(
                ("torch.xpu", "torch.mps", "torch.mtia", "torch.cpu", *ROUTED_MODULES)
            ):
                at = _device_parameter(value)
                if at is not None:
                    params[full] = [at]
    routed.update(m for m in modules if m.startswith(ROUTED_MODULES))
    params.update(_of_newer_torches())
    params.update(DEVICE_PARAMS)
    for full in [*ROUTED, *DEVICE_PARAMS, *ACCELERATOR]:
        _resolve(torch, full)
    for new, _, _ in ACCELERATOR.values():
        _resolve(torch, new)
    return {
        "routed": sorted(routed),
        # A class's constructor is answered by a shim (classes keep their identity).
        "device_params": {
            k: sorted(v, key=str)
            for k, v in params.items()
            if k not in classes or k in DEVICE_PARAMS
        },
        "device_methods": DEVICE_METHODS,
        "classes": sorted(classes),
        "accelerator": {
            k: {"name": n, "parameters": p, "order": list(o)}
            for k, (n, p, o) in ACCELERATOR.items()
        },
        "modules": sorted(modules),
        "version": torch.__version__.split("+")[0],
    }


def _of_newer_torches() -> dict[str, list[tuple[str, int | None]]]:
    """Return the functions with device parameters that the installed torch lacks and a newer one has.

    The catalog, which is of all torches, tells of them; one file of names serves programs for each.
    """
    found: dict[str, list[tuple[str, int | None]]] = {}
    joined = catalog.read(paths.CATALOG)
    older = union.view(joined, joined["torch"])["members"]
    newest = union.view(joined, union.torches(joined)[-1])["members"]
    for name, member in newest.items():
        if name in older or member["mirror"] != "translated":
            continue
        parameters = member["signatures"][0]["parameters"]
        places = [
            (one["name"], None if one["kind"] == "keyword_only" else index)
            for index, one in enumerate(parameters)
            if one["name"] in member["devices"]
        ]
        found.update(dict.fromkeys(member["exports"], places))
    return found


def _loaded() -> dict[str, types.ModuleType]:
    """Return the public torch modules that `import torch` has loaded."""
    found = {}
    for name, module in list(sys.modules.items()):
        parts = name.split(".")
        if parts[0] == "torch" and module is not None and not any(p[0] == "_" for p in parts):
            if isinstance(getattr(module, "__file__", None), str):
                found[name] = module
    return found


def _public(module: types.ModuleType) -> list[str]:
    """Return the public names that the module has in every build of torch."""
    return sorted(
        n for n in dir(module) if n[0] != "_" and not only_with_cuda(n) and hasattr(module, n)
    )


def _owned(value: object, module: str) -> bool:
    """Tell whether a member is torch's and not something a module merely imported (``os``)."""
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("torch.cuda")
    home = getattr(value, "__module__", None)
    if home is None or isinstance(value, (str, int, float, bool, dict, tuple, list)):
        return True
    if typing.get_origin(value) is not None or home in ("typing", "typing_extensions"):
        return False
    return str(home).startswith("torch")


def _device_parameter(value: object) -> tuple[str, int | None] | None:
    """Return the parameter called ``device``: its name and position (None for keyword-only)."""
    if not callable(value) or isinstance(value, types.ModuleType):
        return None
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        doc = getattr(value, "__doc__", None)
        doc = doc.replace("\n    ", " ") if isinstance(doc, str) else ""
        found = _SIGNATURE.search(doc)
        return ("device", None) if found and re.search(r"\bdevice\b", found[2]) else None
    for index, parameter in enumerate(signature.parameters.values()):
        if parameter.name == "device":
            keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
            return ("device", None if keyword else index)
    return None


def _resolve(torch: types.ModuleType, full: str) -> None:
    value: object = torch
    for part in full.split(".")[1:]:
        if not hasattr(value, part):
            raise SystemExit(
                f"generator/codemod/tables.py: {full!r} does not exist in torch {torch.__version__}; "
                "remove the entry or correct it"
            )
        value = getattr(value, part)
