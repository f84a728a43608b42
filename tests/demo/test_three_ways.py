"""The example trains without CUDA: by hand, after the codemod, and untouched; with the same losses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.demo import ways

STEPS = "40"
FIRST = 12
"""Steps of those that show the same losses: what the first ones draw and how fast they learn does not hang on how many follow."""


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> ways.Training:
    """The training after the imports were changed by hand, on the backend that is picked by itself."""
    folder = tmp_path_factory.mktemp("by-hand")
    command = ways.command_for("by-hand", folder)
    return ways.train(command, folder / "out", "--steps", STEPS)


def test_the_example_knows_nothing_of_tdev() -> None:
    assert "tdev" not in ways.EXAMPLE.read_text(encoding="utf-8")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_stock_torch_refuses_the_example(tmp_path: Path) -> None:
    command = [sys.executable, str(ways.EXAMPLE), "--steps", "1", "--out", str(tmp_path)]
    answer = subprocess.run(command, env=ways.environment(), capture_output=True, text=True)
    assert answer.returncode == 1
    if torch.version.cuda is None:
        reason = "AssertionError: Torch not compiled with CUDA enabled"
    else:  # a CUDA build on a machine without a GPU
        reason = "RuntimeError: Found no NVIDIA driver on your system"
    assert reason in answer.stderr


def test_loss_falls(reference: ways.Training) -> None:
    values = reference.values()
    assert len(values) == int(STEPS)
    assert 4.0 < values[0] < 4.5  # ln(70 characters) = 4.25
    assert sum(values[-10:]) / 10 < 2.7


def test_it_prints_progress_and_samples(reference: ways.Training) -> None:
    assert f"step   {STEPS}/{STEPS}  loss" in reference.printed
    validation = re.search(r"validation loss (\d\.\d+)", reference.printed)
    assert validation is not None
    assert float(validation[1]) < 2.7
    samples = (reference.out / "samples.txt").read_text(encoding="utf-8").rstrip("\n")
    assert len(samples) == 2 * (len("And God said") + 160) + len("\n\n")
    for sample in samples.split("\n\nIn the begin"):
        assert sample.strip() in reference.printed


def test_times_and_memory_are_real(reference: ways.Training) -> None:
    lines = re.findall(r"([\d.]+) ms/step +([\d.]+) MiB held +([\d.]+) MiB peak", reference.printed)
    assert len(lines) == 1 + int(STEPS) // 20
    for milliseconds, held, peak in lines:
        assert float(milliseconds) > 0
        assert 0 < float(held) <= float(peak)


# The three ways are compared over every case and program of the codemod; here is the one that a reader tries first.
@pytest.mark.parametrize(
    "way", ["codemod-explicit", pytest.param("codemod-alias", marks=pytest.mark.deep), "run"]
)
def test_the_same_losses(way: str, reference: ways.Training, tmp_path: Path) -> None:
    command = ways.command_for(way, tmp_path)
    training = ways.train(command, tmp_path / "out", "--steps", str(FIRST), fresh=way == "run")
    assert len(training.losses) == FIRST
    assert training.losses == reference.losses[:FIRST]


@pytest.mark.deep  # tests/test_docs.py trains on sim too
def test_the_same_losses_on_a_simulated_accelerator(
    reference: ways.Training, tmp_path: Path
) -> None:
    training = ways.train(
        ways.command_for("by-hand", tmp_path),
        tmp_path / "out",
        "--steps",
        STEPS,
        TDEV_BACKEND="sim",
    )
    assert training.losses == reference.losses


def test_another_seed_gives_other_losses(reference: ways.Training, tmp_path: Path) -> None:
    training = ways.train(
        ways.command_for("by-hand", tmp_path), tmp_path / "out", "--steps", "3", "--seed", "7"
    )
    assert all(a != b for a, b in zip(training.losses, reference.losses[:3], strict=True))


def test_stock_torch_reads_the_checkpoint(reference: ways.Training) -> None:
    checkpoint = torch.load(reference.out / "checkpoint.pt", weights_only=True, map_location="cpu")
    assert checkpoint["step"] == int(STEPS)
    state = checkpoint["model"]
    assert all(t.isfinite().all() for t in state.values())
    assert state["head.weight"].shape == (70, 64)


@pytest.mark.deep
def test_resuming_goes_on_where_it_stopped(tmp_path: Path) -> None:
    script = ways.command_for("by-hand", tmp_path)
    out = tmp_path / "out"
    first = ways.train(script, out, "--steps", "30")
    second = ways.train(script, out, "--steps", "40", "--resume")
    assert "resumed at step 30" in second.printed
    assert len(second.losses) == 10
    assert second.values()[0] < first.values()[5]  # far from where an untrained model starts


@pytest.mark.deep  # half a minute; tests/run/test_real.py starts a program under torchrun
def test_two_processes_under_torchrun_agree(tmp_path: Path) -> None:
    options = ["--steps", "10", "--workers", "0"]
    losses = {}
    for way in ("by-hand", "codemod-explicit", "run"):
        folder = tmp_path / way
        folder.mkdir()
        command = ways.command_for(way, folder)
        if way == "run":
            command = [*ways.TORCHRUN, *command]
            training = ways.train(command, folder / "out", *options, fresh=True)
        else:
            training = ways.train(command, folder / "out", *options, processes=2)
        assert "training on 2 x" in training.printed
        losses[way] = training.losses
    assert len(losses["by-hand"]) == 10
    assert losses["codemod-explicit"] == losses["by-hand"]
    assert losses["run"] == losses["by-hand"]
