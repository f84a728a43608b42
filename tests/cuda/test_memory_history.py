"""What is recorded of memory: events, stacks and segments, as torch's memory viewer reads them."""

from __future__ import annotations

import gc
import inspect
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import tdev
import torch

from tdev_core.backend import device_type
from tdev_core.cuda.memory import history, pools, statistics, usage

HERE = device_type()
SIZE = 5 << 20


@pytest.fixture(autouse=True)
def nothing_recorded() -> Iterator[None]:
    history.record(None, clear_history=True)
    yield
    history.record(None, clear_history=True)


def events() -> list[dict[str, Any]]:
    (traces,) = history.snapshot()["device_traces"]
    return [one for one in traces if one["size"] == SIZE]


def made() -> torch.Tensor:
    return torch.empty(SIZE, dtype=torch.uint8, device=HERE)


def test_a_tensors_life_is_three_events() -> None:
    history.record(stacks="python")
    before = time.time_ns() // 1000
    x = made()
    address = x.untyped_storage().data_ptr()
    del x
    after = time.time_ns() // 1000
    alloc, requested, completed = events()
    actions = [one["action"] for one in (alloc, requested, completed)]
    assert actions == ["alloc", "free_requested", "free_completed"]
    for one in (alloc, requested, completed):
        assert (one["addr"], one["stream"], one["pool_id"]) == (address, 0, (0, 0))
        assert before <= one["time_us"] <= after
    assert requested["frames"] == completed["frames"]
    freed = requested["frames"][0]
    assert freed["name"] == "test_a_tensors_life_is_three_events" and freed["filename"] == __file__
    names = [frame["name"] for frame in alloc["frames"]]
    assert names.index("made") < names.index("test_a_tensors_life_is_three_events")
    here = alloc["frames"][names.index("made")]
    assert here["filename"] == __file__
    _, first = inspect.getsourcelines(made)
    assert here["line"] == first + 1


def mirrored() -> torch.Tensor:
    return tdev.empty(SIZE, dtype=torch.uint8, device="cuda")


@pytest.mark.parametrize("make", [made, mirrored])
def test_the_stack_begins_with_the_line_that_asks(make: Callable[[], torch.Tensor]) -> None:
    """Neither with what records nor with the mirror: on CUDA these are not there."""
    history.record(stacks="python")
    kept = make()
    frames = events()[0]["frames"]
    assert (frames[0]["name"], frames[0]["filename"]) == (make.__name__, __file__)
    assert not [f for f in frames if "/tdev_core/" in f["filename"].replace("\\", "/")]
    assert kept.numel() == SIZE


def test_what_is_kept_is_what_was_asked_for() -> None:
    history.record("state")
    x = made()
    assert [one["action"] for one in events()] == ["alloc"]
    (segment,) = (one for one in history.segments() if one["total_size"] == SIZE)
    assert segment["frames"] and segment["blocks"][0]["frames"] == segment["frames"]
    del x
    assert [one["action"] for one in events()] == ["free_completed"]
    usage.empty_cache()
    assert [one["action"] for one in events()] == ["segment_free"]
    history.record(context=None, clear_history=True)
    made()
    assert [one["frames"] for one in events()] == [[], [], []]
    history.record(max_entries=1, clear_history=True)
    made()
    assert [one["action"] for one in events()] == ["free_completed"]
    with pytest.raises(ValueError, match="enabled must be None, 'state' or 'all'"):
        history.record("some")


@pytest.mark.parametrize(
    ("context", "held", "alloc", "free"),
    [
        (None, "", "", ""),
        ("state", "made", "", ""),
        ("alloc", "made", "made", "made"),
        ("all", "made", "made", "test_a_context_says_whose_stacks_are_kept"),
    ],
)
def test_a_context_says_whose_stacks_are_kept(
    context: str | None, held: str, alloc: str, free: str
) -> None:
    """As CUDA's allocator has it: what is freed has the stack of its allocation, unless all are kept."""
    history.record(context=context, stacks="python")
    x = made()
    (segment,) = (one for one in history.segments() if one["total_size"] == SIZE)
    del x
    seen = [segment, *events()]
    assert [one["frames"][0]["name"] if one["frames"] else "" for one in seen] == [
        held, alloc, free, free,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="context must be None, 'state', 'alloc' or 'all'"):
        history.record(context="some")


