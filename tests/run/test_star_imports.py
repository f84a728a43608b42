"""``from utils import *`` may bring a ``torch`` of its own, torch's: what the file asks of CUDA is tdev's all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import forkserver
from tests.codemod.conftest import Ran, codemod, place

__all__ = ["codemod", "place"]

REAL = "tdev_core.codemod.engine"
MAIN = "import torch\n{}\n\ntorch.cuda.synchronize()\nx = torch.ones(3, device='cuda')\nprint(x.device.type, torch.cuda.is_available())\n"
UTILS = "import torch\n\n\ndef seed(n):\n    torch.manual_seed(n)\n"


@pytest.mark.parametrize("way", ["explicit", "alias", "run"])
def test_a_program(place: Path, codemod: Callable[..., Ran], way: str) -> None:
    (place / "utils.py").write_text(UTILS)
    (place / "main.py").write_text(MAIN.format("from utils import *"))
    start = ["-m", "tdev", "run", "main.py"]
    if way != "run":
        codemod("--force", "--style", way, ".", engine=REAL)
        start = ["main.py"]
    environment = forkserver.environment(TDEV_BACKEND="sim", TDEV_CACHE_DIR=str(place / "cache"))
    done = forkserver.python(*start, env=environment, cwd=place)
    assert done.stdout.split() == ["sim", "True"], done.stderr[-2000:]


@pytest.mark.parametrize(
    ("line", "alias"),
    [
        ("from utils import *", False),
        ("from plain import *", True),
        ("from fastai.vision.all import *", False),
        ("from math import *", True),
        ("from torch.nn import *", True),
        ("", True),
    ],
)
def test_the_alias_is_kept_where_nothing_takes_its_place(
    place: Path, codemod: Callable[..., Ran], line: str, alias: bool
) -> None:
    (place / "utils.py").write_text(UTILS)
    (place / "plain.py").write_text("import math\n")
    (place / "main.py").write_text(MAIN.format(line))
    codemod("--force", "--style", "alias", ".", engine=REAL)
    assert ("import tdev as torch\n" in (place / "main.py").read_text()) is alias


def test_what_comes_before_is_overridden(place: Path, codemod: Callable[..., Ran]) -> None:
    (place / "utils.py").write_text(UTILS)
    (place / "main.py").write_text("from utils import *\n" + MAIN.format(""))
    codemod("--force", "--style", "alias", ".", engine=REAL)
    assert "import tdev as torch\n" in (place / "main.py").read_text()
