"""An editor that is asked for a definition goes where the code is: to the mirror's own function, or to torch."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

jedi = pytest.importorskip("jedi", reason="jedi, which editors ask, is in the extra dev")

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = [path for path in sys.path if Path(path).resolve() not in (ROOT, ROOT / "generated", Path())]


@cache
def project() -> Any:
    # The mirror of this tree first, whatever else is installed.
    return jedi.Project(
        ROOT / "build",
        sys_path=[str(ROOT / "generated"), str(ROOT), *SITE],
        load_unsafe_extensions=False,
    )


def definition(start: str, name: str) -> tuple[str, str]:
    """The file, from its package on, and the text of the line that an editor shows for ``name``."""
    script = jedi.Script(f"{start}\n{name}\n", project=project())
    found = script.goto(2, len(name), follow_imports=True)[
        0
    ]  # one for each torch that needs its own
    file = Path(found.module_path).as_posix()
    for root in (f"{(ROOT / 'generated').as_posix()}/", *(f"{Path(p).as_posix()}/" for p in SITE)):
        file = file.removeprefix(root)
    return file, found.get_line_code().strip()


@pytest.mark.parametrize(
    ("start", "name", "file"),
    [
        ("import tdev as torch", "torch.cuda.synchronize", "tdev/cuda/__init__.py"),
        ("import tdev as torch", "torch.cuda.memory_allocated", "tdev/cuda/memory.py"),
        ("from tdev.cuda import device_count", "device_count", "tdev/cuda/__init__.py"),
        ("import tdev as torch", "torch.compile", "tdev/__init__.py"),
        ("from tdev import load", "load", "tdev/serialization.py"),
    ],
)
def test_a_function_of_the_mirror_is_found_where_it_is_emitted(
    start: str, name: str, file: str
) -> None:
    assert definition(start, name)[0] == file
    assert definition(start, name)[1].startswith(f"def {name.rpartition('.')[2]}(")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("torch.nn.Linear", "torch/nn/modules/linear.py"),
        ("torch.cuda.OutOfMemoryError", "torch"),
        ("torch.optim.SGD", "torch/optim/sgd.py"),
    ],
)
def test_what_is_torchs_own_is_found_in_torch(name: str, file: str) -> None:
    assert definition("import tdev as torch", name)[0].startswith(file)
