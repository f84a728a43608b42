"""Run by test_accelerator_flow.py in a process of its own, one for each backend with a device of its own.

Usage: accelerator_flow.py sim|mlx
"""

from __future__ import annotations

import importlib
import sys

kind = sys.argv[1]
importlib.import_module(f"tdev_core.accelerators.{kind}").activate()

import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from tdev_core.accelerators import events, streams  # noqa: E402
from tdev_core.cuda import (  # noqa: E402
    comm,
    device_selection,
    graphs,  # noqa: E402
    properties,
    rng,
)
from tdev_core.cuda.memory import history  # noqa: E402
from tdev_core.cuda.memory import usage as memory  # noqa: E402
from tdev_core.mirror import standins  # noqa: E402
from tdev_core.shims import tensortypes  # noqa: E402

DEVICE = torch.device(kind, 0)


def check_memory() -> None:
    before = memory.allocated()
    x = torch.randn(1000, 1000, device=DEVICE)
    streams.synchronize()
    assert memory.allocated() - before >= 4_000_000
    high = memory.peak()
    assert high >= before + 4_000_000
    assert memory.stats()["allocated_bytes.all.current"] == memory.allocated()
    assert [segment["total_size"] for segment in history.segments()][0] == 4_000_000
    del x
    assert memory.allocated() - before < 1_000_000
    assert memory.peak() >= high
    memory.reset_peak()
    assert memory.peak() < high
    free, total = memory.info()
    assert 0 < free <= total == properties.get(0).total_memory
    assert f"backend {kind}" in memory.summary()


def check_streams() -> None:
    stream = streams.Stream()
    assert stream.device == DEVICE
    assert isinstance(stream, torch.cuda.Stream) and isinstance(stream, torch.Stream)
    start, end = events.Event(enable_timing=True), events.Event(enable_timing=True)
    with streams.stream(stream):
        assert streams.current_stream() == stream
        start.record()
        product = torch.ones(200, 200, device=DEVICE) @ torch.ones(200, 200, device=DEVICE)
        end.record()
    streams.current_stream().wait_stream(stream)
    assert start.elapsed_time(end) > 0 and stream.query() and start.device == DEVICE
    streams.synchronize(kind)
    assert product[0, 0].item() == 200


def check_generic_streams() -> None:
    """``torch.Stream`` and ``torch.Event``, which torch's guard for such a device cannot serve."""
    first, second = standins.Stream("cuda"), standins.Stream(device="cuda:0", priority=-1)
    assert first != second and first.device == DEVICE and isinstance(first, torch.Stream)
    with first:
        assert streams.current_stream() == first
        x = torch.ones(8, device=DEVICE)
    x.record_stream(first)
    second.wait_stream(first)
    start = standins.Event("cuda", enable_timing=True)
    end = standins.Event(device=DEVICE, enable_timing=True)
    assert start.device == DEVICE and start.query() and isinstance(start, torch.Event)
    start.record()
    (torch.ones(200, 200, device=DEVICE) @ torch.ones(200, 200, device=DEVICE)).cpu()
    end.record(second)
    first.wait_event(end)
    end.wait(first)
    end.synchronize()
    second.synchronize()
    assert end.query() and start.elapsed_time(end) > 0 > end.elapsed_time(start)
    again = standins.Stream(
        stream_id=first.stream_id, device_index=0, device_type=first.device_type
    )
    assert again == first and standins.Stream().device == DEVICE == standins.Event().device
    assert (
        type(standins.Stream("cpu")) is torch.Stream and type(standins.Event("cpu")) is torch.Event
    )


def check_random_numbers() -> None:
    def draw() -> torch.Tensor:
        return torch.rand(4, device=DEVICE).cpu()

    rng.manual_seed_all(3)
    first, state = draw(), rng.get_rng_state()
    second = draw()
    rng.set_rng_state(state)
    assert torch.equal(second, draw())
    rng.manual_seed_all(3)
    assert torch.equal(first, draw()) and rng.initial_seed() == 3
    with rng.fork_rng(device_type="cuda"):
        draw()
    assert torch.equal(second, draw())
    assert isinstance(rng.default_generators[0], torch.Generator)
    assert len(rng.get_rng_state_all()) == device_selection.device_count()


