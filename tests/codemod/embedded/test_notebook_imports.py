"""Where tdev is imported in a notebook, by the real rules: beside each cell's own import of torch."""

from __future__ import annotations

import json
from typing import cast

import pytest

from tdev_core.codemod import engine
from tdev_core.codemod.engine import Names, Options
from tdev_core.codemod.jobs.process import Engine, Job, process
from tdev_core.codemod.model import Kind, Outcome

WAIT = "import torch\ntorch.cuda.synchronize()"
BESIDE = "import tdev\nimport torch\ntdev.cuda.synchronize()"
ONLY = "import tdev\ntdev.cuda.synchronize()"


def _run(raw: bytes) -> Outcome:
    job = Job("n.ipynb", Kind.NOTEBOOK, raw, Options())
    return process(job, cast(Engine, engine), Names.load())


def rewritten(*cells: str) -> list[str]:
    made = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": cell}
        for cell in cells
    ]
    data = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    outcome = _run(json.dumps(data).encode())
    assert outcome.new is not None
    assert _run(outcome.new).new is None  # a second run changes nothing
    return ["".join(cell["source"]) for cell in json.loads(outcome.new)["cells"]]


def test_each_cell_that_imports_torch_imports_tdev() -> None:
    """In any order of the cells, and when one is run alone."""
    cells = rewritten(
        WAIT,
        "import torch\nx = torch.zeros(3, device='cuda')",
        "import torch\nassert torch.zeros(3).device.type == 'cpu'",
        "import torch\nprint(torch.zeros(1).is_cuda)",
    )
    assert cells == [
        BESIDE,
        "import tdev\nimport torch\nx = tdev.zeros(3, device='cuda')",
        "import torch\nassert torch.zeros(3).device.type == 'cpu'",
        "import tdev\nimport torch\nprint(tdev.is_accelerator(torch.zeros(1)))",
    ]


@pytest.mark.parametrize("cell", ["%timeit torch.zeros(3)", "x = !echo torch", "torch.zeros(3) +"])
def test_torch_stays_where_a_cell_that_is_no_python_names_it(cell: str) -> None:
    assert rewritten(WAIT, cell) == [BESIDE, cell]


def test_torch_goes_where_nothing_names_it() -> None:
    assert rewritten(WAIT, "%timeit 1 + 1") == [ONLY, "%timeit 1 + 1"]


@pytest.mark.parametrize(
    ("cells", "stays"),
    [
        (["import cutlass\nimport torch", "torch.cuda.synchronize()"], True),
        (["import torch\nimport cutlass", "torch.cuda.synchronize()"], True),
        (["import cutlass", WAIT], True),
        ([WAIT, "import cutlass"], False),
        (["try:\n    import cutlass\nexcept ImportError:\n    cutlass = None", WAIT], False),
    ],
)
def test_a_notebook_that_begins_with_a_package_of_kernels_stays(
    cells: list[str], stays: bool
) -> None:
    """Without it no cell below runs; one further down leaves those above it as they are."""
    if not stays:
        assert "tdev.cuda.synchronize()" in "\n".join(rewritten(*cells))
        return
    made = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": cell}
        for cell in cells
    ]
    data = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    outcome = _run(json.dumps(data).encode())
    assert outcome.new is None
    said = "cutlass: kernels for CUDA; the notebook is left as it is (--all rewrites it)"
    assert said in [remark.message for remark in outcome.remarks]
