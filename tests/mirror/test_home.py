"""At home torch's own objects answer: on CUDA for the mirror of torch.cuda, on MPS for that of torch.mps.

The emitted definitions have no arm for that backend, because none of them is reached there. Shown in a process
that is made to believe in the hardware, so that it is looked at on every machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.catalog import ROOT, catalog

# Imports each mirror whose home the backend is, and prints which name of it is not torch's own object.
PROGRAM = """
import functools, importlib, json, sys
import torch
device, listed = sys.argv[1], json.load(sys.stdin)
torch.cuda.is_available = lambda: device == "cuda"
torch.backends.mps.is_built = lambda: device == "mps"
# torch has a cached function here, and torch._dynamo asks it for the one inside.
torch.backends.mps.is_available = functools.lru_cache(torch.backends.mps.is_built)
import tdev
from tdev_core.backend import current
assert current().value == device
for module, names in listed.items():
    mirror, original = (importlib.import_module(root + module) for root in ("tdev", "torch"))
    for name in names:
        if getattr(mirror, name) is not getattr(original, name):
            print(f"torch{module}.{name}")
"""


def definitions(home: str) -> dict[str, list[str]]:
    """Names that the mirrors of ``home`` define, by module, without the leading ``torch``."""
    return {
        module.removeprefix("torch"): [row["name"] for row in mirror["definitions"]]
        for module, mirror in catalog()["mirrors"].items()
        if mirror["home"] == home.upper()
    }


@pytest.mark.parametrize("home", ["cuda", "mps"])
def test_at_home_every_name_is_torchs_own_object(home: str) -> None:
    listed = definitions(home)
    assert sum(map(len, listed.values())) > (300 if home == "cuda" else 15)
    env = {name: value for name, value in os.environ.items() if not name.startswith("TDEV_")}
    path = os.pathsep.join([str(ROOT), str(ROOT / "generated")])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, home],
        input=json.dumps(listed),
        capture_output=True,
        text=True,
        env={**env, "TDEV_BACKEND": home, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("home", ["cuda", "mps"])
def test_no_definition_has_an_arm_for_its_home(home: str) -> None:
    for mirror in catalog()["mirrors"].values():
        if mirror["home"] == home.upper():
            assert mirror["asked"] == f"instead_of_{home}"
            for row in mirror["definitions"]:
                reached = {backend for arm in row["arms"] for backend in arm["backends"]}
                assert home.upper() not in reached, row["torch_name"]
