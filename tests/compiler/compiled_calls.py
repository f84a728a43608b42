"""What a CUDA program says inside of a compiled function; run by test_compiled_calls.py.

``ONE_GRAPH`` are the functions that torch compiles into one graph on CUDA, or could: they must be one
graph here. ``BREAKS`` are those at which torch's own compiler ends the graph (``Unsupported``, each with
its reason): there too, and the function still answers what it answers uncompiled.

Run as ``python compiled_calls.py COMPILER [NAME…]`` it prints one line for each that is wrong.
"""

from __future__ import annotations

import functools
import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

import tdev as torch
import torch as stock

from tdev_core.release import torch_release

Function = Callable[[Any], Any]

ONE_GRAPH: dict[str, Function] = {}
BREAKS: dict[str, tuple[Function, str]] = {}

STREAM = torch.cuda.Stream()
EVENT = torch.cuda.Event(enable_timing=True)
GENERATOR = torch.Generator("cuda")


def one_graph(function: Function) -> Function:
    ONE_GRAPH[function.__name__] = function
    return function


def breaks(why: str, before: tuple[int, int] = (99, 0)) -> Callable[[Function], Function]:
    """List a function at which torch ends the graph; from the release ``before`` on it is one."""

    def listed(function: Function) -> Function:
        if torch_release >= before:
            return one_graph(function)
        BREAKS[function.__name__] = (function, why)
        return function

    return listed


# -- what stands for functions and methods of torch that are written in C


@one_graph
def methods_through_their_class(x: Any) -> Any:
    y = stock.Tensor.to(x, "cuda") + stock.Tensor.to(x, torch.float32)
    y = y + stock.Tensor.new_zeros(x, 2, device="cuda:0") + stock.Tensor.cuda(x)
    return y + sum(map(stock.Tensor.cuda, [x, x]))


@one_graph
def functions_as_values(x: Any) -> Any:
    made = functools.partial(torch.zeros, 2, device="cuda")()
    table = {"full": torch.full, "like": torch.zeros_like}
    return made + table["full"]((2,), 2.0, device="cuda") + sum(map(table["like"], [x, x])) + x


# -- streams and events


@one_graph
def a_new_stream(x: Any) -> Any:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 2
    torch.cuda.current_stream().wait_stream(side)
    return y


@one_graph
def a_stream_with_arguments(x: Any) -> Any:
    side = torch.cuda.Stream(device="cuda:0", priority=0)
    with side:
        y = x + 1
    side.synchronize()
    return y + (1 if side.query() else 0)


@one_graph
def a_stream_of_the_module(x: Any) -> Any:
    STREAM.wait_stream(torch.cuda.current_stream("cuda"))
    with torch.cuda.stream(STREAM):
        y = x * 3
    torch.cuda.current_stream(0).wait_stream(STREAM)
    return y


@one_graph
def no_stream(x: Any) -> Any:
    with torch.cuda.stream(None):
        return x + 1


@one_graph
def the_default_stream(x: Any) -> Any:
    with torch.cuda.stream(torch.cuda.default_stream()):
        return x + 1


@one_graph
def nested_streams(x: Any) -> Any:
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        with torch.cuda.stream(STREAM):
            inner = torch.cuda.current_stream() == STREAM
        outer = torch.cuda.current_stream() == side
    return x + (1 if inner else 0) + (2 if outer else 0)


@one_graph
def what_a_stream_is(x: Any) -> Any:
    now, new = torch.cuda.current_stream(), torch.cuda.Stream()
    kinds = isinstance(now, torch.cuda.Stream), isinstance(new, torch.cuda.Stream)
    return x + sum(kinds) + (1 if isinstance(torch.cuda.Event(), torch.cuda.Event) else 0)


@one_graph
def record_stream(x: Any) -> Any:
    y = x + 1
    y.record_stream(torch.cuda.current_stream())
    return y


@one_graph
def a_new_event(x: Any) -> Any:
    done = torch.cuda.Event()
    y = x + 1
    done.record()
    done.wait()
    done.synchronize()
    return y


@one_graph
def an_event_between_streams(x: Any) -> Any:
    side, done = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(side):
        y = x + 1
        done.record(side)
    torch.cuda.current_stream().wait_event(done)
    return y + (1 if done.query() else 0)


@one_graph
def an_event_that_a_stream_makes(x: Any) -> Any:
    now = torch.cuda.current_stream()
    now.wait_event(now.record_event())
    return x + 1


@one_graph
def an_event_of_the_module(x: Any) -> Any:
    EVENT.record()
    y = x * 2
    torch.cuda.current_stream().record_event(EVENT)
    return y


@one_graph
def synchronizes(x: Any) -> Any:
    torch.cuda.synchronize()
    torch.cuda.synchronize("cuda")
    torch.cuda.synchronize(torch.device("cuda", 0))
    return x + 1


# -- memory and facts


@one_graph
def gives_memory_back(x: Any) -> Any:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.reset_accumulated_memory_stats(0)
    return x + 1


@one_graph
def facts(x: Any) -> Any:
    properties = torch.cuda.get_device_properties(x.device.index or 0)
    if torch.cuda.get_device_capability(0) >= (8, 0) or properties.major >= 8:
        return x - 1
    named = len(torch.cuda.get_device_name()) > 0
    return x + named + torch.cuda.is_bf16_supported() + properties.multi_processor_count


