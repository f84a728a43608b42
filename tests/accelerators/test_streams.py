"""Streams on a host without CUDA: identity, nesting, threads, and what torch's own classes say of them."""

from __future__ import annotations

import inspect
import threading
from unittest import mock

import pytest
import torch

from tdev_core.accelerators import capturing, events, queues, streams
from tdev_core.accelerators.instances import has_cuda_classes
from tdev_core.backend import Backend
from tdev_core.errors import DeviceWarning
from tests.forkserver import environment, python


@pytest.fixture(autouse=True)
def _default_stream():
    streams.set_stream(streams.default_stream())
    yield
    streams.set_stream(streams.default_stream())


def test_a_stream_is_an_instance_of_torchs_classes():
    stream = streams.Stream()
    assert isinstance(stream, torch.cuda.Stream)
    assert isinstance(stream, torch.Stream)
    assert isinstance(streams.current_stream(), torch.cuda.Stream)
    # Real CUDA streams cannot be made without a driver, nor can what is derived from them.
    assert issubclass(streams.Stream, torch.Stream if has_cuda_classes() else torch.cuda.Stream)


def test_users_subclass_it():
    class Named(streams.Stream):
        def __new__(cls, name: str, device=None):
            return super().__new__(cls, device)

        def __init__(self, name: str, device=None):
            super().__init__(device)
            self.name = name

    stream = Named("copy")
    assert stream.name == "copy"
    assert isinstance(stream, torch.cuda.Stream)
    with streams.stream(stream):
        assert streams.current_stream() is stream


@pytest.mark.parametrize(
    "other", [None, 42, "hello", 3.14, object()], ids=lambda x: type(x).__name__
)
def test_what_is_no_stream_is_unequal_to_one(other):
    stream = streams.Stream()
    assert stream != other and not stream == other
    assert not stream != stream and stream != streams.Stream()


def test_attributes_of_a_stream():
    stream = streams.Stream(device="cuda:0", priority=-1)
    assert stream.device == torch.device("cpu")
    assert stream.device_index == 0
    assert stream.device_type == 0  # c10::DeviceType::CPU
    assert stream.cuda_stream == stream.stream_id != 0
    assert stream.native_handle == stream.cuda_stream
    assert stream._as_parameter_.value == stream.cuda_stream
    assert stream.__cuda_stream__() == (0, stream.cuda_stream)
    assert stream.priority == 0 and streams.Stream.priority_range() == (0, 0)
    assert repr(stream) == (f"<torch.cuda.Stream device=cpu cuda_stream={stream.cuda_stream:#x}>")
    assert stream.is_capturing() is False


def test_only_the_current_stream_is_captured(monkeypatch):
    stream = streams.Stream()
    monkeypatch.setattr(streams.capturing, "is_capturing", lambda: True)
    assert streams.default_stream().is_capturing() and not stream.is_capturing()
    with stream:
        assert stream.is_capturing() and not streams.default_stream().is_capturing()


def test_streams_are_equal_by_number_and_hash_alike():
    first, second = streams.Stream(), streams.Stream()
    again = streams.Stream(stream_id=first.stream_id, device_index=0, device_type=1)
    assert first != second and first == again and hash(first) == hash(again)
    assert len({first, second, again}) == 2
    assert first != "a stream"


def test_the_default_stream_has_number_0_and_is_current_at_first():
    assert streams.default_stream().cuda_stream == 0
    assert streams.current_stream() == streams.default_stream()
    assert streams.default_stream("cuda:0") is streams.default_stream(0)


def test_contexts_nest_and_restore():
    a, b = streams.Stream(), streams.Stream()
    start = streams.current_stream()
    with streams.stream(a):
        assert streams.current_stream() == a
        with streams.stream(b):
            assert streams.current_stream() == b
            with streams.stream(a):
                assert streams.current_stream() == a
            assert streams.current_stream() == b
        assert streams.current_stream() == a
    assert streams.current_stream() == start


def test_one_context_object_can_be_entered_twice():
    a = streams.Stream()
    context = streams.StreamContext(a)
    with context:
        with context:
            assert streams.current_stream() == a
        assert streams.current_stream() == a
    assert streams.current_stream() == streams.default_stream()


def test_a_stream_is_its_own_context():
    a, b = streams.Stream(), streams.Stream()
    with a as entered, b:
        assert entered is a
        assert streams.current_stream() == b
    assert streams.current_stream() == streams.default_stream()