def check_graphs() -> None:
    x = torch.zeros(3, device=DEVICE)
    captured = graphs.CUDAGraph()
    with graphs.graph(captured):
        x += 1
        y = torch.relu(x * 2 - 1)
        noise = torch.rand(3, device=DEVICE)
    assert x.tolist() == [0, 0, 0]
    captured.replay()
    first = noise.cpu().clone()
    captured.replay()
    assert y.tolist() == [3, 3, 3] and not torch.equal(first, noise.cpu())

    net = torch.nn.Linear(4, 2).to(DEVICE)
    graphs.make_graphed_callables(net, (torch.randn(3, 4, device=DEVICE),))
    inputs = torch.randn(3, 4, device=DEVICE)
    outputs = net(inputs)
    outputs.sum().backward()
    expected = F.linear(inputs.cpu(), net.weight.cpu(), net.bias.cpu())
    assert torch.allclose(outputs.cpu(), expected, atol=1e-5)
    assert net.weight.grad is not None
    assert torch.allclose(net.weight.grad.cpu(), inputs.cpu().sum(0).expand(2, 4), atol=1e-5)


def check_facts() -> None:
    facts = properties.get(0)
    assert facts.type == kind and facts.name and properties.capability() == (0, 0)
    assert device_selection.is_available() and device_selection.device_count() >= 1
    assert device_selection.current_accelerator() == torch.device(kind)
    assert properties.is_bf16_supported() in (True, False)
    assert torch.float32 in properties.supported_dtypes()["supported_dtypes"]
    with device_selection.device(0), device_selection.device_of(torch.ones(1, device=DEVICE)):
        assert device_selection.current_device() == 0


def check_types_and_copies() -> None:
    assert isinstance(torch.ones(1, device=DEVICE), tensortypes.FloatTensor)
    assert not isinstance(torch.ones(1), tensortypes.FloatTensor)
    assert tensortypes.FloatTensor([1, 2]).device == DEVICE
    pieces = comm.scatter(torch.arange(4.0, device=DEVICE), [0, 0])
    assert comm.gather(pieces).tolist() == [0, 1, 2, 3]


def check_traces() -> None:
    """Every operator that torch's tracer leaves to what it is made of is in the graph, and the graph gives its values."""
    x = torch.randn(2, 3, 8, 8, device=DEVICE, requires_grad=True)
    nets = (
        torch.nn.Conv2d(3, 4, 3, groups=1),
        torch.nn.ConvTranspose2d(3, 4, 3, stride=2, bias=False),
    )
    for net in (*nets, torch.nn.Conv2d(3, 3, 3, groups=3, padding=1, dilation=1)):
        net = net.to(DEVICE)
        traced = torch.jit.trace(net, x)
        assert "aten::_convolution" in [node.kind() for node in traced.inlined_graph.nodes()]
        other = torch.randn(1, 3, 6, 6, device=DEVICE)
        assert torch.equal(traced(other), net(other))
        (wanted,) = torch.autograd.grad(net(x).square().sum(), x)
        (found,) = torch.autograd.grad(traced(x).square().sum(), x)
        assert torch.allclose(found.cpu(), wanted.cpu(), atol=1e-5)
    row = torch.randn(2, 5, device=DEVICE)
    for kind_of_cell in (torch.nn.GRUCell, torch.nn.LSTMCell, torch.nn.RNNCell):
        cell = kind_of_cell(5, 4)
        wanted = torch.func.grad(lambda x, cell=cell: _first(cell(x)).square().sum())(row.cpu())
        cell = cell.to(DEVICE)
        found = torch.func.grad(lambda x, cell=cell: _first(cell(x)).square().sum())(row)
        assert torch.allclose(found.cpu(), wanted, atol=1e-5)
        assert torch.allclose(_first(torch.jit.trace(cell, row)(row + 1)), _first(cell(row + 1)))


def _first(out: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
    return out[0] if isinstance(out, tuple) else out


if __name__ == "__main__":
    for check in (
        check_memory,
        check_streams,
        check_generic_streams,
        check_random_numbers,
        check_graphs,
        check_facts,
        check_types_and_copies,
        check_traces,
    ):
        check()
        print(check.__name__)
