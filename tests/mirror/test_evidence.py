"""The catalog's evidence is true: what it calls executed is executed here, in this run, on that backend."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from tests.catalog import catalog
from tests.distributed.test_distributed import COLLECTIVES, TRAINING  # noqa: E402
from tests.mirror.arms import cases
from tests.mirror.exercise import BACKENDS, EVIDENCE, run

AGAIN = "write the evidence anew: python tests/mirror/exercise.py --write && python -m generator"


def listed(backend: str) -> set[str]:
    data: dict[str, Any] = json.loads((EVIDENCE / f"{backend}.json").read_text("utf-8"))
    assert data["kind"] == "executed"
    return set(data["functions"])


def claimed(backend: str) -> set[str]:
    """Members whose cell says that a test executes them."""
    rows = catalog()["members"].items()
    return {name for name, row in rows if row.get(backend, {}).get("evidence") == "executed"}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.slow
def test_what_is_called_executed_is_executed_now(backend: str) -> None:
    if backend == "mlx" and importlib.util.find_spec("mlx") is None:
        pytest.skip("MLX is not installed; where it is, this runs")
    found = run(backend)
    # tests/distributed/test_distributed.py holds the catalog against what its two ranks did.
    unproved = claimed(backend) - set(found["executed"]) - by_ranks()
    reasons = {name: found["wrong"].get(name, "not called") for name in sorted(unproved)}
    assert not reasons, f"executed by no test on {backend}: {reasons}; {AGAIN}"
    assert len(claimed(backend)) > (350 if backend == "sim" else 850)


def by_ranks() -> set[str]:
    """Members that are executed by two processes."""
    paths = {*COLLECTIVES.values(), *TRAINING.values()}
    return {name for name, row in catalog()["members"].items() if paths & set(row["exports"])}


@pytest.mark.parametrize("backend", BACKENDS)
def test_cells_say_executed_exactly_where_the_evidence_does(backend: str) -> None:
    rows = catalog()["members"]
    known = {name for name in listed(backend) if backend in rows.get(name, {})}
    assert claimed(backend) == known, AGAIN
    assert listed(backend) <= rows.keys(), f"names that torch lacks; {AGAIN}"


def test_nothing_claims_hardware_that_no_evidence_file_speaks_of() -> None:
    files = {path.stem for path in EVIDENCE.glob("*.json")}
    for name, row in catalog()["members"].items():
        for backend in ("cpu", "cuda", "mps", "mlx", "sim"):
            if row.get(backend, {}).get("evidence", "checked") != "checked":
                assert backend in files, (name, backend)


def test_every_cell_that_is_only_checked_has_an_arm_that_is_called_against_an_autospec() -> None:
    """``test_checked_arms`` takes its cases from the same list; ``test_home`` looks at each backend at home."""
    called = {(case.row["torch_name"], case.backend.lower()) for case in cases("routed", "bound")}
    called |= {
        (row["torch_name"], mirror["home"].lower())
        for mirror in catalog()["mirrors"].values()
        if mirror["home"]
        for row in mirror["definitions"]
    }
    for name, row in catalog()["members"].items():
        if row["mirror"] in ("routed", "bound"):
            for backend in ("cpu", "cuda", "mps", "mlx", "sim"):
                assert (name, backend) in called, (name, backend)
