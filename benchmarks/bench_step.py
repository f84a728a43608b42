"""A training step of a small GPT on the CPU: written for CUDA and run through tdev, against torch's own.

Both models live in one process and step by turns, with the shims taken off for torch's turn, so that a
busy machine slows both alike; on one thread, in processor time, which other programs do not inflate.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

from benchmarks import children
from benchmarks.rows import Row, ratio_of_medians, spread

_STEPS = 300  # single steps differ by a tenth on a busy machine, and the budget is a hundredth
_WARM_UP = 8
_VOCABULARY, _LENGTH, _WIDTH, _HEADS, _LAYERS, _BATCH = 70, 64, 128, 4, 3, 16


def measure() -> list[Row]:
    seconds = children.run_module("benchmarks.bench_step", TDEV_BACKEND="cpu", OMP_NUM_THREADS="1")
    ours, theirs = seconds["tdev"], seconds["torch"]
    return [
        Row(
            "training step, tdev / torch",
            ratio_of_medians(ours, theirs),
            "x",
            1.01,
            f"{1e3 * statistics.median(ours):.1f} ms and {1e3 * statistics.median(theirs):.1f} ms, middle"
            f" half of the ratio {spread([a / b for a, b in zip(ours, theirs, strict=True)])};"
            f" {_STEPS} steps each, by turns",
        )
    ]


class Trainer:
    """A GPT with its optimizer, made and stepped through one namespace: torch's or the mirror's."""

    def __init__(self, torch: Any, device: str, width: int = _WIDTH) -> None:
        nn = torch.nn
        self.torch, self.device = torch, device
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(
            width,
            _HEADS,
            4 * width,
            dropout=0.0,
            batch_first=True,
            norm_first=True,
            device=device,
        )
        self.embed = nn.Embedding(_VOCABULARY, width, device=device)
        self.blocks = nn.TransformerEncoder(layer, _LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(width, _VOCABULARY, device=device)
        self.modules = nn.ModuleList([self.embed, self.blocks, self.head]).to(device)
        self.optimizer = torch.optim.AdamW(self.modules.parameters(), lr=1e-3)

    def step(self, ids: Any) -> float:
        torch, device = self.torch, self.device
        x = ids.to(device)
        hidden = (_LENGTH, _LENGTH)
        mask = torch.triu(torch.full(hidden, float("-inf"), device=device), diagonal=1)
        logits = self.head(self.blocks(self.embed(x), mask=mask, is_causal=True))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), x.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.modules.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(loss)


def _alternate() -> dict[str, list[float]]:
    import tdev
    import torch

    ids = torch.randint(_VOCABULARY, (_BATCH, _LENGTH))
    tdev.shims.uninstall()
    theirs = Trainer(torch, "cpu")
    tdev.shims.install()
    ours = Trainer(tdev, "cuda")
    seconds: dict[str, list[float]] = {"tdev": [], "torch": []}
    losses: dict[str, list[float]] = {"tdev": [], "torch": []}
    for step in range(_WARM_UP + _STEPS):
        # Now one first and now the other: what the first leaves in the caches is the second's.
        for who in ("torch", "tdev") if step % 2 else ("tdev", "torch"):
            (tdev.shims.install if who == "tdev" else tdev.shims.uninstall)()
            start = time.process_time()
            losses[who].append((ours if who == "tdev" else theirs).step(ids))
            seconds[who].append(time.process_time() - start)
        if losses["tdev"] != losses["torch"]:
            raise RuntimeError(f"step {step}: {losses['tdev'][-1]}, not {losses['torch'][-1]}")
    return {who: every[_WARM_UP:] for who, every in seconds.items()}


if __name__ == "__main__":
    print(json.dumps(_alternate()))
