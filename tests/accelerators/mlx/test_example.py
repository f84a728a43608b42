"""The GPT example, written for CUDA, as a whole: trained, saved, loaded again and sampled from on the device.

It reports the memory in use, so that the thread that samples it runs beside training.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.accelerators.mlx.programs import ROOT, run_module

STEPS = 12


def train(backend: str, out: Path) -> tuple[list[float], str]:
    """Each step's loss, and what was printed."""
    program = [str(ROOT / "examples" / "train_gpt.py"), "--steps", str(STEPS), "--workers", "0"]
    files = ["--out", str(out), "--losses", str(out / "l.json")]
    done = run_module("tdev", "run", *program, *files, TDEV_BACKEND=backend)
    assert done.returncode == 0, done.stderr[-4000:]
    losses = [float.fromhex(x) for x in json.loads((out / "l.json").read_text())]
    return losses, done.stdout


@pytest.mark.deep  # test_models.py trains four models in a fraction of the time
def test_the_example_trains_as_on_the_cpu(tmp_path: Path) -> None:
    pytest.importorskip("libcst", reason="`tdev run` needs libcst: pip install 'tdev[codemod]'")
    losses, printed = train("mlx", tmp_path / "mlx")
    expected, _ = train("cpu", tmp_path / "cpu")
    assert len(losses) == len(expected) == STEPS
    # Half precision: MLX and the CPU round sums in another order, by about 1e-5 on a loss of 4.
    assert losses == pytest.approx(expected, abs=1e-3)
    assert losses[-1] < losses[0] - 1
    samples = (tmp_path / "mlx" / "samples.txt").read_text(encoding="utf-8").split("\n\n", 1)
    assert samples[0].startswith("And God said") and samples[0] in printed
    assert "In the begin" in printed