@one_graph
def devices(x: Any) -> Any:
    if torch.cuda.is_available():
        x = x + torch.cuda.device_count()
    with torch.cuda.device(0), torch.cuda.device_of(x):
        return x + torch.cuda.current_device()


# -- tensors


@one_graph
def what_a_tensor_says(x: Any) -> Any:
    same = x.device == torch.device("cuda", 0), x.device.type == "cuda", "cuda" in str(x.device)
    return x + sum(same) + x.get_device() + (1 if x.is_cuda else 2)


@one_graph
def new_tensors(x: Any) -> Any:
    y = x.new_tensor([1.0, 2.0], device="cuda") + x.new_zeros(2, device="cuda:0")
    return y + torch.zeros_like(x, device="cuda") + torch.as_tensor([1.0, 2.0], device="cuda") + x


@one_graph
def types_by_name(x: Any) -> Any:
    y = x.type(torch.cuda.HalfTensor).type("torch.cuda.FloatTensor")
    kinds = isinstance(x, torch.cuda.FloatTensor), isinstance(x, torch.cuda.HalfTensor)
    return y + (1 if kinds == (True, False) else 2)


@one_graph
def legacy_constructors(x: Any) -> Any:
    return torch.cuda.FloatTensor([1.0, 2.0]) + torch.cuda.FloatTensor(2).zero_() + x


@one_graph
def pinned(x: Any) -> Any:
    return x.cpu().pin_memory().to("cuda", non_blocking=True) + 1


@one_graph
def mixed_precision(x: Any) -> Any:
    square = x.repeat(2, 1)
    # On Python 3.13 torch's compiler knows no defaults of its deprecated class: KeyError, with or without tdev.
    with torch.cuda.amp.autocast() if sys.version_info < (3, 13) else torch.autocast("cuda"):
        a = square @ square
    with torch.autocast("cuda", dtype=torch.bfloat16):
        b = square @ square
    on = torch.is_autocast_enabled(), torch.is_autocast_enabled("cuda")
    return a.float() + b.float() + sum(on) + x.to(torch.get_autocast_dtype("cuda")).float()


@one_graph
def random_numbers(x: Any) -> Any:
    return x + (torch.rand(2, device="cuda") < 2) + (torch.randperm(2, device="cuda") < 2)


# -- where torch ends the graph


@breaks("a number that is not a tensor")
def memory_in_use(x: Any) -> Any:
    assert torch.cuda.max_memory_allocated() >= 0
    return x + (torch.cuda.memory_allocated() >= 0) + (torch.cuda.mem_get_info()[1] > 0)


@breaks("a number that is not a tensor")
def ranges(x: Any) -> Any:
    torch.cuda.nvtx.range_push("forward")
    y = x + 1
    torch.cuda.nvtx.range_pop()
    with torch.cuda.nvtx.range("backward"):
        return y * 2


@breaks("a truth that is not a tensor", before=(2, 15))
def asks_for_pinned(x: Any) -> Any:
    return x + (1 if x.is_pinned() else 2)


@breaks("random state")
def seeds(x: Any) -> Any:
    torch.cuda.manual_seed(7)
    torch.cuda.manual_seed_all(7)
    state = torch.cuda.get_rng_state()
    y = x + torch.rand(2, device="cuda")
    torch.cuda.set_rng_state(state)
    return y + torch.rand(2, device="cuda")


@breaks("a generator made inside")
def a_new_generator(x: Any) -> Any:
    generator = torch.Generator(device="cuda").manual_seed(1)
    return x + torch.rand(2, device="cuda", generator=generator)


@breaks("a generator")
def a_generator_of_the_module(x: Any) -> Any:
    return x + (torch.rand(2, device="cuda", generator=GENERATOR) < 2)


@breaks("which stream is current outlives the graph")
def selects_a_stream(x: Any) -> Any:
    torch.cuda.set_stream(STREAM)
    y = x + (1 if torch.cuda.current_stream() == STREAM else 2)
    torch.cuda.set_stream(torch.cuda.default_stream())
    return y


@breaks("a context manager that is a device")
def default_device(x: Any) -> Any:
    with torch.device("cuda"):
        return torch.zeros(2) + x


def wrong(function: Function, compiler: str, fullgraph: bool) -> str:
    """Why the compiled function is not what it should be; empty where it is."""
    x = torch.ones(2, device="cuda")
    expected = function(x.clone())
    stock._dynamo.reset()
    compiled = stock.compile(function, backend=compiler, fullgraph=fullgraph)
    for _ in range(2):  # what runs the second time was not just traced
        try:
            got = compiled(x.clone())
        except Exception as error:  # noqa: BLE001
            return f"{type(error).__name__}: {str(error)[:600]}"
        if not (stock.equal(got, expected) and got.device == expected.device):
            return f"{got} is not {expected}"
    return ""


def main(compiler: str, *names: str) -> None:
    warnings.simplefilter("ignore")
    stock._logging.set_logs(all=logging.CRITICAL)
    for name in names or (*ONE_GRAPH, *BREAKS):
        if name in ONE_GRAPH:
            problem = wrong(ONE_GRAPH[name], compiler, True)
        else:
            problem = wrong(BREAKS[name][0], compiler, False)
            if not problem and "Unsupported" not in wrong(BREAKS[name][0], compiler, True):
                problem = "it is one graph: list it there"
        if problem:
            print(f"{name}: {problem}")


if __name__ == "__main__":
    main(*sys.argv[1:])
