"""Memory numbers on the CPU: they follow live tensors, and nothing is made up."""

from __future__ import annotations

import gc
import os
import subprocess
import threading
import time

import pytest
import torch

from tdev_core.accelerators import host
from tdev_core.accelerators.cpu import heap
from tdev_core.accelerators.cpu.accelerator import used_mark
from tdev_core.cuda.memory import statistics as memory_stats
from tdev_core.cuda.memory import usage as memory
from tdev_core.errors import DeviceWarning
from tdev_core.metrics.watermark import Watermark
from tests.forkserver import environment, python

MIB = 1 << 20


def _run(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return python("-c", code, env=environment(**settings))


@pytest.mark.parametrize("size", [300_000, 4 * MIB, 64 * MIB], ids=str)
def test_allocated_rises_with_a_tensor_and_falls_when_it_dies(size):
    gc.collect()
    before = memory.allocated()
    tensor = torch.ones(size, dtype=torch.uint8)
    during = memory.allocated()
    del tensor
    after = memory.allocated()
    assert size <= during - before <= size + 64_000
    assert abs(after - before) <= 64_000


def test_many_small_tensors_count():
    before = memory.allocated()
    tensors = [torch.ones(1000) for _ in range(500)]
    assert 2_000_000 <= memory.allocated() - before <= 2_600_000
    assert len(tensors) == 500


def test_peak_and_reset():
    memory.reset_peak()
    low = memory.allocated()
    tensor = torch.ones(32 * MIB, dtype=torch.uint8)
    memory.allocated()
    del tensor
    assert memory.peak() >= low + 32 * MIB
    assert memory.peak_reserved() >= memory.reserved()
    memory.reset_peak()
    assert memory.peak() < low + 16 * MIB
    now = memory.allocated()
    assert memory.peak() >= now
    stats = memory.stats()
    assert stats["allocated_bytes.all.peak"] >= stats["allocated_bytes.all.current"]


def test_the_sampling_thread_sees_a_peak_between_queries():
    memory.reset_peak()
    low = memory.allocated()
    tensor = torch.ones(64 * MIB, dtype=torch.uint8)
    deadline = time.monotonic() + 30
    while used_mark()._tally.peak < low + 64 * MIB and time.monotonic() < deadline:
        time.sleep(0.005)  # nobody asks; only the thread looks
    del tensor
    assert used_mark()._tally.peak >= low + 64 * MIB


def test_reserved_is_at_least_what_is_in_use():
    """Of one reading: two have between them what the first has made, a thread that watches for one."""
    tensor = torch.ones(8 * MIB, dtype=torch.uint8)
    reading = heap.read()
    assert reading.reserved >= reading.in_use >= tensor.nbytes
    assert memory.reserved() >= tensor.nbytes


def test_the_counter_is_one_that_follows_tensors():
    assert heap.source() in {"mallinfo2", "malloc_zone_statistics", "statm", "psutil"}


@pytest.mark.parametrize("make", ["_glibc", "_statm", "_psutil"])
def test_each_counter_follows_a_tensor(make):
    look = getattr(heap, make)()
    if look is None:
        pytest.skip(f"{make[1:]} does not exist on this system")
    before = look().in_use
    tensor = torch.ones(64 * MIB, dtype=torch.uint8)
    assert look().in_use - before >= 48 * MIB
    assert tensor.numel()


def test_a_counter_that_does_not_move_is_passed_over():
    assert heap._follows(lambda: heap.Reading(in_use=5)) is False


def test_without_mallinfo_the_kernels_count_is_used():
    code = (
        "from tdev_core.accelerators.cpu import heap\n"
        "heap._glibc = lambda: None\n"
        "from tdev_core.cuda.memory import usage as memory\n"
        "import torch\n"
        "a = memory.allocated(); x = torch.ones(1 << 25, dtype=torch.uint8)\n"
        "print(heap.source(), memory.allocated() - a > 30_000_000)\n"
    )
    assert _run(code).stdout.split() in (["statm", "True"], ["psutil", "True"])


def test_tensors_made_before_the_first_question_count():
    code = (
        "import tdev_core.cuda.memory.usage as memory, torch\n"
        "x = torch.ones(1 << 24, dtype=torch.uint8)\n"
        "print(memory.allocated() >= 1 << 24)\n"
    )
    assert _run(code).stdout.strip() == "True"


def test_the_exact_counter_is_refused_with_what_counts_exactly():
    done = _run("import tdev", TDEV_CPU_MEMORY="exact")
    assert done.returncode == 2, done
    assert (
        done.stderr.startswith("tdev: TDEV_CPU_MEMORY=exact is no more")
        and "TDEV_BACKEND=sim" in done.stderr
    )


def test_a_forked_child_goes_on_counting():
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    memory.allocated()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        torch.set_num_threads(
            1
        )  # OpenMP's threads do not survive a fork: a team would wait for them
        before = memory.allocated()
        tensor = torch.ones(16 * MIB, dtype=torch.uint8)
        grown = memory.allocated() - before
        names = [thread.name for thread in threading.enumerate()]
        os.write(writer, f"{grown} {names.count('tdev-memory-sampler')}".encode())
        os._exit(tensor.numel() and 0)
    os.close(writer)  # so that reading ends when the child does, however it does
    with open(reader, "rb") as answer:
        said = answer.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, said
    grown, samplers = map(int, said.split())
    assert grown >= 16 * MIB and samplers == 1


def test_stats_have_torchs_full_key_set():
    stats = memory.stats()
    for name in (
        "allocation",
        "segment",
        "active",
        "inactive_split",
        "allocated_bytes",
        "reserved_bytes",
        "active_bytes",
        "inactive_split_bytes",
        "requested_bytes",
    ):
        for pool in ("all", "large_pool", "small_pool"):
            for part in ("current", "peak", "allocated", "freed"):
                assert stats[f"{name}.{pool}.{part}"] >= 0
    for name in ("oversize_allocations", "oversize_segments"):
        assert set(memory.stats_nested()[name]) == {"current", "peak", "allocated", "freed"}
    for name in (
        "num_alloc_retries",
        "num_ooms",
        "num_sync_all_streams",
        "num_device_alloc",
        "num_device_free",
        "num_oom_rejections",
        "max_split_size",
    ):
        assert stats[name] == 0
    assert list(stats) == sorted(stats)
    assert memory.stats_nested().keys() == memory_stats._empty().keys()


def test_the_unused_part_of_the_heap_is_told():
    mark = Watermark(lambda: 70).tally()
    look = heap.Reading(in_use=70, large=20, reserved=100, large_blocks=2, free_blocks=3)
    found = memory_stats.flatten(memory_stats.of_heap(mark, mark, look))
    told = {
        "inactive_split_bytes.all": 30,
        "inactive_split.all": 3,
        "segment.all": 2,
        "segment.large_pool": 2,
        "allocated_bytes.all": 70,
        "allocated_bytes.small_pool": 50,
        "allocated_bytes.large_pool": 20,
    }
    assert {name: found[f"{name}.current"] for name in told} == told


def test_stats_agree_with_the_functions_and_tell_large_blocks_apart(monkeypatch):
    monkeypatch.setattr(heap, "_bases", {})  # what earlier tests held at import may be free by now
    heap.mark()
    tensor = torch.ones(40 * MIB, dtype=torch.uint8)
    stats = memory.stats()
    assert abs(stats["allocated_bytes.all.current"] - memory.allocated()) < 64_000
    assert abs(stats["reserved_bytes.all.current"] - memory.reserved()) < MIB
    if heap.source() == "mallinfo2":
        assert stats["allocated_bytes.large_pool.current"] >= 40 * MIB
        assert stats["segment.large_pool.current"] >= 1
    assert tensor.numel()


def test_what_is_beyond_the_baseline_is_never_negative():
    base = heap.Reading(in_use=100, large=60, reserved=200, large_blocks=3, free_blocks=5)
    now = heap.Reading(in_use=130, large=50, reserved=190, large_blocks=1, free_blocks=7)
    assert now.less(base) == heap.Reading(30, 30, 30, 1, 7)
    assert heap.Reading(in_use=90).less(base) == heap.Reading(in_use=0)


def test_totals_and_their_reset():
    memory.reset_accumulated()
    assert memory.stats()["allocated_bytes.all.allocated"] < MIB
    for _ in range(3):
        tensor = torch.ones(8 * MIB, dtype=torch.uint8)
        memory.allocated()
        del tensor
        memory.allocated()
    stats = memory.stats()
    # What else the process gives back or takes in between is counted with each tensor.
    assert stats["allocated_bytes.all.allocated"] >= 24 * MIB - 64_000
    assert stats["allocated_bytes.all.freed"] >= 24 * MIB - 64_000


def test_summary_is_a_table():
    full, short = memory.summary(), memory.summary(abbreviated=True)
    for text in (full, short):
        lines = text.splitlines()
        assert len({len(line) for line in lines}) == 1
        assert "backend cpu, device 0" in lines[1]
        rows = [line.strip("| ").partition("  ")[0] for line in lines if line.count("|") > 2]
        told = "Allocated memory", "Active memory", "Requested memory", "Reserved memory"
        assert {*told, "Reserved, not in use", "Allocations", "Segments"} <= set(rows)
    assert "in large pool" in full and "in large pool" not in short


def test_flatten_joins_tuple_keys_as_torch_does():
    nested = {"b": {(0, 1): {"current": 3}}, "a": 1}
    assert list(memory_stats.flatten(nested).items()) == [("a", 1), ("b.0_1.current", 3)]


def test_info_is_free_and_total_of_the_host():
    free, total = memory.info()
    assert 0 < free <= total == host.memory_total()
    assert memory.device_used() <= total
    assert memory.info("cuda:0")[1] == total


def test_a_containers_limit_counts(monkeypatch):
    files = {"memory.max": 512 * MIB, "memory.current": 500 * MIB}
    monkeypatch.setattr(
        host, "_cgroup", lambda *names: next((files[n] for n in names if n in files), None)
    )
    assert host.memory_total() == 512 * MIB
    assert host.memory_available() == 12 * MIB


def test_processes_names_this_process():
    first, second = memory.processes().splitlines()
    assert first == "GPU:0" and str(os.getpid()) in second and "MB" in second


def test_fraction_is_checked_kept_and_warned_of():
    assert memory.get_fraction() == 1.0
    memory.set_fraction(1.0)
    with pytest.warns(DeviceWarning, match="limits nothing on the 'cpu' backend"):
        memory.set_fraction(0.5)
    assert memory.get_fraction() == 0.5
    memory.set_fraction(1.0)
    with pytest.raises(TypeError, match="must be `float`, got int"):
        memory.set_fraction(1)
    with pytest.raises(ValueError, match="Invalid fraction value: 1.5. Allowed range: 0~1"):
        memory.set_fraction(1.5)


def test_what_limits_nothing_is_told_on_the_programs_line():
    done = _run(
        "import warnings, tdev\n"
        "def limit():\n"
        "    tdev.cuda.set_per_process_memory_fraction(0.5)\n"
        "with warnings.catch_warnings(record=True) as told:\n"
        "    warnings.simplefilter('always')\n"
        "    limit()\n"
        "print([(one.filename, one.lineno) for one in told])\n",
        TDEV_BACKEND="cpu",
    )
    assert done.stdout.strip() == "[('<string>', 3)]", done


def test_host_statistics_are_zero():
    stats = memory.host_stats()
    assert stats["allocated_bytes.current"] == 0 and stats["host_alloc_time.count"] == 0
    assert set(stats.values()) == {0} and memory.host_stats_nested()["num_host_alloc"] == 0
    memory.reset_accumulated_host()
    memory.reset_peak_host()


def test_empty_cache_gives_free_pages_back():
    tensors = [torch.ones(25_000, dtype=torch.uint8) for _ in range(2000)]
    keep = torch.ones(10)
    del tensors
    before = heap.read()
    memory.empty_cache()
    assert heap.read().in_use <= before.in_use + 64_000
    assert keep.sum() == 10


def test_out_of_memory_error_has_its_torch_name():
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
    assert issubclass(torch.OutOfMemoryError, RuntimeError)


class _Number:
    value = 0

    def read(self) -> int:
        return self.value


def test_a_watermark_keeps_peak_and_totals():
    number = _Number()
    mark = Watermark(number.read)
    for number.value in (5, 2, 9, 4):
        mark.now()
    assert (mark.now(), mark.peak(), mark.risen(), mark.fallen()) == (4, 9, 12, 8)
    mark.reset_peak()
    assert mark.peak() == 4
    mark.reset_totals()
    number.value = 6
    assert (mark.peak(), mark.risen(), mark.fallen()) == (6, 2, 0)
