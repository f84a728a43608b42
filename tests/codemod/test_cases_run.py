"""The explicit and the alias version of a case behave the same, on the CPU and on the simulator.

Every case that stands in both styles with the same input is run, and must come to the same end:
the same output, the same values, the same exception. The cases that end in an exception, or that
differ, are listed here with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.forkserver import environment, python

pytest.importorskip("tdev")
pytestmark = pytest.mark.xdist_group("codemod cases")  # one process for each backend runs them all

HERE = Path(__file__).parent
CASES = HERE / "cases"

_FRAGMENT = "a fragment: uses names that it does not define"
ENDS = {
    "annotate/above_the_statement": "imports cupy",
    "cuda-reference/device_mesh": "needs the variables that torchrun sets",
    "cuda-reference/distributed_by_full_name": "needs the variables that torchrun sets",
    "cuda-reference/distributed_from_import": "needs the variables that torchrun sets",
    "demand/skips": "imports a module of its own",
    "device-argument/load": "reads a file that is not there",
    "device-argument/load_without_cuda_in_file": "reads a file that is not there",
    "device-argument/map_location_is_mapped": "reads a file that is not there",
    "foreign-device/transformers": "imports transformers",
    "foreign-device/without_torch": "imports sentence_transformers",
    "torchscript/unknown": "imports models",
    "import/from_import_last_two": "reads a file that is not there",
    "import/multi_import_line": "needs the variables that torchrun sets",
    "import/parenthesised_two_moved": "reads a file that is not there",
    **dict.fromkeys(
        [
            "comparison/strings",
            "cuda-reference/except_out_of_memory",
            "cuda-reference/graphs",
            "cuda-reference/passed_as_value",
            "device-argument/string_flows_on",
            "device-argument/windows_and_fft",
            "string-reference/getattr",
        ],
        _FRAGMENT,
    ),
}
DIFFERS = {
    "keep/one_of_two": "a kept line is torch's in the explicit style alone: alias swaps the import",
    "other-arms/chain": "so is a test beside other arms, which on sim finds no CUDA and no mps",
    "private-name/lazy_init": "so is a private name; under alias it is missing, and both raise",
}


def _pairs() -> list[str]:
    explicit, alias = CASES / "explicit", CASES / "alias"
    found = []
    for path in sorted(explicit.glob("*/*.in.py")):
        twin = alias / path.relative_to(explicit)
        if twin.exists() and twin.read_bytes() == path.read_bytes():
            found.append(f"{path.parent.name}/{path.name.removesuffix('.in.py')}")
    return found


PAIRS = _pairs()


@pytest.fixture(scope="module", params=["cpu", "sim"])
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    files = [str(CASES / s / f"{name}.out.py") for name in PAIRS for s in ("explicit", "alias")]
    torchrun = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    done = python(
        str(HERE / "run_cases.py"),
        *files,
        env=environment(TDEV_BACKEND=request.param, **dict.fromkeys(torchrun)),
        # Not the repository's, so that a relative path would miss.
        cwd=tmp_path_factory.mktemp("run"),
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.parametrize("name", PAIRS)
def test_both_styles_behave_the_same(name: str, outcomes: dict[str, Any]) -> None:
    explicit, alias = (outcomes[str(CASES / s / f"{name}.out.py")] for s in ("explicit", "alias"))
    if name in DIFFERS:
        return
    assert bool(explicit["ended"]) == (name in ENDS), explicit["ended"]
    assert explicit == alias


def test_most_cases_run() -> None:
    assert {*ENDS, *DIFFERS} <= set(PAIRS)
    assert len(PAIRS) - len(ENDS) - len(DIFFERS) >= 80
