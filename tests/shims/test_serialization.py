"""Files, pickles and workers between programs that import tdev and programs that import torch."""

from __future__ import annotations

import copy
import io
import os
import pickle
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
import tdev
import torch

from tdev_core.backend import Backend, current
from tests.forkserver import python
from tests.programs import COMPILER, run

pytestmark = pytest.mark.skipif(
    current() is not Backend.CPU, reason="expects the CPU as the target"
)
CPU = torch.device("cpu")


@pytest.fixture
def from_cuda(tmp_path: Path) -> Path:
    """A checkpoint as a CUDA program writes it: its storages are tagged ``cuda:0`` in the pickle."""
    path, tagged = tmp_path / "cpu.pt", tmp_path / "cuda.pt"
    torch.save({"w": torch.arange(4.0), "step": 3, "run": "/data/cuda_runs/1"}, path)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(tagged, "w") as target:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith("data.pkl"):
                old, new = b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"
                assert data.count(old) == 1
                data = data.replace(old, new)
            target.writestr(entry, data)  # stored, not compressed, as torch reads it
    with pytest.raises(RuntimeError, match="CUDA"):
        torch.load(tagged)
    return tagged


def keep(storage: Any, tag: str) -> Any:
    return storage


def decline(storage: Any, tag: str) -> None:
    return None


LOCATIONS: list[Any] = [
    None,
    "cuda",
    "cuda:0",
    "cpu",
    torch.device("cuda", 0),
    {"cuda:0": "cuda:0"},
    {"cuda:0": "cpu"},
    {"cuda:1": "cuda:0"},
    keep,
    decline,
]


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    "location", LOCATIONS, ids=lambda value: getattr(value, "__name__", str(value))
)
def test_a_cuda_checkpoint_loads(from_cuda: Path, location: Any, weights_only: bool) -> None:
    before = copy.copy(location)
    loaded = tdev.load(from_cuda, map_location=location, weights_only=weights_only)
    assert loaded["w"].tolist() == [0, 1, 2, 3]
    assert loaded["w"].device == CPU
    assert loaded["run"] == "/data/cuda_runs/1"  # text that mentions cuda is not a device
    if isinstance(location, dict):
        assert location == before


def test_it_loads_memory_mapped_and_through_other_names(from_cuda: Path) -> None:
    assert tdev.load(str(from_cuda), mmap=True)["w"].device == CPU
    assert tdev.serialization.load(from_cuda)["w"].device == CPU
    with from_cuda.open("rb") as stream:
        assert tdev.load(stream)["step"] == 3


def test_the_meta_device_stays_meta(from_cuda: Path) -> None:
    assert tdev.load(from_cuda, map_location="meta")["w"].device.type == "meta"


@pytest.mark.parametrize("location", ["cuda", {"cuda:0": "cuda:0"}, None])
def test_state_dicts_from_a_url(from_cuda: Path, tmp_path: Path, location: object) -> None:
    from tdev.utils.model_zoo import load_url

    for load in (tdev.hub.load_state_dict_from_url, load_url):
        loaded = load(from_cuda.as_uri(), model_dir=str(tmp_path / "hub"), map_location=location)
        assert loaded["w"].device == CPU


def test_distributed_checkpoints(tmp_path: Path) -> None:
    code = """
        import sys, warnings
        warnings.simplefilter("ignore")
        import tdev as torch
        import tdev.distributed.checkpoint as dcp
        state = {"w": torch.ones(2, device="cuda")}
        dcp.save(state, checkpoint_id=sys.argv[1])
        again = {"w": torch.zeros(2, device="cuda")}
        dcp.load(again, checkpoint_id=sys.argv[1])
        assert again["w"].tolist() == [1, 1]
    """
    run(code, str(tmp_path / "checkpoint"))


MODEL = """
    import sys
    import {api} as torch
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2, device="{device}")
    torch.manual_seed(0)
    model = Model().to("{device}")
    optimizer = torch.optim.Adam(model.parameters())
    model.layer(torch.ones(1, 2, device="{device}")).sum().backward()
    optimizer.step()
"""
SAVE = (
    MODEL
    + """
    state = {{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "layer": model.layer,
             "device": torch.device("{device}"), "generator": torch.get_rng_state()}}
    torch.save(state, sys.argv[1])
"""
)
LOAD = (
    MODEL
    + """
    state = torch.load(sys.argv[1], map_location="{device}", weights_only=False)
    fresh = Model().to("{device}")
    fresh.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    assert all(torch.equal(a, b) for a, b in zip(fresh.parameters(), model.parameters()))
    assert type(state["layer"]).__module__ == "torch.nn.modules.linear"
    assert state["device"].type == torch.device("{device}").type
    assert torch.load(sys.argv[1], weights_only=False)["layer"].weight.shape == (2, 2)
    print("tdev" in sys.modules)
"""
)
PROGRAMS = {"tdev": {"api": "tdev", "device": "cuda"}, "torch": {"api": "torch", "device": "cpu"}}


