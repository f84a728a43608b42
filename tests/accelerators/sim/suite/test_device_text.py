"""What programs for CUDA ask by the device's name, one row each: text, files, and what takes a device."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import tdev
import tdev.cuda.comm
import torch
from torch import nn
from torch.amp import GradScaler

Answer = tuple[object, object]
Row = Callable[[], Answer]

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


def here(index: int = 0) -> torch.Tensor:
    return torch.ones(4, 3, device=f"sim:{index}")


def loaded(where: Any, tensor: torch.Tensor | None = None, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(here(1) if tensor is None else tensor, file, **options)
    file.seek(0)
    return tdev.load(file, map_location=where)


def told(of: Callable[[list[str]], Any]) -> list[str]:
    tags: list[str] = []
    loaded(of(tags))
    return tags


def raised(call: Callable[[], object]) -> str:
    with pytest.raises((RuntimeError, ValueError)) as caught:
        call()
    return str(caught.value)


def recorded(*devices: int) -> list[Any]:
    events = []
    for device in devices:
        with tdev.cuda.device(device):
            events.append(tdev.cuda.Event(enable_timing=True))
            events[-1].record()
    return events


def scattered() -> list[torch.Tensor]:
    whole = here()
    pieces = tdev.cuda.comm.scatter(whole, (0, 1), chunk_sizes=(2, 2))
    return [whole, *pieces]


def scale(device: Any) -> torch.Tensor:
    scaler: Any = GradScaler("cuda", init_scale=2.0)
    scaler._lazy_init_scale_growth_tracker(device)
    made: torch.Tensor = scaler._scale
    return made


LEGACY: dict[str, Any] = {"_use_new_zipfile_serialization": False}


def held(index: int, device: Any = None) -> tuple[int, int]:
    """The bytes held on a device, asked for by ``torch.cuda.device(index)`` and by ``device``."""
    asked: Any = tdev.cuda.device(index)
    return tdev.cuda.memory_allocated(asked), tdev.cuda.memory_allocated(device)


ROWS: dict[str, Row] = {
    "type": lambda: (here().type(), "torch.cuda.FloatTensor"),
    "type of halves": lambda: (here().half().type(), "torch.cuda.HalfTensor"),
    "type of a sparse tensor": lambda: (here().to_sparse().type(), "torch.cuda.sparse.FloatTensor"),
    "type on the host": lambda: (torch.ones(1).type(), "torch.FloatTensor"),
    "type back and forth": lambda: (here().cpu().type(here().type()).device, torch.device("sim:0")),
    "type of another dtype": lambda: (here().type(torch.float64).dtype, torch.float64),
    "storage_type": lambda: (here().storage_type(), tdev.cuda.FloatStorage),
    "type of a storage": lambda: (here().long().storage().type(), "torch.cuda.LongStorage"),
    "get_device": lambda: (here(1).get_device(), 1),
    "map_location, a table": lambda: (loaded({"cuda:1": "cuda:0"}).device, torch.device("sim:0")),
    "map_location, in the old format": lambda: (
        loaded({"cuda:1": "cuda:0"}, **LEGACY).device, torch.device("sim:0")),
    "map_location, to the host": lambda: (loaded({"cuda:1": "cpu"}).device, torch.device("cpu")),
    "map_location, its own name": lambda: (loaded({"sim:1": "cpu", "cuda:1": "cuda:0"}).device, torch.device("cpu")),
    "map_location, another's": lambda: (loaded({"cuda:0": "cpu"}).device, torch.device("sim:1")),
    "map_location, from the host": lambda: (loaded({"cuda:0": "cuda:1"}, torch.ones(1)).device, torch.device("cpu")),
    "map_location, told": lambda: (told(lambda tags: lambda storage, tag: tags.append(tag)), ["cuda:1"]),
    "map_location, declined": lambda: (loaded(lambda storage, tag: None).device, torch.device("sim:1")),
    "map_location, moved": lambda: (loaded(lambda storage, tag: storage.cuda(0)).device, torch.device("sim:0")),
    "memory_allocated of a device": lambda: held(1, 1),
    "a device that changes nothing": lambda: held(-1),
    "elapsed_time across devices": lambda: (
        raised(lambda: recorded(0, 1)[0].elapsed_time(recorded(1)[0]))[:36], "CUDA error: invalid resource handle "),
    "elapsed_time": lambda: (recorded(1)[0].elapsed_time(recorded(1)[0]) > 0, True),
    "scatter, a view": lambda: (len({x.data_ptr() for x in scattered()[:2]}), 1),
    "scatter, a copy": lambda: ([x.device.index for x in scattered()], [0, 0, 1]),
    "a tensor of the host is not gathered": lambda: (
        raised(lambda: tdev.cuda.comm.gather((here().cpu(), here()))).partition("but ")[2], "tensor at index 0 has device 'cpu'"),
    "nor written to": lambda: (
        raised(lambda: tdev.cuda.comm.broadcast(here(), out=[here(1), here().cpu()])).partition("but ")[2],
        "output tensor at index 1 has device 'cpu'"),
    "GradScaler": lambda: (scale("cuda:1").device, torch.device("sim:1")),
    "GradScaler, a device": lambda: (scale(torch.device("sim:0")).item(), 2.0),
    "a message": lambda: (
        raised(lambda: tdev.cuda.current_stream("cpu")),
        "Expected a cuda device, but got: cpu, which doesn't match the current accelerator cuda"),
    "cuBLAS's workspaces": lambda: (tdev._C._cuda_clearCublasWorkspaces.__name__, "clear_cublas_workspaces"),
    "a module's": lambda: (nn.Linear(1, 1).cuda(1).weight.type(), "torch.cuda.FloatTensor"),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_is_as_with_cuda(row: Row, shims: None) -> None:
    found, wanted = row()
    assert found == wanted
