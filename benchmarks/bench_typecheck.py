"""mypy on a user's file: with ``import tdev as torch`` against ``import torch``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.children import ROOT, environment
from benchmarks.rows import Row, ratio_of_medians, spread

_WARM_RUNS = 7

_PROGRAM = """\
{imports}

class Net(nn.Module):
    def __init__(self, width: int, device: torch.device | None = None) -> None:
        super().__init__()
        self.first = nn.Linear(width, 4 * width, device=device)
        self.second = nn.Linear(4 * width, width, device=device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(F.gelu(self.first(x)))


def batches(data: Dataset[torch.Tensor], size: int) -> DataLoader[torch.Tensor]:
    return DataLoader(data, batch_size=size, pin_memory=True)


def train(data: Dataset[torch.Tensor], steps: int) -> float:
    device = torch.device("cuda")
    model = Net(16, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    total = torch.zeros((), device=device)
    for _, batch in zip(range(steps), batches(data, 8)):
        loss = model(batch.to(device, non_blocking=True)).square().mean()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    torch.cuda.synchronize()
    return float(total)
"""

_IMPORTS = {
    "torch": """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
""",
    "tdev": """\
import tdev as torch
import tdev.nn.functional as F
from tdev import nn
from tdev.utils.data import DataLoader, Dataset
""",
}


def measure() -> list[Row]:
    cold = {name: [0.0] for name in _IMPORTS}
    warm: dict[str, list[float]] = {name: [] for name in _IMPORTS}
    with tempfile.TemporaryDirectory(prefix="tdev-bench-") as folder:
        files = {name: Path(folder) / f"with_{name}.py" for name in _IMPORTS}
        for name, imports in _IMPORTS.items():
            files[name].write_text(_PROGRAM.format(imports=imports), encoding="utf-8")
            cold[name] = [_mypy(files[name])]
        for _ in range(_WARM_RUNS):
            for name, file in files.items():
                # As after an edit: the file is new to mypy, what it imports is not.
                file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
                warm[name].append(_mypy(file))
    return [
        Row(
            "mypy on a user's file after an edit, tdev / torch",
            ratio_of_medians(warm["tdev"], warm["torch"]),
            "x",
            1.2,
            f"{statistics.median(warm['tdev']):.2f} s ({spread(warm['tdev'])}) and"
            f" {statistics.median(warm['torch']):.2f} s ({spread(warm['torch'])}), {_WARM_RUNS} each",
        ),
        Row(
            "mypy on a user's file without a cache, tdev / torch",
            cold["tdev"][0] / cold["torch"][0],
            "x",
            1.2,
            f"{cold['tdev'][0]:.1f} s and {cold['torch'][0]:.1f} s, once each",
        ),
    ]


def _mypy(file: Path) -> float:
    cache = file.parent / f"cache-{file.stem}"
    env = environment(MYPYPATH=str(ROOT / "generated"))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--cache-dir",
        str(cache),
        "--config-file",
        "",
        str(file),
    ]
    start = time.perf_counter()
    answer = subprocess.run(command, cwd=file.parent, env=env, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if answer.returncode:
        raise RuntimeError(f"mypy does not accept {file.name}:\n{answer.stdout}{answer.stderr}")
    return seconds
