"""The ways to run a CUDA-only script on a machine without CUDA, each as a command to run."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests import forkserver

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "train_gpt.py"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def environment(**extra: str) -> dict[str, str]:
    """A plain environment for a training: one thread, no choice of backend but the test's own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TDEV_", "CUDA_", "OMP_"))}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "generated"), str(ROOT)])
    env["OMP_NUM_THREADS"] = "1"
    env["TDEV_NATIVE_BUILD"] = "0"  # which would keep a core busy for the next tests
    return {**env, **extra}


def by_hand(source: str) -> str:
    """What a person does: the package's name in every import of torch, and nothing else."""
    source = re.sub(r"^import torch$", "import tdev as torch", source, flags=re.M)
    source = re.sub(r"^import torch\.", "import tdev.", source, flags=re.M)
    return re.sub(r"^from torch\b", "from tdev", source, flags=re.M)


def write_by_hand(folder: Path) -> Path:
    script = folder / "by_hand.py"
    script.write_text(by_hand(EXAMPLE.read_text(encoding="utf-8")), encoding="utf-8")
    return script


def write_by_codemod(folder: Path, style: str) -> Path:
    script = folder / f"codemod_{style}.py"
    shutil.copy(EXAMPLE, script)
    command = ["-m", "tdev.codemod", "--style", style, "--force", str(script)]
    answer = forkserver.python(*command, env=environment())
    if answer.returncode not in (0, 1):
        raise AssertionError(f"the codemod ended with {answer.returncode}: {answer.stderr}")
    return script


def command_for(way: str, folder: Path) -> list[str]:
    """Arguments for Python that start the example one of the ways, its files being in folder."""
    match way:
        case "by-hand":
            return [str(write_by_hand(folder))]
        case "codemod-explicit":
            return [str(write_by_codemod(folder, "explicit"))]
        case "codemod-alias":
            return [str(write_by_codemod(folder, "alias"))]
        case "run":
            return ["-m", "tdev", "run", str(EXAMPLE)]
    raise ValueError(f"no such way: {way}")


@dataclass(frozen=True)
class Training:
    """What a finished training printed and left behind."""

    out: Path
    printed: str
    losses: list[str]

    def values(self) -> list[float]:
        return [float.fromhex(loss) for loss in self.losses]


def train(
    arguments: list[str],
    out: Path,
    *options: str,
    fresh: bool = False,
    processes: int = 1,
    **extra: str,
) -> Training:
    """Run Python with the arguments; raises AssertionError with its output when it fails.

    ``fresh`` starts it as a person would, and two processes are what torchrun would start.
    """
    losses = out / "losses.json"
    command = [*arguments, "--data", str(EXAMPLE.parent / "data" / "genesis.txt")]
    command += ["--out", str(out), "--losses", str(losses), *options]
    env = environment(**extra)
    if processes == 2:
        answers = forkserver.ranks(*command, env=env, timeout=500)
    else:
        answers = [
            forkserver.python(
                *command,
                env=env,
                cwd=out.parent,
                timeout=500,
                fresh=fresh,
                preload=() if fresh else forkserver.COMPILER,
            )
        ]
    for answer in answers:
        if answer.returncode != 0:
            raise AssertionError(
                f"exit status {answer.returncode}\n{answer.stdout}\n{answer.stderr}"
            )
    printed = "".join(answer.stdout for answer in answers)
    return Training(out, printed, json.loads(losses.read_text(encoding="utf-8")))