def test_stream_none_changes_nothing():
    a = streams.Stream()
    with streams.stream(a), streams.stream(None):
        assert streams.current_stream() == a
    streams.set_stream(a)
    streams.set_stream(None)
    assert streams.current_stream() == a


def test_a_stream_comes_back_after_an_exception():
    with pytest.raises(KeyError), streams.stream(streams.Stream()):
        raise KeyError
    assert streams.current_stream() == streams.default_stream()


def test_stream_context_is_torchs_and_refuses_what_is_no_stream():
    assert isinstance(streams.stream(None), torch.cuda.StreamContext)
    with pytest.raises(TypeError, match="expected a stream or None, got int"):
        streams.set_stream(3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        streams.Stream(colour="blue")
    with pytest.raises(TypeError, match="priority must be an int"):
        streams.Stream(priority="high")


def test_a_generic_torch_stream_can_be_made_current():
    generic = torch.Stream(stream_id=77, device_index=0, device_type=0)
    with streams.stream(generic):
        assert streams.current_stream().stream_id == 77


def test_the_current_stream_is_each_threads_own():
    seen = []

    def work():
        seen.append(streams.current_stream())
        streams.set_stream(streams.Stream())
        seen.append(streams.current_stream())

    mine = streams.Stream()
    with streams.stream(mine):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert streams.current_stream() == mine
    assert seen[0] == streams.default_stream()
    assert seen[1] not in (mine, streams.default_stream())


def test_waiting_querying_and_synchronizing():
    a, b = streams.Stream(), streams.Stream()
    with streams.stream(a):
        x = torch.ones(4) * 2
    event = a.record_event()
    assert isinstance(event, torch.cuda.Event)
    given = events.Event()
    assert b.record_event(given) is given and given.query()
    b.wait_stream(a)
    b.wait_event(event)
    assert a.query() is True
    a.synchronize()
    streams.synchronize()
    streams.synchronize("cuda:0")
    assert x.tolist() == [2, 2, 2, 2]


def test_synchronize_drains_the_device(monkeypatch):
    drained = []
    monkeypatch.setattr(queues.accelerator(), "synchronize", drained.append)
    streams.synchronize()
    streams.Stream().synchronize()
    streams.Stream().query()
    assert drained == [0, 0, 0]


def test_wait_stream_records_on_the_stream_that_is_waited_for():
    recorded = []

    class Seen(events.Event):
        def record(self, stream=None):
            recorded.append(stream)

    a, b = streams.Stream(), streams.Stream()
    a.record_event = lambda event=None: streams.Stream.record_event(a, Seen())
    b.wait_stream(a)
    assert recorded == [a]


def test_external_streams():
    stream = streams.ExternalStream(0x1234, device=0)
    assert isinstance(stream, streams.Stream) and isinstance(stream, torch.cuda.Stream)
    assert stream.cuda_stream == 0x1234
    assert streams.get_stream_from_external(0x1234, "cuda") == stream
    with pytest.raises(TypeError, match="stream_ptr must be an int"):
        streams.ExternalStream("0x1234")


def test_record_stream_checks_its_argument():
    x = torch.ones(2)
    assert streams.record_stream(x, streams.Stream()) is None
    with pytest.raises(TypeError):
        streams.record_stream(x, "main")


def test_an_index_that_is_not_there_is_folded_with_a_warning():
    with pytest.warns(DeviceWarning, match="cuda:5"):
        assert streams.Stream("cuda:5").device_index == 0
    assert streams.Stream(-1).device_index == 0


_CUDA_BUILD = """
import torch
torch._C._has_cuda = True  # what a CUDA build says of itself, also where there is no GPU
from tdev_core.accelerators import events, streams
from tdev_core.cuda import graphs
from tdev_core.cuda.memory import pools
s = streams.Stream()
assert not isinstance(type(s), torch.cuda.Stream) and isinstance(s, torch.cuda.Stream)
assert isinstance(s, streams.Stream)
assert isinstance(streams.ExternalStream(5), torch.cuda.Stream)
with streams.stream(s):
    assert streams.current_stream() == s
e = events.Event(enable_timing=True); e.record(s)
assert isinstance(e, torch.cuda.Event) and isinstance(e, events.Event)
f = events.Event(enable_timing=True); f.record()
assert e.elapsed_time(f) > 0
g = graphs.CUDAGraph()
assert isinstance(g, torch.cuda.CUDAGraph)
x = torch.zeros(2)
with graphs.graph(g):
    x += 1
g.replay()
assert x.tolist() == [1, 1]
assert isinstance(pools.MemPool(), torch.cuda.MemPool)
print("as in a CUDA build")
"""


def test_where_torchs_classes_are_real_ours_stand_beside_them():
    done = python("-c", _CUDA_BUILD, env=environment(TDEV_BACKEND="cpu"))
    assert (done.returncode, done.stdout.strip()) == (0, "as in a CUDA build"), done.stderr


@pytest.mark.parametrize("method", ["__new__", "__init__"])
def test_what_is_accepted_has_torchs_defaults(method):
    """Also where the value is not looked at: editors and wrappers show it."""
    for kind, defaults in (
        (streams.Stream, {"device": None, "priority": 0}),
        (streams.ExternalStream, {"device": None}),
        (
            events.Event,
            dict.fromkeys(("enable_timing", "blocking", "interprocess", "external"), False),
        ),
    ):
        parameters = inspect.signature(getattr(kind, method)).parameters.values()
        found = {one.name: one.default for one in parameters if one.default is not one.empty}
        assert found == defaults


def test_a_streams_number_has_many_names():
    stream = streams.Stream()
    assert stream.stream_id > 0
    names = ("cuda_stream", "native_handle", "sycl_queue")
    assert [getattr(stream, name) for name in names] == [stream.stream_id] * 3
    assert stream.__cuda_stream__() == (0, stream.stream_id)
    assert stream._as_parameter_.value == stream.stream_id


def test_an_external_stream_is_a_context_too():
    stream = streams.ExternalStream(1 << 20)
    with stream:
        assert streams.current_stream() is stream
    assert streams.current_stream() == streams.default_stream()


def test_a_capture_is_the_threads_own():
    assert not capturing.is_capturing()
    capturing.begin("graph")
    try:
        assert capturing.graph() == "graph" and capturing.is_capturing()
        seen = []
        other = threading.Thread(target=lambda: seen.append(capturing.graph()))
        other.start()
        other.join()
        assert seen == [None]
    finally:
        capturing.end()
    assert capturing.graph() is None and not capturing.is_capturing()


def test_mps_drains_its_one_queue_and_has_one_device(monkeypatch):
    device = mock.Mock()
    device.current_device.return_value = 0
    monkeypatch.setattr(queues, "accelerator", lambda: device)
    monkeypatch.setattr(queues, "current", lambda: Backend.MPS)
    with mock.patch.object(torch.mps, "synchronize") as synchronize:
        queues.drain(0)
        synchronize.assert_called_once_with()
    for backend in (Backend.MPS, Backend.MLX):
        monkeypatch.setattr(queues, "current", lambda backend=backend: backend)
        queues.select_device(3)
    assert device.mock_calls == []
    monkeypatch.setattr(queues, "current", lambda: Backend.SIM)
    queues.drain(3)
    queues.select_device(0)
    queues.select_device(3)
    assert device.mock_calls == [
        mock.call.synchronize(3),
        mock.call.current_device(),
        mock.call.current_device(),
        mock.call.set_device(3),
    ]


def test_devices_have_torchs_numbers(monkeypatch):
    for backend, number in (("CPU", 0), ("CUDA", 1), ("MPS", 13), ("MLX", 20), ("SIM", 20)):
        monkeypatch.setattr(queues, "current", lambda backend=backend: Backend[backend])
        assert queues.device_type_number() == number
        if backend in ("CUDA", "MPS"):  # what torch knows in every build
            assert queues.device_of_index(-1) == torch.device(backend.lower(), 0)
            assert queues.device_of_index(2) == torch.device(backend.lower(), 2)
    monkeypatch.setattr(queues, "current", lambda: Backend.CPU)
    assert queues.device_of_index(2) == torch.device("cpu")


def test_whether_torchs_classes_are_real_is_torchs_word(monkeypatch):
    for real in (True, False):
        monkeypatch.setattr(torch._C, "_has_cuda", real)
        assert has_cuda_classes() is real


def test_a_context_names_the_device_it_leaves():
    assert streams.stream(None).idx == -1
    assert streams.stream(streams.Stream()).idx == 0
