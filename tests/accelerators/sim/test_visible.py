"""``CUDA_VISIBLE_DEVICES`` on ``sim``: as many devices as it lists, asked anew until one is used."""

from __future__ import annotations

import pytest

from tdev_core.accelerators.sim import visible
from tests.forkserver import environment, python

COUNT = "import os, tdev as torch\nseen = [torch.cuda.device_count()]\n"


def run(code: str, **settings: str) -> str:
    wanted = environment(TDEV_BACKEND="sim", TDEV_SIM_DEVICES="4", **settings)
    done = python("-c", COUNT + code, env=wanted, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize(
    ("listed", "count"),
    [
        ("0", 1),
        ("2,3", 2),
        ("3, 1 ,0", 3),
        ("1,9,0", 1),
        ("-1", 4),
        ("", 4),
        ("0,0", 4),
        ("GPU-8932f937,GPU-a1", 2),
    ],
)
def test_a_list_is_read_as_cuda_reads_it(
    listed: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
    assert visible.limit(4) == count


def test_it_counts_until_a_device_is_used() -> None:
    out = run(
        "os.environ['CUDA_VISIBLE_DEVICES'] = '0,2'\n"
        "seen.append(torch.cuda.device_count())\n"
        "torch.ones(2, device='cuda:1')\n"
        "os.environ['CUDA_VISIBLE_DEVICES'] = '3'  # for a child\n"
        "print(seen, torch.cuda.device_count(), torch.accelerator.device_count())\n"
    )
    assert out == "[4, 2] 2 2\n"


def test_a_device_that_is_hidden_is_not_there() -> None:
    out = run(
        "try: torch.cuda.set_device(1); torch.cuda.get_device_properties(1)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
        "print(seen, len(torch.cuda.default_generators), torch.cuda.current_device())\n",
        CUDA_VISIBLE_DEVICES="2",
        TDEV_SIM_STRICT="1",
    )
    assert out.endswith("[1] 1 0\n") and "invalid device ordinal" in out
