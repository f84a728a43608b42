"""The catalog's evidence is true: what it calls executed is executed here, in this run, on that backend, with an assertion."""

from __future__ import annotations

import importlib.util
import inspect
import json
from types import SimpleNamespace
from typing import Any

import pytest
import tdev
import torch

from generator.facts.pin import installed_version
from generator.plan import cells
from generator.union import release
from tdev_core.backend import Backend, current
from tests.catalog import catalog, joined
from tests.distributed.test_distributed import COLLECTIVES, TRAINING  # noqa: E402
from tests.mirror import exercise, exercise_operators
from tests.mirror.arms import cases
from tests.mirror.exercise import BACKENDS, EVIDENCE, run

AGAIN = "write the evidence anew: python tests/mirror/exercise.py --write && python -m generator"


COLUMNS = ("cpu", "cuda", "mps", "mlx", "sim")


def listed(backend: str) -> dict[str, str]:
    data: dict[str, Any] = json.loads((EVIDENCE / f"{backend}.json").read_text("utf-8"))
    assert data["kind"] == "executed"
    return dict(data["functions"])


def late(backend: str) -> dict[str, str]:
    """What is executed on newer torches alone, and the first of these."""
    data: dict[str, Any] = json.loads((EVIDENCE / f"{backend}.json").read_text("utf-8"))
    return dict(data.get("since", {}))


def test_what_newer_torches_alone_do_is_written_down() -> None:
    for backend in BACKENDS:
        assert late(backend) == exercise.first_torches(backend), AGAIN
        assert late(backend).keys() <= listed(backend).keys()


def claimed(backend: str) -> dict[str, str]:
    """Members whose cell says that a test executes them, and what it says was asserted."""
    rows = catalog()["members"].items()
    return {
        name: row[backend]["asserted"]
        for name, row in rows
        if row[backend]["evidence"] == "executed"
    }


# Each backend's programs run for a quarter of a minute of a core; sim's cells are the most.
@pytest.mark.parametrize(
    "backend", [b if b == "sim" else pytest.param(b, marks=pytest.mark.deep) for b in BACKENDS]
)
@pytest.mark.slow
def test_what_is_called_executed_is_executed_now(backend: str) -> None:
    if backend == "mlx" and importlib.util.find_spec("mlx") is None:
        pytest.skip("MLX is not installed; where it is, this runs")
    found = run(backend)
    # tests/distributed/test_distributed.py holds the catalog against what its two ranks did.
    proved = found["executed"]
    reasons = {
        name: found["wrong"].get(name) or f"{proved.get(name, 'nothing')} was asserted"
        for name, asserted in claimed(backend).items()
        if proved.get(name) != asserted and name not in by_ranks()
    }
    assert not reasons, f"executed otherwise or by no test on {backend}: {reasons}; {AGAIN}"
    assert len(claimed(backend)) > (600 if backend == "cpu" else 900)


def by_ranks() -> set[str]:
    """Members that are executed by two processes."""
    paths = {*COLLECTIVES.values(), *TRAINING.values()}
    return {name for name, row in catalog()["members"].items() if paths & set(row["exports"])}


def removed() -> set[str]:
    """Members that the catalog says torch has removed, and left a function in their place."""
    return {
        name for name, row in catalog()["members"].items() if row["cpu"]["note"] == cells.REMOVED
    }


def test_what_is_called_removed_raises() -> None:
    assert removed() >= {"torch.eig", "torch.solve"}
    for name in removed():
        function = getattr(torch, name.removeprefix("torch."))
        parameters = inspect.signature(function).parameters.values()
        needed = [one for one in parameters if one.default is one.empty]
        with pytest.raises(RuntimeError, match="is now removed"):
            function(*(torch.eye(2) for _ in needed))


@pytest.mark.parametrize("backend", BACKENDS)
def test_cells_say_executed_exactly_where_the_evidence_does(backend: str) -> None:
    assert listed(backend).keys() <= joined()["members"].keys(), f"names that torch lacks; {AGAIN}"
    there = catalog()["members"].keys() - removed()  # another torch has not all of them
    there -= {
        k for k, first in late(backend).items() if release(installed_version()) < release(first)
    }
    assert claimed(backend) == {k: v for k, v in listed(backend).items() if k in there}, AGAIN


def test_cells_say_executed_on_gpu_exactly_where_the_evidence_of_hardware_does() -> None:
    data: dict[str, Any] = json.loads((EVIDENCE / "cuda.json").read_text("utf-8"))
    assert data["kind"] == "executed-on-gpu"
    assert data["functions"].keys() <= joined()["members"].keys(), (
        f"names that torch lacks; {AGAIN}"
    )
    there = catalog()["members"].keys()
    found = {
        name: row["cuda"]["asserted"]
        for name, row in catalog()["members"].items()
        if row["cuda"]["evidence"] == "executed-on-gpu"
    }
    assert found == {k: v for k, v in data["functions"].items() if k in there}, AGAIN