@pytest.mark.parametrize(
    ("writer", "reader"), [("tdev", "torch"), ("torch", "tdev"), ("tdev", "tdev")]
)
def test_checkpoints_go_both_ways(writer: str, reader: str, tmp_path: Path) -> None:
    path = str(tmp_path / "state.pt")
    # Optimizers import the compiler.
    run(SAVE.format(**PROGRAMS[writer]), path, preload=COMPILER)
    printed = run(LOAD.format(**PROGRAMS[reader]), path, preload=COMPILER)
    assert printed == str(reader == "tdev")  # the reader did not need the other's library


@pytest.mark.parametrize(
    "value",
    [
        torch.device("cuda") if torch.cuda.is_available() else CPU,
        torch.nn.Linear(2, 2),
        torch.ones(2),
        torch.float32,
        torch.Size([1, 2]),
        torch.Generator(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_made_through_the_mirror_pickle_without_it(value: object) -> None:
    assert b"tdev" not in pickle.dumps(value)
    if not isinstance(value, torch.Generator):
        assert b"tdev" not in pickle.dumps(copy.deepcopy(value))


class Sub(tdev.nn.Module):
    """Derived through the mirror; pickled and copied by its own name."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = tdev.nn.Linear(2, 2, device="cuda")
        self.place = tdev.device("cuda")
        self.generator = tdev.Generator("cuda")


def test_deepcopy_of_modules_and_tensors() -> None:
    module = Sub()
    again = copy.deepcopy(module)
    assert again.layer.weight is not module.layer.weight
    assert again.place == module.place
    x = tdev.ones(2, device="cuda")
    assert copy.deepcopy(x).device == x.device
    assert copy.copy(tdev.device) is tdev.device and copy.deepcopy(tdev.zeros) is tdev.zeros


def test_safe_globals_and_weights_only() -> None:
    buffer = io.BytesIO()
    tdev.save({"device": tdev.device("cuda"), "x": tdev.ones(2, device="cuda")}, buffer)
    buffer.seek(0)
    assert tdev.load(buffer, weights_only=True)["device"].type == tdev.device("cuda").type


class Squares(tdev.utils.data.Dataset):  # type: ignore[misc, type-arg]
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return tdev.full((2,), float(index * index), device="cpu")


@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_loaders_with_pinned_memory_and_workers(context: str | None) -> None:
    loader = tdev.utils.data.DataLoader(
        Squares(),
        batch_size=4,
        num_workers=0 if context is None else 1,
        multiprocessing_context=context,
        pin_memory=True,
        pin_memory_device="cuda",
        generator=tdev.Generator("cuda"),
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        batches = [batch.to("cuda", non_blocking=True) for batch in loader]
    assert [batch[:, 0].tolist() for batch in batches] == [[0, 1, 4, 9], [16, 25, 36, 49]]
    texts = [str(entry.message) for entry in seen if "pin" in str(entry.message).lower()]
    assert len(texts) == len(set(texts)) <= 2, texts


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_set_themselves_up_again(method: str) -> None:
    code = """
        import functools, sys
        import tdev as torch
        import tdev.multiprocessing as mp

        def work(queue, x, made, layer):
            y = x.cuda() * 2
            z = made() + layer(y).detach() * 0
            queue.put(((y + z).tolist(), torch.shims.installed() != ()))

        if __name__ == "__main__":
            context = mp.get_context(sys.argv[1])
            queue = context.Queue()
            # What was made through tdev, and tdev's own functions, go over by pickle.
            made = functools.partial(torch.zeros, 2, device="cuda")
            layer = torch.nn.Linear(2, 2, device="cuda").requires_grad_(False)
            process = context.Process(target=work, args=(queue, torch.ones(2), made, layer))
            process.start()
            assert queue.get(timeout=240) == ([2.0, 2.0], True)
            process.join(60)
            assert process.exitcode == 0
            torch.multiprocessing.spawn(print, nprocs=1) if sys.argv[1] == "spawn" else None
    """
    import tempfile
    import textwrap

    with (
        tempfile.TemporaryDirectory() as folder
    ):  # spawn imports the program again: it needs a file
        path = Path(folder) / "program.py"
        path.write_text(textwrap.dedent(code), encoding="utf-8")
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        done = python(str(path), method, env=env)
        assert done.returncode == 0, done.stderr[-3000:]
