"""Where a backend answers otherwise than CUDA does, that is known: by a list, and in the guide."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cuda.semantics import LINES
from tests.forkserver import environment, python

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")

ONE_MEMORY = "One memory"
ONE_GENERATOR = "One generator"
NO_INDEX = "No index"
KERNELS = "Other kernels"
NOT_PINNED = "Nothing is pinned"

DIFFERS: dict[str, dict[str, tuple[str, str]]] = {
    "cpu": {
        "autocast: tensors of the CPU": ("torch.float16", ONE_MEMORY),
        "autocast: the CPU's own is on": ("True", ONE_MEMORY),
        "a move to the CPU copies": ("True", ONE_MEMORY),
        "two devices in one operator": ("[0.0, 0.0]", ONE_MEMORY),
        "numpy() of a tensor on the device": ("[0.0]", ONE_MEMORY),
        "index of the device": ("None", NO_INDEX),
        "get_device()": ("-1", NO_INDEX),
        "seeding the device leaves the CPU's numbers": ("False", ONE_GENERATOR),
        "drawing on the device leaves the CPU's numbers": ("False", ONE_GENERATOR),
        "a histogram of whole numbers": ("RuntimeError", KERNELS),
        "absolute values of truth": ("RuntimeError", KERNELS),
        "a kernel that cannot repeat itself": ("gradient", KERNELS),
        "pinned memory": ("False", NOT_PINNED),
    },
    "sim": {
        "drawing on the device leaves the CPU's numbers": ("False", ONE_GENERATOR),
    },
    "mlx": {
        "a kernel that cannot repeat itself": ("gradient", KERNELS),
        "pinned memory": ("False", NOT_PINNED),
    },
}
"""What another answer is, and the line of the guide that says why."""
EVERYWHERE = {
    "a product of whole numbers": ("[[2, 2], [2, 2]]", KERNELS),
}


@pytest.mark.parametrize("backend", DIFFERS)
def test_what_differs_from_cuda_is_known(backend: str) -> None:
    if backend == "mlx":
        pytest.importorskip("mlx.core", reason="the mlx backend needs MLX")
    done = python("-m", "tests.cuda.semantics", env=environment(TDEV_BACKEND=backend))
    assert done.returncode == 0, done.stderr
    given = dict(line.split("\t") for line in done.stdout.splitlines())
    differs = {**EVERYWHERE, **DIFFERS[backend]}
    expected = {name: line.on_cuda for name, line in LINES.items()}
    expected |= {name: there for name, (there, _) in differs.items()}
    assert given == expected


def test_the_guide_says_what_differs() -> None:
    reasons = {why for table in (EVERYWHERE, *DIFFERS.values()) for _, why in table.values()}
    for why in reasons:
        assert f"| {why} |" in GUIDE, why
