"""Every public name of torch is under the same path in tdev, and is torch's own unless routed."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tdev_core.backend import Backend, current
from tdev_core.mirror.aliases import AliasFinder
from tests.catalog import catalog, mirrored
from tests.forkserver import python

MODULES = sorted(catalog()["modules"])
MISSING = object()


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Any:
    """Deprecation warnings of torch's own modules are not what is tested here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def routed() -> set[str]:
    """Every path at which the catalog says that the mirror hands out something of its own: here, on the active backend."""
    members = catalog()["members"]
    at_home = {
        row["torch_name"]
        for mirror in catalog()["mirrors"].values()
        if mirror["home"] and Backend[mirror["home"]] is current()
        for row in mirror["definitions"]
    }
    return {
        path
        for name, row in members.items()
        if row["mirror"] != "same" and name not in at_home
        for path in row["exports"]
    }


def importable(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None  # needs an optional package that is not installed here


def test_the_catalog_covers_torch() -> None:
    assert len(MODULES) > 800
    assert len(catalog()["members"]) > 6000


def test_every_public_module_imports_under_tdev() -> None:
    importlib.import_module("tdev")
    missing = [
        name
        for name in MODULES
        if importable(name) is not None and importable(mirrored(name)) is None
    ]
    assert missing == []


def test_every_public_name_is_torchs_own_or_routed(routed: set[str]) -> None:
    missing: list[str] = []
    different: list[str] = []
    for name in MODULES:
        original = importable(name)
        if original is None:
            continue
        mirror = importlib.import_module(mirrored(name))
        for attribute in catalog()["modules"][name]["names"]:
            expected = getattr(original, attribute, MISSING)
            found = getattr(mirror, attribute, MISSING)
            path = f"{name}.{attribute}"
            if expected is MISSING:
                continue
            if found is MISSING:
                missing.append(path)
            elif path in routed:
                # None is one object, whoever says it: torch.version.hip.
                if found is expected and found is not None:
                    different.append(f"{path} is torch's own, the catalog says it is routed")
            elif found is not expected and not same_value(found, expected):
                different.append(path)
    assert missing == []
    assert different == []


def same_value(found: object, expected: object) -> bool:
    """Modules stand for each other by name; computed attributes are equal rather than identical."""
    if isinstance(found, ModuleType) and isinstance(expected, ModuleType):
        return found.__name__ == mirrored(expected.__name__)
    return type(found) is type(expected) and bool(found == expected)


def test_dir_and_all_offer_what_torch_offers() -> None:
    for name in MODULES:
        original = importable(name)
        if original is None:
            continue
        mirror = importlib.import_module(mirrored(name))
        assert set(dir(original)) <= set(dir(mirror)), name
        assert getattr(mirror, "__all__", None) == getattr(original, "__all__", None), name


def test_walking_the_mirror_leaves_torch_as_it_was() -> None:
    """In a process of its own: every attribute of every torch module is the same object after all of
    tdev has been imported, shims aside."""
    code = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
names = json.load(open(sys.argv[1]))["modules"]
import torch
def load(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
modules = {name: load(name) for name in names}
for name, module in modules.items():
    for attribute in names[name]["names"]:
        getattr(module, attribute, None)  # torch fills some in at the first access
before = {name: dict(vars(m)) for name, m in sys.modules.items() if name.startswith("torch") and m}
import tdev
for name, module in modules.items():
    if module is None:
        continue
    mirror = importlib.import_module("tdev" + name[5:])
    for attribute in names[name]["names"]:
        getattr(mirror, attribute, None)
changed = []
for name, attributes in before.items():
    now = vars(sys.modules[name])
    changed += [f"{name}.{key}" for key in attributes if now.get(key) is not attributes[key]]
print(json.dumps(changed))
"""
    root = Path(__file__).resolve().parent.parent.parent
    env = {**os.environ, "PYTHONPATH": f"{root}:{root / 'generated'}"}
    done = python("-c", code, str(root / "catalog.json"), cwd=root, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    # What torch.serialization.add_safe_globals adds to: tdev.device, and devices that torch alone cannot make.
    allowed = '["torch._weights_only_unpickler._marked_safe_globals_set"]'
    assert done.stdout.strip().splitlines()[-1] == allowed


@pytest.mark.parametrize(
    "statement",
    [
        "import tdev.nn.functional as F; import torch; assert F is torch.nn.functional",
        "from tdev.utils.data import DataLoader; import torch; assert DataLoader is torch.utils.data.DataLoader",
        "from tdev.cuda.amp import autocast, GradScaler",
        "from tdev import nn, optim, cuda; assert cuda.__name__ == 'tdev.cuda'",
        "from tdev import *; assert callable(relu)",
        "import torch; c = torch.backends.cudnn; import tdev.backends.cudnn; assert torch.backends.cudnn is c",
        "import torch; m = torch.special; import tdev.special; assert tdev.special is torch.special is m",
        "import tdev as torch; torch._C; torch._dynamo.config; torch._foreach_add_; torch.utils._pytree",
        "import tdev._inductor.config",
        "import tdev._inductor.codegen.common; from tdev._inductor.codegen import common",
        "import tdev.nn.parallel.replicate as r; import torch; assert torch.nn.parallel.replicate.__name__ == 'replicate'",
        "import torch, tdev; assert tdev.Tensor is torch.Tensor",
        "import tdev, importlib; importlib.reload(tdev); tdev.zeros(2, device='cuda')",
    ],
)
def test_import_forms(statement: str) -> None:
    """Each in a process of its own, since an import is only tried once per process."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = python("-c", statement, env=env, fresh="importlib.reload" in statement)
    assert done.returncode == 0, done.stderr[-1500:]


@pytest.mark.parametrize("name", ["nope", "cuda.nope", "nn.functional.nope", "backends.nope"])
def test_unknown_names_raise_what_torch_raises(name: str) -> None:
    home, _, leaf = mirrored("torch." + name).rpartition(".")
    with pytest.raises(AttributeError, match="nope"):
        getattr(importlib.import_module(home), leaf)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(mirrored("torch." + name))


@pytest.mark.skipif(current() is Backend.CUDA, reason="at home torch._C stands for itself")
def test_what_stands_for_a_module_has_its_second_name() -> None:
    """Before the import system gives it that: a program may take it from the parent's attribute."""
    stand_in = AliasFinder("tdev", ()).alias(torch._C)
    assert stand_in is not torch._C and stand_in.__name__ == "tdev._C"
