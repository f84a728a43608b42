"""What names of other accelerators mean on MPS, written down from torch's documentation, not taken from the routes.

Torch's own MPS functions are replaced by ones that write down how they are called and answer something that is nothing
else's answer. A route to another function of MPS, or to none, then fails, though catalog and code agree with each other:
each line of ``MEANINGS`` says what a person reads in the documentation of the name (``torch.cuda``, ``torch.accelerator``)
and of what MPS has for it (https://docs.pytorch.org/docs/stable/mps.html).
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tdev_core import devices
from tdev_core.backend import Backend, current
from tdev_core.cuda.memory import usage
from tdev_core.errors import UnsupportedError
from tdev_core.mirror.namespace import own_names
from tests.catalog import catalog, joined, mirrored

importlib.import_module("tdev")
pytestmark = pytest.mark.skipif(
    current() is Backend.CUDA, reason="there the mirror hands out torch's own functions"
)

STATE = torch.zeros(8, dtype=torch.uint8)
# What each of torch's functions answers here: no two the same.
ANSWERS: dict[str, Any] = {
    "torch.mps.current_allocated_memory": 1001,  # "current GPU memory occupied by tensors in bytes"
    "torch.mps.driver_allocated_memory": 1002,  # "total GPU memory allocated by Metal driver"
    "torch.mps.recommended_max_memory": 1003,  # "recommended max working set size"
    "torch.mps.device_count": 1,
    "torch.mps.empty_cache": None,
    "torch.mps.synchronize": None,
    "torch.mps.manual_seed": None,
    "torch.mps.seed": None,
    "torch.mps.get_rng_state": STATE,
    "torch.mps.set_rng_state": None,
    "torch.mps.set_per_process_memory_fraction": None,
    "torch.mps.profiler.start": None,
    "torch.mps.profiler.stop": None,
    "torch.mps.profiler.profile": "a context that records",
    "torch.accelerator.current_device_index": 0,
    "torch.accelerator.get_device_capability": {"supported_dtypes": set()},
    "torch.accelerator.get_memory_info": (1004, 1005),
    "torch.accelerator.max_memory_allocated": 1006,
    "torch.accelerator.max_memory_reserved": 1007,
    "torch.accelerator.memory_stats": {"allocated_bytes.all.current": 1008},
    "torch.accelerator.reset_accumulated_memory_stats": None,
    "torch.accelerator.reset_peak_memory_stats": None,
    "torch.backends.mps.get_core_count": 38,
    "torch.backends.mps.get_name": "Apple M2 Max",
    "torch.backends.mps.is_macos13_or_newer": True,
    "torch.backends.mps.is_macos_or_newer": True,
}
REFUSED = object()
"""The name cannot be answered on MPS, and says so."""

Asked = tuple[str, tuple[Any, ...]] | None
"""The one function of torch that has to be called, with what; None for none of them."""

# name -> how it is called, what has to be asked of torch, and what it answers (default: what was asked answers).
MEANINGS: dict[str, tuple[tuple[Any, ...], Asked] | tuple[tuple[Any, ...], Asked, Any]] = {}


def means(
    asked: str, *names: str, given: tuple[Any, ...] = (), handed: tuple[Any, ...] = ()
) -> None:
    """Write down that ``names``, called with ``given``, are ``asked`` of torch with ``handed``."""
    for name in names:
        MEANINGS[name] = given, (asked, handed)


def dated(*names: str) -> list[str]:
    """Keep those that the installed torch has, of names that not every torch has."""
    assert all({"since", "until"} & joined()["members"][name].keys() for name in names)
    return [name for name in names if name in catalog()["members"]]


# -- memory: "occupied by tensors" is what CUDA calls allocated; what the driver has given is what CUDA calls reserved
means(
    "torch.mps.current_allocated_memory",
    "torch.accelerator.memory.memory_allocated",
    "torch.cuda.memory.memory_allocated",
    "torch.mtia.memory.memory_allocated",
    "torch.xpu.memory.memory_allocated",
)
means(
    "torch.mps.driver_allocated_memory",
    "torch.accelerator.memory.memory_reserved",
    "torch.cuda.memory.memory_reserved",
    "torch.cuda.memory.memory_cached",  # deprecated: "see memory_reserved"
    "torch.xpu.memory.memory_reserved",
)
means(
    "torch.accelerator.max_memory_allocated",
    "torch.accelerator.memory.max_memory_allocated",
    "torch.cuda.memory.max_memory_allocated",
    "torch.mtia.memory.max_memory_allocated",
    "torch.xpu.memory.max_memory_allocated",
)
means(
    "torch.accelerator.max_memory_reserved",
    "torch.accelerator.memory.max_memory_reserved",
    "torch.cuda.memory.max_memory_reserved",
    "torch.cuda.memory.max_memory_cached",  # deprecated: "see max_memory_reserved"
    "torch.xpu.memory.max_memory_reserved",
)
means(  # free and total, in this order, as cudaMemGetInfo has it
    "torch.accelerator.get_memory_info",
    "torch.accelerator.memory.get_memory_info",
    "torch.cuda.memory.mem_get_info",
    "torch.xpu.memory.mem_get_info",
)
means(
    "torch.accelerator.memory_stats",
    "torch.accelerator.memory.memory_stats",
    "torch.cuda.memory.memory_stats",
    "torch.mtia.memory.memory_stats",
    "torch.xpu.memory.memory_stats",
)
means(
    "torch.accelerator.reset_peak_memory_stats",
    "torch.accelerator.memory.reset_peak_memory_stats",
    "torch.cuda.memory.reset_peak_memory_stats",
    "torch.cuda.memory.reset_max_memory_allocated",  # "now calls reset_peak_memory_stats"
    "torch.cuda.memory.reset_max_memory_cached",  # likewise
    "torch.mtia.memory.reset_peak_memory_stats",
    "torch.xpu.memory.reset_peak_memory_stats",
)
means(
    "torch.accelerator.reset_accumulated_memory_stats",
    "torch.accelerator.memory.reset_accumulated_memory_stats",
    "torch.cuda.memory.reset_accumulated_memory_stats",
    "torch.xpu.memory.reset_accumulated_memory_stats",
)
means(
    "torch.mps.empty_cache",
    "torch.accelerator.memory.empty_cache",
    "torch.cuda.memory.empty_cache",
    "torch.mtia.empty_cache",
    "torch.xpu.memory.empty_cache",
)
means(
    "torch.mps.set_per_process_memory_fraction",
    "torch.cuda.memory.set_per_process_memory_fraction",
    "torch.xpu.memory.set_per_process_memory_fraction",
    given=(0.5,),
    handed=(0.5,),
)
# -- waiting
means(
    "torch.mps.synchronize",
    "torch.accelerator.synchronize",
    "torch.cuda.synchronize",
    "torch.mtia.synchronize",
    "torch.xpu.synchronize",
)
# -- random numbers: there is one device, so that "all" is that one
means(
    "torch.mps.manual_seed",
    "torch.cuda.random.manual_seed",
    "torch.cuda.random.manual_seed_all",
    "torch.mtia.manual_seed",
    "torch.mtia.manual_seed_all",
    "torch.xpu.random.manual_seed",
    "torch.xpu.random.manual_seed_all",
    given=(41,),
    handed=(41,),
)
means(
    "torch.mps.seed",
    "torch.cuda.random.seed",
    "torch.cuda.random.seed_all",
    "torch.xpu.random.seed",
    "torch.xpu.random.seed_all",
)
means(
    "torch.mps.get_rng_state",
    *dated("torch.accelerator.random.get_rng_state"),
    "torch.cuda.random.get_rng_state",
    "torch.mtia.get_rng_state",
    "torch.xpu.random.get_rng_state",
)
means(
    "torch.mps.set_rng_state",
    "torch.cuda.random.set_rng_state",
    "torch.mtia.set_rng_state",
    "torch.xpu.random.set_rng_state",
    given=(STATE,),
    handed=(STATE,),
)
for kind in ("cuda.random", "mtia", "xpu.random"):
    MEANINGS[f"torch.{kind}.get_rng_state_all"] = (), ("torch.mps.get_rng_state", ()), [STATE]
    MEANINGS[f"torch.{kind}.set_rng_state_all"] = ([STATE],), ("torch.mps.set_rng_state", (STATE,))
# -- devices
means(
    "torch.accelerator.current_device_index",
    "torch.accelerator.current_device_index",
    "torch.accelerator.current_device_idx",  # deprecated alias
    "torch.cuda.current_device",
    "torch.mtia.current_device",
    "torch.xpu.current_device",
)
means(
    "torch.mps.device_count",
    "torch.accelerator.device_count",
    "torch.cuda.device_count",
    "torch.mtia.device_count",
    "torch.xpu.device_count",
)
means(
    "torch.accelerator.get_device_capability",
    "torch.accelerator.get_device_capability",
    given=("mps",),
    handed=("mps",),
)
means("torch.backends.mps.get_name", "torch.backends.mps.get_name")
means("torch.backends.mps.get_name", "torch.cuda.get_device_name", "torch.xpu.get_device_name")
means("torch.backends.mps.get_core_count", "torch.backends.mps.get_core_count")
means(
    "torch.backends.mps.is_macos13_or_newer",
    "torch.backends.mps.is_macos13_or_newer",
    given=(2,),
    handed=(2,),
)
means(
    "torch.backends.mps.is_macos_or_newer",
    "torch.backends.mps.is_macos_or_newer",
    given=(14, 3),
    handed=(14, 3),
)
# -- the profiler that MPS has: signposts, where CUDA has ranges of its own
means("torch.mps.profiler.start", "torch.cuda.profiler.start")
means("torch.mps.profiler.stop", "torch.cuda.profiler.stop")
means("torch.mps.profiler.profile", "torch.cuda.profiler.profile")
# -- nothing is asked: MPS is initialised on first use, and tells no sensor to a program without privileges
for kind in ("cuda", "mtia", "xpu"):
    MEANINGS[f"torch.{kind}.init"] = (), None, None
for sensor in ("clock_rate", "power_draw", "temperature", "utilization"):
    for name in (f"torch.cuda.{sensor}", *dated(f"torch.xpu.{sensor}")):
        MEANINGS[name] = (), None, REFUSED


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """What is asked of torch while the active backend is believed to be MPS."""
    found: list[tuple[str, tuple[Any, ...]]] = []

    def mps() -> Backend:
        return Backend.MPS

    def spy(dotted: str, signature: inspect.Signature) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            signature.bind(*args, **kwargs)
            found.append((dotted, (*args, *kwargs.values())))
            return ANSWERS[dotted]

        return called

    # Before anything is replaced: a module that is imported later would keep what stands there for the test.
    for home in {name.rpartition(".")[0] for name in [*ANSWERS, *MEANINGS]}:
        importlib.import_module(mirrored(home))
    for dotted in ANSWERS:
        home, _, leaf = dotted.rpartition(".")
        module = importlib.import_module(home)
        signature = inspect.signature(getattr(module, leaf))
        monkeypatch.setattr(module, leaf, spy(dotted, signature))
    monkeypatch.setattr(devices, "_known", {None: None})  # of the backend that is active in truth
    for name, module in list(sys.modules.items()):
        if name.startswith("tdev_core.") and getattr(module, "current", None) is current:
            monkeypatch.setattr(module, "current", mps)
        if name.startswith("tdev_core.cuda."):
            for asking, answer in (("device_index", 0), ("availability", True)):
                if hasattr(module, asking):
                    monkeypatch.setattr(module, asking, lambda *_, told=answer: told)
    yield found
    monkeypatch.undo()
    kept = [name for name, module in sys.modules.items() if vars(module).get("current") is mps]
    assert kept == []
    usage._fractions.clear()


def call(name: str, given: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call the emitted function with the mirror's module believing in MPS."""
    home, _, leaf = name.rpartition(".")
    mirror = importlib.import_module(mirrored(home))
    asked = "_" + catalog()["mirrors"][home]["asked"]
    monkeypatch.setitem(own_names(mirror), asked, lambda: Backend.MPS)
    function = own_names(mirror)[leaf]
    assert inspect.isfunction(function) and function.__module__ == mirror.__name__
    return function(*given)