@torch.jit.script
def scripted(device: torch.device) -> torch.Tensor:
    return torch.rand(5 << 18, device=device)


def test_stacks_are_of_torchscript_and_of_cpp_too() -> None:
    history.record(stacks="python")
    kept = scripted(torch.device(HERE))
    assert events()[0]["frames"][0]["name"] == "scripted"
    history.record(stacks="all", clear_history=True)
    also = torch.rand(5 << 18, device=HERE)
    names = [frame["name"] for frame in events()[0]["frames"]]
    assert not history._unwinds() or any("::rand" in name for name in names)
    assert "test_stacks_are_of_torchscript_and_of_cpp_too" in names
    assert kept.numel() == also.numel()


def test_without_addr2line_stacks_of_cpp_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.delenv("TORCH_SYMBOLIZE_MODE", raising=False)
    history.record(stacks="all")
    kept = made()
    assert "made" in [frame["name"] for frame in events()[0]["frames"]]
    assert kept.numel() == SIZE


def test_recording_goes_on_or_begins_anew() -> None:
    history.record()
    made()
    history.record()
    made()
    assert len(events()) == 6
    history.record(None)
    made()
    assert events() == []
    history.record()
    made()
    history.record(clear_history=True)
    assert events() == []
    made()
    history.record(None, clear_history=True)
    assert events() == []


def test_what_is_held_keeps_its_stack() -> None:
    """And tells of its end to whoever records then, as blocks of CUDA's allocator do."""
    history.record()
    x = made()
    history.record(None)
    (segment,) = (one for one in history.segments() if one["total_size"] == SIZE)
    assert "made" in [frame["name"] for frame in segment["frames"]]
    history.record()
    del x
    assert [one["action"] for one in events()] == ["free_requested", "free_completed"]


def test_only_the_recorders_own_mode_is_left() -> None:
    """One that a program has entered above it stays, and the recorder below it sees nothing any more."""
    stack = torch.utils._python_dispatch._get_current_dispatch_mode_stack
    assert stack() == []
    history.record()
    assert len(stack()) == 1
    history.record()
    assert len(stack()) == 1
    history.record(None)
    assert stack() == []
    history.record()
    with torch.utils._python_dispatch.TorchDispatchMode() as mode:
        history.record(None)
        assert stack()[-1] is mode
    for left in reversed(stack()):
        left.__exit__(None, None, None)
    assert stack() == []
    history.record(None)


def test_another_thread_may_switch_it_off() -> None:
    """The recorder's mode stays on the thread that began, and sees nothing any more."""
    history.record()
    failed: list[BaseException] = []

    def off() -> None:
        try:
            history.record(None)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=off)
    thread.start()
    thread.join()
    made()
    assert failed == [] and events() == []
    (left,) = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
    left.__exit__(None, None, None)


def test_operators_get_their_keywords_while_it_records() -> None:
    history.record()
    x = torch.full((3,), 2, dtype=torch.int16, device=HERE)
    assert (
        x.dtype is torch.int16 and torch.sum(x, dim=0, dtype=torch.float64).dtype is torch.float64
    )


def test_functorchs_wrappers_are_not_storages() -> None:
    history.record()
    total = torch.vmap(lambda row: row * 2 + 1)(torch.ones(4, 3, device=HERE))
    assert total.tolist() == [[3.0] * 3] * 4


