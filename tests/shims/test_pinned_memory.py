"""Programs ask for page-locked memory wherever they make host buffers; only CUDA has it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.programs import COMPILER, run

BACKENDS = ["cpu", "sim", *(["mlx"] if find_spec("mlx") else [])]

PROGRAM = """
import tdev as torch

x = torch.ones(2)
made = [
    torch.empty(3, 4, pin_memory=True),
    torch.zeros(3, dtype=torch.int64, pin_memory=True),
    torch.tensor([1.0, 2.0], pin_memory=torch.cuda.is_available()),
    torch.full((2,), 7, pin_memory=True, device="cpu"),
    torch.randint(0, 9, (3,), pin_memory=True),
    torch.zeros_like(x, pin_memory=True),
    torch.fft.fftfreq(4, pin_memory=True),
    torch.empty_strided((2, 2), (2, 1), pin_memory=True),
    x.new_empty(3, pin_memory=True),
    x.new_full((2,), 3.0, pin_memory=True, device="cpu"),
]
for tensor in made:
    assert tensor.device.type == "cpu" and not tensor.is_pinned()
assert made[3].tolist() == [7, 7] and made[9].tolist() == [3.0, 3.0]
assert torch.zeros(2, pin_memory=True, device="cuda").device.type == torch.device("cuda").type
try:
    torch.zeros(2, pin_memory="yes")
except TypeError as error:
    assert "pin_memory" in str(error), error
else:
    raise AssertionError("torch refuses what is no bool")
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_buffers_are_made_and_say_that_they_are_not_pinned(backend: str) -> None:
    run(PROGRAM, TDEV_BACKEND=backend)


LOADERS = """
import collections, os, threading, warnings
import tdev as torch
from tdev.utils.data import DataLoader

class Batch:
    def __init__(self, items):
        self.x = torch.stack(items)
        self.asked = 0

    def pin_memory(self):
        self.x = self.x.pin_memory()
        self.asked += 1
        return self

Pair = collections.namedtuple("Pair", "first second")
data = [torch.full((2,), float(i)) for i in range(4)]
warnings.simplefilter("error")
for workers in (0, 1):
    loader = DataLoader(data, 2, collate_fn=Batch, num_workers=workers, pin_memory=True)
    assert loader.pin_memory is True
    for _ in range(2):
        batches = list(loader)
        assert [batch.asked for batch in batches] == [1, 1], workers
        assert batches[1].x.tolist() == [[2, 2], [3, 3]]
        assert batches[0].x.is_pinned() is (os.environ["TDEV_BACKEND"] == "sim")
    kept = DataLoader(
        data, 2, collate_fn=Batch, num_workers=1, pin_memory=True, persistent_workers=True,
        pin_memory_device="cuda",
    )
    for _ in range(2):
        assert [batch.asked for batch in kept] == [1, 1]
    loader = DataLoader(data, 2, collate_fn=Batch, num_workers=workers)
    assert [batch.asked for batch in loader] == [0, 0] and loader.pin_memory is False
pairs = DataLoader(data, 1, collate_fn=lambda items: [Pair(items[0], Batch(items))], pin_memory=True)
pair = next(iter(pairs))[0]
assert type(pair) is Pair and pair.second.asked == 1
assert not [thread for thread in threading.enumerate() if "pin" in thread.name]
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_of_the_programs_own_is_asked_to_pin_itself(backend: str) -> None:
    run(LOADERS, TDEV_BACKEND=backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_factories(backend: str) -> None:
    run(
        f"""
        import tdev as torch

        @torch.compile(fullgraph=True, backend="{backend}")
        def buffer(x):
            return torch.zeros(3, pin_memory=True) + x.new_ones(3, pin_memory=True, device="cuda")

        assert buffer(torch.ones(1)).tolist() == [1.0, 1.0, 1.0]
        """,
        preload=COMPILER,
        TDEV_BACKEND="cpu",
    )
