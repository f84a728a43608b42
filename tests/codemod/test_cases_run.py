"""Every case behaves the same in both styles and under ``tdev run``, on the CPU and on the simulator.

Each input of a case file is rewritten in the explicit and in the alias style, and runs as it is under
``tdev run``: the same output, the same values, the same exception. One that no style has import tdev runs
as it does where there is none. What differs is listed here with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.forkserver import COMPILER, environment, python

pytest.importorskip("tdev")

HERE = Path(__file__).parent
CASES = HERE / "cases"
# Most inputs stand in several styles; the styles' own outputs are test_cases's.
INPUTS = {
    str(path.relative_to(CASES).with_suffix("").with_suffix("")): path
    for path in {
        p.read_bytes(): p for s in ("in", "same") for p in sorted(CASES.glob(f"*/*/*.{s}.py"))
    }.values()
}
TORCHRUN = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

KEPT = "a kept line is torch's in the explicit style alone: alias swaps the import"
BUILT = "what is built of .cu files is torch's to build; a run builds what of it is C++"
DIFFERS = {
    "explicit/cuda-kernel/extensions": BUILT,
    "explicit/keep/one_of_two": KEPT,
    "accelerator/keep/owners_marks": KEPT,
    "explicit/private-name/lazy_init": "so is a private name; under alias it is missing, and both raise",
    **dict.fromkeys(
        ("explicit/cuda-version/taken_apart", "explicit/cuda-version/told"),
        "a version that is only told is torch's, in the explicit style alone",
    ),
    "explicit/cuda-version/asked_before_by_its_own_name": "its own name stays torch's, in the explicit style alone",
    **dict.fromkeys(
        (
            "explicit/cuda-reference/states_behind_a_constant",
            "explicit/cuda-reference/states_written_to_files",
        ),
        "a checkpoint's question stays CUDA's; a program that was started to run gets its device",
    ),
    **dict.fromkeys(
        (
            "explicit/demand/skips_a_test_in_double",
            "explicit/cuda-reference/test_in_double_by_a_flag",
            "explicit/cuda-kernel/doubles_by_name",
            "explicit/cuda-kernel/devices_beside_dtypes",
        ),
        "migrated, what is in double precision stays CUDA's or the CPU's; a run gets its device",
    ),
    "explicit/cuda-only-import/nvml_by_names_that_lack": "under `tdev run` the stand-in answers; migrated, the import stays",
    "explicit/stand-in/left": "under `tdev run` a stand-in answers for xformers; migrated, such an import stays",
    "explicit/stand-in/unpacks_for_an_older_version": "under `tdev run` the stand-in answers; migrated, the import stays",
    **dict.fromkeys(
        (
            "explicit/other-arms/boolean",
            "explicit/other-arms/chain",
            "explicit/other-arms/constants_of_several",
            "explicit/other-arms/else_if",
            "explicit/other-arms/kept_beside_what_is_built",
            "explicit/other-arms/left_over_by_others",
            "explicit/other-arms/nested_ternary",
        ),
        "migrated, a choice beside other accelerators stays; a program that was started to run gets its device",
    ),
}
# Built with CUDA, torch has a version: the explicit style leaves `torch.version.cuda is None` to torch, which was asked
# how it was built; under alias and `tdev run` the word is tdev's.
if torch.version.cuda is not None:
    DIFFERS |= dict.fromkeys(
        (
            "accelerator/cuda-version/taken_apart",
            "alias/cuda-version/asked_beside_more",
            "explicit/cuda-version/asked_only_whether",
            "explicit/cuda-version/asked_whether",
            "explicit/cuda-version/asks_for_the_build",
            "explicit/cuda-version/only_a_question",
            "explicit/cuda-version/reached_where_torch_is_built_for_it",
            "explicit/cuda-version/taken_apart_where_it_is",
        ),
        "torch itself is asked how it was built, in the explicit style alone",
    )
GENERIC = "asks torch.accelerator, which tells of the device that tdev has registered"
NEEDS_TDEV = {
    "accelerator/accelerator/already_generic": GENERIC,
    "explicit/cuda-reference/generic_already": GENERIC,
}


def outcomes(backend: str, cwd: Path, *options: str) -> dict[str, Any]:
    done = python(
        str(HERE / "run_cases.py"),
        *options,
        *map(str, INPUTS.values()),
        env=environment(TDEV_BACKEND=backend, **dict.fromkeys(TORCHRUN)),
        # Not the repository's, so that a relative path would miss.
        cwd=cwd,
        preload=COMPILER,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return outcomes("cpu", tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return outcomes("sim", tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return outcomes("sim", tmp_path_factory.mktemp("run"), "--stock")


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("backend", [pytest.param("cpu", marks=pytest.mark.deep), "sim"])
def test_the_three_ways_behave_the_same(
    name: str, backend: str, request: pytest.FixtureRequest
) -> None:
    told = request.getfixturevalue(backend)[str(INPUTS[name])]
    alike = told["explicit"] == told["alias"] == told["run"]
    if backend == "sim" or name not in DIFFERS:
        assert alike == (name not in DIFFERS), told


@pytest.mark.deep  # all cases a second time
@pytest.mark.parametrize("name", INPUTS)
def test_what_imports_no_tdev_needs_none(
    name: str, stock: dict[str, Any], sim: dict[str, Any]
) -> None:
    without, beside = (found[str(INPUTS[name])] for found in (stock, sim))
    differing = [style for style in without if without[style] != beside[style]]
    assert bool(differing) == (name in NEEDS_TDEV), differing


def test_most_cases_run(sim: dict[str, Any]) -> None:
    assert {*DIFFERS, *NEEDS_TDEV} <= set(INPUTS)
    ended = [name for name, path in INPUTS.items() if not sim[str(path)]["run"]["ended"]]
    assert len(ended) >= 240


@pytest.mark.deep
def test_many_cases_import_no_tdev(stock: dict[str, Any]) -> None:
    assert sum(map(bool, stock.values())) >= 80
