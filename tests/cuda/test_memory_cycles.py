"""Reference cycles that keep tensors of the device, watched as ``torch.utils.viz._cycles`` does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forkserver import environment, python

PROGRAM = """
import gc, logging
import tdev as torch
from tdev.utils.viz._cycles import observe_tensor_cycles, warn_tensor_cycles

def cycle_of(value):
    def again(ends):
        return value if ends else again(True)

def look(value):
    gc.collect()
    cycle_of(value)
    del value
    gc.collect()
    (lambda: None)()  # torch calls back at the next function, not inside the collection

def made_here():
    return torch.empty(3, 5, device="cuda")

pages = []
disarm = observe_tensor_cycles(pages.append)
look([1, 2])
assert not pages, "a cycle of other things was told"
look(made_here())
disarm()
print(len(pages), "cell_contents" in pages[0], "torch.Tensor" in pages[0], "made_here" in pages[0])
logging.basicConfig(format="%(message)s")
disarm = warn_tensor_cycles()
look(made_here())
disarm()
"""


def test_torch_keeps_its_own_and_programs_get_ours() -> None:
    done = python(
        "-c",
        "import tdev.utils.viz._cycles as ours\nfrom torch.utils.viz import _cycles\n"
        "print(ours.observe_tensor_cycles.__module__, ours.create_graph is _cycles.create_graph)\n"
        "print(_cycles.observe_tensor_cycles.__module__)\n",
        env=environment(TDEV_BACKEND="sim"),
    )
    assert done.stdout.split() == [
        "tdev_core.cuda.memory.cycles",
        "True",
        "torch.utils.viz._cycles",
    ]


@pytest.mark.deep
def test_a_page_shows_the_cycle_and_where_its_memory_was_made() -> None:
    done = python("-c", PROGRAM, env=environment(TDEV_BACKEND="sim"), timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "1 True True True\n"
    (said,) = [line for line in done.stderr.splitlines() if "reference cycle" in line]
    page = Path(said.rpartition(" ")[2])
    assert "made_here" in page.read_text()
    page.unlink()