def test_segments_are_storages_the_largest_first() -> None:
    small, large = torch.empty(100, device=HERE), made()
    view = large[5:]
    gc.collect()
    meta = torch.empty(SIZE, device="meta")
    found = history.segments()
    sizes = [one["total_size"] for one in found]
    assert sizes == sorted(sizes, reverse=True)
    addresses = [one["address"] for one in found]
    assert addresses.count(large.untyped_storage().data_ptr()) == 1
    by_address = dict(zip(addresses, found, strict=True))
    for tensor, kind in ((small, "small"), (large, "large")):
        size = tensor.untyped_storage().nbytes()
        segment = by_address[tensor.untyped_storage().data_ptr()]
        block = segment.pop("blocks")[0]
        address = tensor.untyped_storage().data_ptr()
        assert block == {
            "address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": [],
        }  # fmt: skip
        assert segment == {
            "device": 0, "address": address, "total_size": size, "allocated_size": size, "active_size": size,
            "requested_size": size, "stream": 0, "segment_type": kind, "segment_pool_id": (0, 0),
            "is_expandable": False, "frames": [],
        }  # fmt: skip
    assert view.numel() and meta.numel()
    assert history.segments((0, 7)) == [] != history.segments((0, 0))


@pytest.mark.parametrize(("size", "kind"), [(1 << 20, "small"), ((1 << 20) + 1, "large")])
def test_cuda_keeps_a_megabyte_among_the_small(size: int, kind: str) -> None:
    """Source: ``kSmallSize`` in ``c10/cuda/CUDAAllocatorConfig.h``, the largest "small" allocation."""
    x = torch.empty(size, dtype=torch.uint8, device=HERE)
    address = x.untyped_storage().data_ptr()
    (segment,) = (one for one in history.segments() if one["address"] == address)
    assert segment["segment_type"] == kind


def test_objects_that_run_code_when_they_are_looked_at_are_left_alone() -> None:
    class Proxy:
        @property
        def __class__(self) -> Any:
            raise RuntimeError("asked")

    proxy = Proxy()
    assert history.segments() is not None
    del proxy


def test_a_storage_that_has_no_memory_yet_is_none() -> None:
    placeholder = mock.Mock()
    placeholder.nbytes.side_effect = RuntimeError
    assert history._size(placeholder) == 0


def test_a_dump_is_the_snapshot(tmp_path: Path) -> None:
    history.record()
    kept = made()
    history.dump(str(tmp_path / "snapshot"))
    with open(tmp_path / "snapshot", "rb") as file:
        found = pickle.load(file)
    assert found.keys() == {
        "segments",
        "device_traces",
        "external_annotations",
        "allocator_settings",
    }
    assert found["external_annotations"] == [] and found["allocator_settings"] == {}
    assert kept.untyped_storage().data_ptr() in {one["address"] for one in found["segments"]}


def test_what_is_accepted_has_torchs_defaults() -> None:
    for function, defaults in (
        (
            history.record,
            ["all", "all", "all", (1 << 63) - 1, None, *[False] * 3, None],
        ),
        (pools.MemPool, [None, False, False]),
        (pools.MemPool.__new__, [None, False, False]),
        (pools.MemPool.__init__, [None, False, False]),
        (pools.MemPool.snapshot, [True]),
        (history.segments, [None, True]),
    ):
        parameters = inspect.signature(function).parameters.values()
        assert [one.default for one in parameters if one.default is not one.empty] == defaults


def test_a_table_has_the_numbers_in_their_columns() -> None:
    parts = {"current": 1 << 10, "peak": 3 << 20, "allocated": 5 << 30, "freed": 7 << 40}
    for key, name, is_size in statistics._ROWS:
        stats = {f"{key}.all.{part}": number for part, number in parts.items()}
        text = statistics.table(stats, "title", True)
        (line,) = (one for one in text.splitlines() if one.startswith(f"| {name:<22} |"))
        cells = [cell.strip() for cell in line.strip("| ").split("|")[1:]]
        sizes = ["1.0 KiB", "3.0 MiB", "5.0 GiB", "7.0 TiB"]
        assert cells == (sizes if is_size else [str(number) for number in parts.values()])
        assert is_size == key.endswith("_bytes")
    assert {key for key, _, _ in statistics._ROWS} <= {*statistics._POOLED}


