"""What the codemod is told of torch does not depend on how torch was built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types

import pytest
import torch

from generator import paths
from generator.codemod import names

NAMES = paths.CORE / "codemod" / "engine" / "names.json"

# A torch that was built with CUDA, as far as Python sees: a class more, and a version.
OTHER_BUILD = """
import json, sys
import torch, torch.distributed
from torch.distributed import distributed_c10d
if sys.argv[1] == "cuda":
    group = type("ProcessGroupNCCL", (distributed_c10d.ProcessGroup,), {})
    torch.distributed.ProcessGroupNCCL = distributed_c10d.ProcessGroupNCCL = group
    torch.version.cuda = "13.0"
else:
    for module in (torch.distributed, distributed_c10d):
        vars(module).pop("ProcessGroupNCCL", None)
    torch.version.cuda = None
from generator.codemod.names import collect
json.dump(collect(), sys.stdout)
"""


@pytest.mark.deep  # each build runs the plain test
def test_the_other_build_of_torch_gives_the_same_names() -> None:
    """``tests/codemod/test_engine_generated.py`` asks the one that is installed."""
    build = "cpu" if torch.version.cuda else "cuda"
    recorded = json.loads(NAMES.read_text(encoding="utf-8"))
    if torch.__version__.partition("+")[0] != recorded["version"]:
        pytest.skip(f"names.json was read from torch {recorded['version']}")
    done = subprocess.run(
        [sys.executable, "-c", OTHER_BUILD, build],
        cwd=paths.ROOT,
        env={**os.environ, "PYTHONPATH": str(paths.ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == recorded


def test_a_name_of_one_build_is_left_out() -> None:
    module = types.ModuleType("m")
    groups = ("ProcessGroupNCCL", "ProcessGroupNCCL2", "ProcessGroupNCCLLazy")
    vars(module).update(dict.fromkeys(groups, object()), Kept=object(), _private=object())
    assert names._public(module) == ["Kept"]
