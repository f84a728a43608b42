"""Graphs on a host without CUDA: a replay runs the work again, on what its inputs hold now."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tdev_core.accelerators import streams
from tdev_core.cuda import graphs
from tdev_core.cuda.memory import pools
from tdev_core.errors import UnsupportedError


def _capture(work):
    captured = graphs.CUDAGraph()
    with graphs.graph(captured):
        result = work()
    return captured, result


def test_replay_reads_the_current_inputs_and_writes_the_same_outputs():
    x, w = torch.ones(2, 3), torch.full((3, 2), 2.0)
    captured, y = _capture(lambda: torch.relu(x @ w - 1).sum(dim=0))
    address = y.data_ptr()
    x.fill_(3)
    captured.replay()
    assert y.tolist() == [34, 34] and y.data_ptr() == address
    w.zero_()
    captured.replay()
    assert y.tolist() == [0, 0]


def test_the_captured_work_is_not_done_at_capture():
    x, log = torch.zeros(3), torch.zeros(4)
    view = log[1:3]

    def work():
        x.add_(1)
        view.fill_(7)
        log.mul_(2)
        return x * 10

    captured, y = _capture(work)
    assert x.tolist() == [0, 0, 0] and log.tolist() == [0, 0, 0, 0]
    captured.replay()
    captured.replay()
    assert x.tolist() == [2, 2, 2] and y.tolist() == [20, 20, 20]
    assert log.tolist() == [0, 14, 14, 0]


def test_views_in_place_and_several_results():
    x = torch.arange(6.0)

    def work():
        table = x.view(2, 3)
        first, second = table.unbind(0)
        values, indices = (first + second).sort(descending=True)
        total = values.clone()
        total[0] = -1
        return values, indices, total, table.t()

    captured, (values, indices, total, turned) = _capture(work)
    x.copy_(torch.tensor([5.0, 0, 1, 0, 9, 2]))
    captured.replay()
    assert values.tolist() == [9, 5, 3] and indices.tolist() == [1, 0, 2]
    assert total.tolist() == [-1, 5, 3] and turned[1].tolist() == [0, 9]


def test_random_numbers_are_drawn_anew_and_the_capture_uses_none_up():
    torch.manual_seed(7)
    expected = [torch.rand(3) for _ in range(3)]
    torch.manual_seed(7)
    captured, y = _capture(lambda: torch.rand(3))
    for numbers in expected:
        captured.replay()
        assert torch.equal(y, numbers)


def test_dropout_differs_between_replays():
    x = torch.ones(1000)
    captured, y = _capture(lambda: F.dropout(x, 0.5))
    captured.replay()
    first = y.clone()
    captured.replay()
    assert not torch.equal(first, y) and set(y.tolist()) == {0.0, 2.0}


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))


def test_a_whole_training_step_learns_what_the_eager_one_learns():
    torch.manual_seed(1)
    inputs, targets = torch.randn(6, 16, 4), torch.randn(6, 16, 2)
    eager, replayed = _model(), _model()

    def step(model, optimizer, x, y):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    slow = torch.optim.SGD(eager.parameters(), lr=0.1, momentum=0.9)
    fast = torch.optim.SGD(replayed.parameters(), lr=0.1, momentum=0.9)
    static_x, static_y = inputs[0].clone(), targets[0].clone()
    for number in range(2):  # warm up, as torch's documentation asks
        for model, optimizer in ((eager, slow), (replayed, fast)):
            optimizer.zero_grad(set_to_none=True)
            step(model, optimizer, inputs[number], targets[number])
    fast.zero_grad(set_to_none=True)
    captured = graphs.CUDAGraph()
    with graphs.graph(captured):
        loss = step(replayed, fast, static_x, static_y)
    for number in range(2, 6):
        slow.zero_grad(set_to_none=True)
        expected = step(eager, slow, inputs[number], targets[number])
        static_x.copy_(inputs[number])
        static_y.copy_(targets[number])
        captured.replay()
        assert torch.equal(loss, expected)
    for key, value in eager.state_dict().items():
        assert torch.equal(value, replayed.state_dict()[key]), key


def test_make_graphed_callables_on_a_module():
    model = _model()
    twin = copy.deepcopy(model)
    sample = torch.randn(5, 4)
    assert graphs.make_graphed_callables(model, (sample.clone(),)) is model
    # Warming up and capturing may move BatchNorm's statistics; what is compared starts equal.
    twin.load_state_dict(model.state_dict())
    for scale in (1.0, -2.0, 0.5):
        model.zero_grad()
        twin.zero_grad()
        x = sample * scale
        (model(x) ** 2).sum().backward()
        (twin(x) ** 2).sum().backward()
        for mine, other in zip(model.parameters(), twin.parameters(), strict=True):
            assert torch.allclose(mine.grad, other.grad, atol=1e-6)
    model.eval()
    twin.eval()
    twin.load_state_dict(model.state_dict())
    assert torch.equal(model(sample * 3), twin(sample * 3))  # the original forward, not the graph


def test_make_graphed_callables_on_functions_and_tuples():
    x = torch.randn(3, requires_grad=True)
    single = graphs.make_graphed_callables(
        lambda t: {"y": t.sin() * 2}, (x.detach().requires_grad_(),)
    )
    out = single(x)
    assert list(out) == ["y"]
    out["y"].sum().backward()
    assert torch.allclose(x.grad, 2 * x.detach().cos())
    a, b = graphs.make_graphed_callables(
        (lambda t: t + 1, lambda t, u: t * u),
        ((torch.zeros(2),), (torch.zeros(2), torch.zeros(2))),
    )
    assert a(torch.tensor([1.0, 2.0])).tolist() == [2, 3]
    assert b(torch.tensor([1.0, 2.0]), torch.tensor([5.0, 6.0])).tolist() == [5, 12]


def test_make_graphed_callables_refuses_what_torch_refuses():
    hooked = nn.Linear(2, 2)
    hooked.register_forward_hook(lambda *_: None)
    with pytest.raises(ValueError, match="must not have hooks"):
        graphs.make_graphed_callables(hooked, (torch.ones(1, 2),))
    learns = nn.Linear(2, 2)
    learns.register_buffer("b", torch.ones(1, requires_grad=True))
    with pytest.raises(ValueError, match="buffers may not"):
        graphs.make_graphed_callables(learns, (torch.ones(1, 2),))
    with pytest.raises(ValueError, match="tensors only"):
        graphs.make_graphed_callables(nn.Linear(2, 2), (3,))
    with pytest.raises(ValueError, match="2 callables need as many"):
        graphs.make_graphed_callables((nn.Linear(2, 2),) * 2, ((torch.ones(1, 2),),))
    with torch.autocast("cuda", torch.bfloat16), pytest.raises(RuntimeError, match="cache"):
        graphs.make_graphed_callables(nn.Linear(2, 2), (torch.ones(1, 2),))


def test_is_current_stream_capturing_and_the_side_stream():
    seen = []
    before = streams.current_stream()
    assert graphs.is_current_stream_capturing() is False
    captured = graphs.CUDAGraph()
    with graphs.graph(captured):
        seen.append(graphs.is_current_stream_capturing())
        seen.append(streams.current_stream().is_capturing())
        seen.append(streams.current_stream() != before)
        seen.append(graphs.CUDAGraph.get_currently_capturing_graph() is captured)
    assert seen == [True] * 4
    assert graphs.is_current_stream_capturing() is False and streams.current_stream() == before
    given = streams.Stream()
    with graphs.graph(graphs.CUDAGraph(), stream=given):
        assert streams.current_stream() == given


def test_captures_do_not_nest():
    with graphs.graph(graphs.CUDAGraph()), pytest.raises(RuntimeError, match="underway"):
        with graphs.graph(graphs.CUDAGraph()):
            pass
    assert streams.current_stream() == streams.default_stream()
    with pytest.raises(RuntimeError, match="no graph capture"):
        graphs.CUDAGraph.get_currently_capturing_graph()


@pytest.mark.parametrize(
    "escape",
    [lambda x: x.sum().item(), lambda x: x.nonzero(), lambda x: bool(x.any()), lambda x: x[x > 0]],
)
def test_what_python_or_shapes_depend_on_cannot_be_captured(escape):
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="cannot be captured"), graphs.graph(graphs.CUDAGraph()):
        x.mul_(5)
        escape(x)
    assert graphs.is_current_stream_capturing() is False
    assert x.tolist() == [1, 1, 1]  # what was recorded until then is undone
    assert (x + 1).tolist() == [2, 2, 2]  # and nothing is being recorded any more


def test_life_cycle_errors():
    g = graphs.CUDAGraph()
    for call, text in ((g.replay, "replay"), (g.pool, "pool"), (g.capture_end, "capture_end")):
        with pytest.raises(RuntimeError, match=text):
            call()
    with pytest.raises(ValueError, match="capture_error_mode must be one of"):
        g.capture_begin(capture_error_mode="strict")
    g.capture_begin()
    g.capture_end()
    with pytest.raises(RuntimeError, match="reset"):
        g.capture_begin()
    g.reset()
    with pytest.raises(RuntimeError, match="without a preceding"):
        g.replay()
    g.capture_begin()
    g.capture_end()
    g.instantiate()
    g.replay()
    for call in (g.raw_cuda_graph, g.raw_cuda_graph_exec, g.get_graph_data):
        with pytest.raises(UnsupportedError, match="no CUDA graph"):
            call()


def test_pools_are_tokens():
    handle = graphs.graph_pool_handle()
    assert len(handle) == 2 and handle != graphs.graph_pool_handle()
    # One row of numbers, as torch has: a graph's pool is none that the program makes.
    made = [pools.MemPool().id, graphs.graph_pool_handle(), pools.MemPool().id]
    assert [number - made[0][1] for _, number in made] == [0, 1, 2]
    first, second = graphs.CUDAGraph(), graphs.CUDAGraph()
    with graphs.graph(first, pool=handle):
        pass
    with graphs.graph(second, pool=first.pool()):
        pass
    assert first.pool() == second.pool() == handle


def test_debug_dump(tmp_path):
    x = torch.ones(2)
    captured, _ = _capture(lambda: (x + 1).relu())
    with pytest.raises(RuntimeError, match="enable_debug_mode"):
        captured.debug_dump(str(tmp_path / "g.dot"))
    captured.enable_debug_mode()
    captured.debug_dump(str(tmp_path / "g.dot"))
    text = (tmp_path / "g.dot").read_text()
    assert text.startswith("digraph") and "aten::add" in text and "n0 -> n1" in text


def test_classes():
    assert isinstance(graphs.CUDAGraph(), torch.cuda.CUDAGraph)
    assert isinstance(graphs.graph(graphs.CUDAGraph()), torch.cuda.graph)
    if hasattr(torch.accelerator, "Graph"):  # from torch 2.12 on
        assert isinstance(graphs.AcceleratorGraph(), torch.accelerator.Graph)
    x = torch.zeros(2)
    mine = graphs.AcceleratorGraph(pool=graphs.graph_pool_handle(), capture_error_mode="relaxed")
    with mine:
        x += 3
    mine.replay()
    assert x.tolist() == [3, 3]
    for context in (graphs.XpuGraphContext, graphs.MtiaGraphContext):
        g = graphs.CUDAGraph()
        with context(g):
            x += 1
        g.replay()
    assert x.tolist() == [5, 5]


def test_a_replay_leaves_autograds_version_counters_alone():
    w = torch.ones(2, requires_grad=True)
    captured = graphs.CUDAGraph()
    with torch.no_grad(), graphs.graph(captured):
        w.add_(1)
        out = w * 3
    loss = (w * w).sum()  # autograd keeps w itself
    captured.replay()
    loss.backward()  # "modified by an inplace operation", had the replay bumped its version
    assert w.tolist() == [2, 2] and w.grad.tolist() == [4, 4]
    assert out.tolist() == [6, 6] and not out.requires_grad