@pytest.mark.skipif(not torch.cuda.is_available(), reason="it takes CUDA hardware")
def test_what_is_called_executed_on_a_gpu_is_executed_now() -> None:
    found = run("cuda")
    data: dict[str, Any] = json.loads((EVIDENCE / "cuda.json").read_text("utf-8"))
    reasons = {
        name: found["wrong"].get(name, "another thing was asserted")
        for name, asserted in data["functions"].items()
        if name in catalog()["members"] and found["executed"].get(name) != asserted
    }
    assert not reasons, f"{reasons}; python tests/mirror/exercise.py --write cuda"


def test_what_is_executed_says_what_was_asserted_and_nothing_else_does() -> None:
    """By hardware that no evidence file speaks of, nothing is executed."""
    files = {path.stem for path in EVIDENCE.glob("*.json")}
    for name, row in catalog()["members"].items():
        for backend in COLUMNS:
            cell = row[backend]
            if cell["evidence"] in ("executed", "executed-on-gpu"):
                assert cell["asserted"] in ("value", "effect", "error"), (name, backend)
                assert backend in files, (name, backend)
                assert (cell["asserted"] == "error") == (cell["route"] == "unsupported"), name
            else:
                assert cell["evidence"] in ("inherited", "checked"), (name, backend)
                assert cell["asserted"] == "", (name, backend)


def test_inherited_is_what_the_mirror_hands_out_as_torchs_own() -> None:
    """``test_names`` tests the identity of what is the same everywhere, ``test_home`` that at home."""
    at_home = {
        (row["torch_name"], mirror["home"].lower())
        for mirror in catalog()["mirrors"].values()
        if mirror["home"]
        for row in mirror["definitions"]
    }
    for name, row in catalog()["members"].items():
        for backend in COLUMNS:
            own = row["mirror"] == "same" or (name, backend) in at_home
            if row[backend]["evidence"] in ("inherited", "checked"):
                assert (row[backend]["evidence"] == "inherited") == own, (name, backend)


@pytest.mark.skipif(current() is Backend.CUDA, reason="calls what answers on the CPU")
class TestACallThatNobodyLooksAt:
    """It is no evidence, however it ends."""

    NAME = "torch.cuda.current_device"

    def test_without_an_assertion_nothing_is_executed(self, monkeypatch: Any) -> None:
        monkeypatch.delitem(exercise.VALUES, "current_device")
        assert exercise._called(self.NAME, "", "cpu", tdev) == ("", "nothing is asserted of it")

    def test_another_value_is_noticed(self, monkeypatch: Any) -> None:
        assert exercise._called(self.NAME, "", "cpu", tdev) == ("value", "")
        monkeypatch.setitem(exercise.VALUES, "current_device", "x == 1")
        assert "answers 0" in exercise._called(self.NAME, "", "cpu", tdev)[1]

    def test_another_effect_is_noticed(self, monkeypatch: Any) -> None:
        name = "torch.cuda.set_sync_debug_mode"
        assert exercise._called(name, "0", "cpu", tdev) == ("effect", "")
        monkeypatch.setitem(exercise.EFFECTS, "set_sync_debug_mode", "f(0)\nassert False, 'seen'")
        assert exercise._called(name, "0", "cpu", tdev) == ("", "AssertionError: seen")

    def test_an_answer_where_the_catalog_refuses_is_noticed(self) -> None:
        name = "torch.cuda.current_blas_handle"
        assert exercise._called(name, "", "cpu", tdev) == ("error", "")

    def test_a_program_that_asserts_nothing_shows_nothing(self) -> None:
        (found,) = exercise._run(["torch.device"], "torch.device('cuda')", "cpu", tdev).values()
        assert found == ("effect", "nothing is asserted of it")

    def test_an_operator_without_a_reference_shows_nothing(self) -> None:
        entry = SimpleNamespace(op=torch.neg, name="neg", dtypes={torch.float32}, ref=None)
        entry.sample_inputs = lambda *_: iter(
            [SimpleNamespace(input=torch.ones(2), args=(), kwargs={})]
        )
        assert exercise_operators._called(entry, "cpu")[1].startswith("nothing is asserted")
        entry.ref = lambda x: x
        assert exercise_operators._called(entry, "cpu")[1].startswith("holds other values")


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
            for backend in COLUMNS:
                assert (name, backend) in called, (name, backend)
