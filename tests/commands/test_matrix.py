"""``python -m tdev matrix``: the migration plan's table, complete and true to the catalog."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from generator.render.merged import merged
from tdev_core.commands.matrix_cli import main
from tdev_core.errors import ConfigError
from tdev_core.mirror import matrix
from tests.catalog import ROOT, joined

ROUTES = {"same", "native", "mapped", "emulated", "noop", "fallback", "unsupported"}
EVIDENCE = {"executed", "executed-on-gpu", "inherited", "checked"}
# How many functions the migration plan has in each of its categories.
PLAN = {
    "ASYNCHRONOUS": 3,
    "CUDA_OPERATIONS": 76,
    "DISTRIBUTED_COMPUTING": 56,
    "DISTRIBUTIONS": 2,
    "FUNCTIONAL_PROGRAMMING": 14,
    "GRAPH_TRANSFORMATIONS": 5,
    "JIT_COMPILATION": 30,
    "MASKED_OPERATIONS": 22,
    "MODEL_EXPORT": 9,
    "MPS_OPERATIONS": 13,
    "MTIA_OPERATIONS": 21,
    "MULTIPROCESSING": 9,
    "NESTED_TENSORS": 5,
    "NEURAL_NETWORK": 1,
    "ONNX_EXPORT": 8,
    "PACKAGING": 1,
    "PROFILING": 5,
    "QUANTIZATION": 43,
    "SPARSE_OPERATIONS": 3,
    "TESTING_UTILITIES": 3,
    "UTILITIES": 5,
    "XPU_OPERATIONS": 35,
}
GONE = {
    "torch.export.compatibility",
    "torch.export.export_for_training",
    "torch.mtia.classproperty",
    "torch.onnx.dynamo_export",
    "torch.onnx.enable_fake_mode",
    "torch.onnx.is_onnxrt_backend_supported",
}


def planned() -> list[matrix.Row]:
    return [row for row in matrix.load().rows if row.planned]


def test_the_table_has_every_function_of_the_plan() -> None:
    assert Counter(row.category for row in planned()) == PLAN
    assert len({row.name for row in planned()}) == sum(PLAN.values()) == 369


def test_every_cell_of_every_row_has_route_and_evidence_and_a_reason_where_it_needs_one() -> None:
    for row in matrix.load().rows:
        for backend in matrix.COLUMNS:
            cell = row.cells[backend]
            assert cell.route in ROUTES and cell.evidence in EVIDENCE, (row.name, backend)
            if cell.route in ("noop", "unsupported", "fallback"):
                assert cell.note, (row.name, backend)
        assert row.remarks or not row.planned or row.kind != "gone"


def test_cells_are_the_catalogs() -> None:
    every = merged(joined())["members"]  # of every torch: so is the table
    members = {path: row for row in every.values() for path in row["exports"]}
    wrong = []
    for row in matrix.load().rows:
        if row.name in members:
            member = members[row.name]
            for backend in matrix.COLUMNS:
                cell = {key: said for key, said in member[backend].items() if key != "ignores"}
                if vars(row.cells[backend]) != cell:
                    wrong.append((row.name, backend))
        else:
            assert row.name in GONE
    assert wrong == []
    shown = {name for row in matrix.load().rows for name in (row.name, *row.names)}
    assert all(shown & set(member["exports"]) for member in every.values())


def test_names_that_torch_dropped_say_so_and_resolve_where_another_name_means_the_same() -> None:
    rows = {row.name: row for row in planned() if row.name in GONE}
    assert rows.keys() == GONE
    assert all("torch no longer has it" in row.remarks for row in rows.values())
    unanswered = {name for name, row in rows.items() if row.status == "gone"}
    assert unanswered == {"torch.onnx.enable_fake_mode", "torch.onnx.is_onnxrt_backend_supported"}


@pytest.mark.parametrize(
    "name", ["torch.cuda.lru_cache", "torch.jit.contextmanager", "torch.cuda.cast"]
)
def test_re_exported_helpers_say_so_and_are_the_same_object(name: str) -> None:
    row = matrix.load().by_name()[name]
    assert "only re-exports" in row.remarks
    assert {row.cells[backend].route for backend in matrix.COLUMNS} == {"same"}


def test_the_file_stays_small() -> None:
    assert (ROOT / "generated" / "tdev" / "_matrix.json").stat().st_size < 1_500_000


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main([*argv]) == 0
    return capsys.readouterr().out


def test_formats_tell_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(run(capsys, "--plan", "--format", "json"))
    assert len(data["rows"]) == data["totals"]["total"] == 369
    assert data["totals"]["done"] + data["totals"]["not done"] == 369
    lines = list(csv.DictReader(io.StringIO(run(capsys, "--plan", "--format", "csv"))))
    assert [line["name"] for line in lines] == [row["name"] for row in data["rows"]]
    assert [line["mps"] for line in lines] == [row["mps"]["route"] for row in data["rows"]]
    markdown = run(capsys, "--plan", "--format", "markdown").splitlines()
    named = {line.split("`")[1] for line in markdown if line.startswith("| `")}
    assert named == {line["name"] for line in lines}
    columns = "CPU | CUDA | MPS | MLX | SIM"
    heading = f"| CUDA_OPERATIONS | {columns} | Status | Arguments | Return Type | Notes |"
    assert heading in markdown
    widths = {line.replace("\\|", "").count("|") for line in markdown if line.startswith("|")}
    assert widths == {11}
    text = run(capsys, "--plan", "--category", "cuda")
    totals = [line for line in text.splitlines() if line.startswith("torch 2.")]
    assert len(totals) == 1 and "total 76, done " in totals[0]


def test_filters(capsys: pytest.CaptureFixture[str]) -> None:
    def names(*argv: str) -> set[str]:
        return {row["name"] for row in json.loads(run(capsys, *argv, "--format", "json"))["rows"]}

    assert names("torch.cuda.empty_cache") == {"torch.cuda.empty_cache"}
    assert names("torch.cuda.memory.empty_cache") == {"torch.cuda.empty_cache"}, (
        "another name of it"
    )
    mapped = names("--backend", "mps", "--route", "mapped", "--plan")
    assert "torch.cuda.empty_cache" in mapped and "torch.cuda.current_stream" not in mapped
    assert names("--plan", "--status", "gone") == {
        "torch.onnx.enable_fake_mode",
        "torch.onnx.is_onnxrt_backend_supported",
    }
    assert names("no_such_function_anywhere") == set()
    # A part of a name, or a pattern for all of it; of a function or of what is planned.
    whole = {row.name: {row.name, *row.names} for row in matrix.load().rows}
    for asked, fits in (
        ("empty_cach", lambda name: "empty_cach" in name),
        ("torch.cuda.empty_cach?", lambda name: name == "torch.cuda.empty_cache"),
        ("*.empty_cache", lambda name: name.endswith(".empty_cache")),
        ("torch.cuda.[st]et_device", lambda name: name == "torch.cuda.set_device"),
        ("empty_cach?", lambda name: False),
    ):
        expected = {name for name, own in whole.items() if any(map(fits, own))}
        assert names(asked) == expected, asked
    cells = {row.name: row.cells for row in matrix.load().rows}
    for backend in ("mps", "sim"):
        found = names("--backend", backend, "--route", "noop", "--evidence", "executed")
        assert found == {
            name
            for name, by in cells.items()
            if (by[backend].route, by[backend].evidence) == ("noop", "executed")
        }


def test_the_table_is_plain_without_rich(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    text = run(capsys, "--plan", "cuda.empty_cache")
    assert text.splitlines()[0].split()[:3] == ["CUDA_OPERATIONS", "CPU", "CUDA"]


def test_a_lost_or_damaged_table_is_an_error_and_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    damaged = tmp_path / "_matrix.json"
    whole = json.loads((ROOT / "generated" / "tdev" / "_matrix.json").read_text())
    whole["rows"] = [[*whole["rows"][0], "one value more than there are fields"]]
    bare = '{"torch": "2", "shims": 0, "fields": ["name"], "rows": [["a"]]}'
    for text in ("{", "{}", bare, json.dumps(whole)):
        damaged.write_text(text)
        monkeypatch.setattr(matrix, "_path", lambda: damaged)
        matrix.load.cache_clear()
        try:
            assert main([]) == 2
            with pytest.raises(ConfigError, match="python -m generator"):
                matrix.load()
        finally:
            monkeypatch.undo()
            matrix.load.cache_clear()
        assert "cannot be read as the compatibility table" in capsys.readouterr().err


def test_a_table_that_is_not_there_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in (None, SimpleNamespace(submodule_search_locations=["nowhere"])):
        monkeypatch.setattr(importlib.util, "find_spec", lambda _, found=found: found)
        with pytest.raises(ConfigError, match="missing from this installation"):
            matrix._path()


def test_it_needs_no_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libtorch_cpu.so: cannot open')\n")
    done = subprocess.run(
        [sys.executable, "-m", "tdev", "matrix", "--plan", "--format", "json"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}:{ROOT / 'generated'}"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["totals"]["total"] == 369


def test_status_says_done_only_where_every_column_has_an_answer() -> None:
    names = matrix.load().by_name()
    assert names["torch.cuda.empty_cache"].status == "done"
    assert names["torch.cuda.current_blas_handle"].status == "partial"
    for row in matrix.load().rows:
        answered = all(row.cells[backend].route != "unsupported" for backend in matrix.COLUMNS)
        assert (row.status == "done") == answered, row.name


NOTED = [
    # what the function does, the notes of its columns, what is shown
    ("", {}, ""),
    ("adds", {}, "adds"),
    ("adds", {"cpu": "on the host", "sim": "on the host"}, "CPU, SIM: on the host"),
    ("", {"mps": "one", "mlx": "two"}, "MPS: one; MLX: two"),
    ("adds", {"cpu": "adds", "mlx": "two"}, "MLX: two"),  # what is said already
    ("", dict.fromkeys(matrix.COLUMNS, "all alike"), "all alike"),
    ("adds", {"mps": "dispatch key MPS"}, "adds; MPS: dispatch key MPS"),
    ("", {"mps": "dispatch key MPS"}, "MPS: dispatch key MPS"),
    ("torch no longer has it", {"cpu": "x"}, "torch no longer has it; CPU: x"),
    ("a helper that it only re-exports", {"cpu": "x"}, "a helper that it only re-exports; CPU: x"),
]


@pytest.mark.parametrize(("note", "columns", "shown"), NOTED)
def test_remarks_are_the_notes_of_the_columns(
    note: str, columns: dict[str, str], shown: str
) -> None:
    cells = {
        name: matrix.Cell("same", "checked", "", columns.get(name, "")) for name in matrix.COLUMNS
    }
    row = matrix.Row("torch.f", "C", True, cells, "function", "same", "", "", note, ())
    assert row.remarks == shown