def test_nothing_is_used_where_all_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, total, used in ((5, 5, 0), (7, 5, 0), (2, 5, 3)):
        monkeypatch.setattr(usage, "info", lambda _, told=(free, total): told)
        assert usage.device_used() == used
    assert statistics._pools({"current": 3}, 3)["small_pool"] == statistics._stat()
    assert statistics._pools({"current": 5}, 3)["small_pool"]["current"] == 2


def test_host_statistics_have_torchs_names() -> None:
    stats = statistics.host_nested()
    named = {name for name, value in stats.items() if value == statistics._stat()}
    assert named == {"allocations", "allocated_bytes", "active_requests", "active_bytes"}


def test_a_pool_keeps_its_allocator() -> None:
    allocator = object()
    assert pools.MemPool(allocator).allocator is allocator
    assert pools.MemPool().allocator is None


@pytest.mark.parametrize("context", ["alloc", "all"])
def test_what_is_given_back_is_a_segments_end(context: str) -> None:
    """It ends once, where the cache is emptied, and has that stack where those of ends are kept."""
    history.record(context=context, stacks="python")
    x = made()
    address = x.untyped_storage().data_ptr()
    tdev.cuda.empty_cache()
    assert [one["action"] for one in events()] == ["alloc"]
    del x
    tdev.cuda.empty_cache()
    tdev.cuda.empty_cache()
    *_, completed, freed = events()
    assert (completed["action"], freed["action"]) == ("free_completed", "segment_free")
    assert freed["addr"] == address
    names = [frame["name"] for frame in freed["frames"]]
    here = "test_what_is_given_back_is_a_segments_end"
    assert names[:2] == (["empty_cache", here] if context == "all" else ["made", here])


@pytest.mark.parametrize("draw", [history.save_segment_usage, history.save_memory_usage])
def test_a_picture_is_of_the_stacks(draw: Callable[..., None], tmp_path: Path) -> None:
    history.record(stacks="python")
    x = made()
    name = {"segment": "segments", "memory": "memory"}[draw.__name__.split("_")[1]]
    theirs = getattr(torch.cuda._memory_viz, name)  # which would fetch the script that draws
    with mock.patch.object(theirs, "__defaults__", (lambda lines: lines,)):
        draw(str(tmp_path / "own.svg"))
        draw(str(tmp_path / "given.svg"), {"segments": [], "device_traces": []})
    assert "made" in (tmp_path / "own.svg").read_text() and x.numel() == SIZE
    assert not (tmp_path / "given.svg").read_text()


def test_skipped_actions_are_not_kept() -> None:
    history.record(skip_actions=["free_requested", "oom"])
    made()
    assert [one["action"] for one in events()] == ["alloc", "free_completed"]
    with pytest.raises(ValueError, match="unknown action to skip: frees"):
        history.record(skip_actions=["frees"])


def test_an_argument_that_torch_does_not_take_is_refused() -> None:
    with pytest.raises(TypeError, match="max_entrys"):
        history.record(max_entrys=5)  # type: ignore[call-arg]  # the subject


def test_a_snapshot_tells_of_code_that_fx_made(tmp_path: Path) -> None:
    """torch's own function adds where the code comes from."""
    marks = mock.patch.object(
        torch._utils, "_augment_memory_snapshot_stack_traces", lambda found: {**found, "mark": 1}
    )
    with marks:
        assert history.snapshot(augment_with_fx_traces=True)["mark"] == 1
        history.dump(str(tmp_path / "a"), augment_with_fx_traces=True)
    assert pickle.loads((tmp_path / "a").read_bytes())["mark"] == 1
    assert "mark" not in history.snapshot()