@pytest.mark.parametrize("name", sorted(MEANINGS))
def test_it_asks_of_mps_what_it_means(
    name: str, asked: list[tuple[str, tuple[Any, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, expected, *told = MEANINGS[name]
    if told == [REFUSED]:
        with pytest.raises(UnsupportedError, match=f"{re.escape(name)} .*'mps'"):
            call(name, given, monkeypatch)
        assert asked == []
        return
    answer = call(name, given, monkeypatch)
    assert asked == ([expected] if expected else [])
    wanted = told[0] if told else ANSWERS[expected[0]] if expected else None
    assert [answer] == [
        wanted
    ]  # lists ask first whether it is the same object: tensors do not compare


@pytest.mark.parametrize(
    "name", sorted(name for name in MEANINGS if not name.startswith("torch.mps."))
)
def test_no_device_is_dropped_without_a_look_at_it(
    name: str, asked: list[tuple[str, tuple[Any, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, _, *told = MEANINGS[name]
    home, _, leaf = name.rpartition(".")
    parameters = inspect.signature(getattr(importlib.import_module(home), leaf)).parameters
    named = next((one for one in parameters if one in ("device", "device_index")), None)
    if named is None or told == [REFUSED]:
        return
    mirror = importlib.import_module(mirrored(home))
    monkeypatch.setitem(
        own_names(mirror), "_" + catalog()["mirrors"][home]["asked"], lambda: Backend.MPS
    )
    for module in list(sys.modules.values()):
        name_there = getattr(module, "__name__", "")  # not all that is in there is a module
        if name_there.startswith("tdev_core.cuda.") and hasattr(module, "device_index"):
            monkeypatch.setattr(module, "device_index", devices.device_index)
    before = given[: list(parameters).index(named)]
    with pytest.raises(ValueError, match="Expected a mps device, but got: cpu"):
        own_names(mirror)[leaf](*before, "cpu")
    assert asked == []


def test_every_answer_that_only_mps_gives_is_written_down() -> None:
    """The others are those of ``cpu`` or ``sim`` too, where they are executed."""
    lacking = []
    for mirror in catalog()["mirrors"].values():
        for row in mirror["definitions"]:
            if row["kind"] in ("routed", "bound"):
                arms = {one: arm["body"] for arm in row["arms"] for one in arm["backends"]}
                mine = arms.get("MPS")
                if mine is not None and mine not in (arms.get("CPU"), arms.get("SIM")):
                    lacking.append(row["torch_name"])
    assert sorted(set(lacking) - MEANINGS.keys()) == []


def test_the_device_is_told_by_what_mps_tells(
    asked: list[tuple[str, tuple[Any, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a GPU's properties: its name, its cores, and the memory that programs are recommended to keep within."""
    found = call("torch.cuda.get_device_properties", (), monkeypatch)
    assert (found.name, found.multi_processor_count, found.total_memory) == (
        "Apple M2 Max",
        38,
        1003,
    )
    assert sorted({dotted for dotted, _ in asked}) == [
        "torch.backends.mps.get_core_count",
        "torch.backends.mps.get_name",
        "torch.mps.recommended_max_memory",
    ]


def test_a_fraction_of_memory_that_was_set_is_told_without_asking(
    asked: list[tuple[str, tuple[Any, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MPS limits a process to a multiple of the recommended working set, and has no getter for it."""
    call("torch.cuda.memory.set_per_process_memory_fraction", (0.25,), monkeypatch)
    assert call("torch.cuda.memory.get_per_process_memory_fraction", (), monkeypatch) == 0.25
    assert asked == [("torch.mps.set_per_process_memory_fraction", (0.25,))]
