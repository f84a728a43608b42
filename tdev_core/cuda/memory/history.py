"""Memory snapshots and their history, in the form that torch's memory viewer reads.

There is no caching allocator whose segments could be listed. A snapshot lists each storage on the active
device as a segment of one block: those that Python objects hold, and, from the moment recording is
switched on, every storage that an operator of the recording thread makes, with the stack that made it
and the moment, and the stack, at which it went. What ``empty_cache`` gives back is told as CUDA does: a segment's end.

Stacks are torch's own tracebacks: of Python, TorchScript and, where torch can unwind it, C++. They are kept as
addresses, and looked up when a snapshot is made.

Source: ``torch.cuda.memory._record_memory_history`` and ``_snapshot`` for names and structure, and
``c10/cuda/CUDACachingAllocator.cpp`` for which event has whose stack.
"""

from __future__ import annotations

import collections
import gc
import os
import pickle
import shutil
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import torch
from torch.cuda import _memory_viz
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

import tdev_core
from tdev_core.backend import device_type
from tdev_core.internals import relying_on

__all__ = [
    "address_of",
    "counts",
    "dump",
    "emptied",
    "raw_snapshot",
    "record",
    "save_memory_usage",
    "save_segment_usage",
    "segments",
    "snapshot",
]

_SMALL = 1 << 20  # CUDA's boundary between its small and large pools

_ACTIONS = {"alloc", "free_requested", "free_completed"}
_ACTIONS |= {"segment_alloc", "segment_free", "oom", "snapshot"}  # of CUDA's allocator

_CONTEXTS = (None, "state", "alloc", "all")
"""Whose stacks are kept: nothing's, of what is held, of its allocation among the events too, of its end as well."""

Frames = list[dict[str, Any]]


_lock = threading.RLock()
_held: dict[int, Any] = {}
"""The stack that made it, by storage: of all that were made while anything was recorded, and are held."""


def _gone(key: int, address: int, size: int) -> None:
    with _lock:
        stack = _held.pop(key, None)
        if _current is not None and _current.live:
            _current.gone(address, size, stack)


class _History:
    """Holds what was recorded. Sizes are bytes, times microseconds since the epoch."""

    def __init__(
        self,
        max_entries: int,
        context: str | None,
        cpp: bool,
        skipped: frozenset[str],
    ) -> None:
        self.traces: collections.deque[dict[str, Any]] = collections.deque(
            maxlen=min(max_entries, sys.maxsize)
        )
        self.context = _CONTEXTS.index(context)
        self.cpp = cpp
        self.skipped = skipped
        self.live = True
        self.free: list[
            tuple[int, int, Any]
        ] = []  # what a cache would keep: address, size, and the stack that made it

    def stack(self, context: str) -> Any:
        """Return the calling thread's stack, if those of ``context`` are kept."""
        return _stack(self.cpp) if self.context >= _CONTEXTS.index(context) else None

    def made(self, storage: torch.UntypedStorage, stack: Any) -> None:
        key, size, address = storage._cdata, storage.nbytes(), address_of(storage)
        with _lock:
            if key in _held:
                return
            _held[key] = stack
            self._trace("alloc", address, size, stack)
        weakref.finalize(storage, _gone, key, address, size).atexit = False

    def gone(self, address: int, size: int, made: Any) -> None:
        stack = self.stack("all") or made
        self._trace("free_requested", address, size, stack)
        self._trace("free_completed", address, size, stack)
        if "segment_free" not in self.skipped:
            self.free.append((address, size, made))
            del self.free[: -(self.traces.maxlen or 1)]  # no more than there are events

    def emptied(self) -> None:
        stack = self.stack("all")
        for address, size, made in self.free:
            self._trace("segment_free", address, size, stack or made)
        self.free.clear()

    def _trace(self, action: str, address: int, size: int, stack: Any) -> None:
        if action not in self.skipped:
            self.traces.append(
                {
                    "action": action,
                    "addr": address,
                    "size": size,
                    "stream": 0,
                    "frames": stack if self.context >= _CONTEXTS.index("alloc") else None,
                    "time_us": time.time_ns() // 1000,
                    "pool_id": (0, 0),
                }
            )


class _Watcher(TorchDispatchMode):
    """Hands every new storage on the device to the history."""

    def __init__(self, history: _History) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.history = history

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self.history.live:
            kind = device_type()
            stack: Any = None
            for leaf in pytree.tree_leaves(result):
                if counts(leaf, kind):
                    stack = stack or self.history.stack("state")
                    self.history.made(leaf.untyped_storage(), stack)
        return result


def counts(value: Any, kind: str) -> bool:
    """Tell whether ``value`` is a tensor whose memory is on the device of type ``kind``."""
    return (
        isinstance(value, torch.Tensor)
        and value.layout is torch.strided
        and value.device.type == kind
        and not torch._C._functorch.is_functorch_wrapped_tensor(value)
        # The compiler's fake tensors say that they are on the device; their storage is on meta.
        and value.untyped_storage().device.type == kind
    )


def address_of(storage: torch.UntypedStorage) -> int:
    """Return the address by which a storage's memory is recorded."""
    try:
        return storage.data_ptr()
    except RuntimeError:
        return int(storage._cdata)  # memory without an address: the object's own stands for it


def _size(storage: torch.UntypedStorage) -> int:
    try:
        return storage.nbytes()
    except RuntimeError:
        return 0  # a placeholder that has no memory (yet)


def _stack(cpp: bool) -> Any:
    """Return the calling thread's stack as torch captures it; None where torch cannot."""
    with relying_on("torch._C._profiler", "What is recorded of memory has no stacks"):
        return torch._C._profiler.gather_traceback(True, True, cpp and _unwinds())
    return None


@cache
def _unwinds() -> bool:
    """Tell whether torch can unwind C++'s stack on this system."""
    try:
        torch._C._profiler.gather_traceback(False, False, True)
    except RuntimeError:
        return False
    return True


def _looked_up(stacks: Sequence[Any]) -> list[Frames]:
    """Return the frames of each stack, the innermost first, without those of the recording itself."""
    if shutil.which("addr2line") is None:
        os.environ.setdefault("TORCH_SYMBOLIZE_MODE", "dladdr")  # names without lines
    with relying_on("torch._C._profiler", "What is recorded of memory has no stacks"):
        found = torch._C._profiler.symbolize_tracebacks(list(stacks))
        return [_without_recording(frames) for frames in found]
    return [[] for _ in stacks]


_OURS = tuple(
    os.path.join(os.path.dirname(os.path.abspath(file)), "")
    for file in (tdev_core.__file__, getattr(sys.modules.get("tdev"), "__file__", None))
    if file
)
_BETWEEN = (
    weakref.__file__,
    *(
        os.path.join(os.path.dirname(torch.__file__), *name)
        for name in (
            ("_compile.py",),
            ("_dynamo", "eval_frame.py"),
            ("_ops.py",),
            ("utils", "_python_dispatch.py"),
        )
    ),
)
"""Files whose functions stand innermost only because the recording looks at operators in Python."""


def _without_recording(frames: Frames) -> Frames:
    """Leave out tdev's frames, and what torch needs to call them: the first is then what a build for CUDA has there.

    ``empty_cache`` stays, in torch's place.
    """
    found: Frames = []
    recording = True
    for frame in frames:
        file = frame["filename"]
        if file.startswith(_OURS):
            recording = True
            if frame["name"] == "empty_cache":
                found = [frame]
            continue
        if recording:
            # Text that is in no file has a name like "<string>", and a notebook's cell one like "<ipython-input-1-…>".
            is_programs = file.endswith(".py") and file not in _BETWEEN or file.startswith("<")
            recording = not is_programs and not frame["name"].startswith("at::")
        if not recording:
            found.append(frame)
    return found


def emptied() -> None:
    """Tell that what is free has been given back to the system."""
    with _lock:
        if _current is not None and _current.live:
            _current.emptied()


_current: _History | None = None
_watcher: _Watcher | None = None


def record(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: Any = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: list[str] | None = None,
) -> None:
    """Switch the recording on or off, for operators of the calling thread.

    Args:
        enabled: None switches it off and forgets the events; ``"state"`` keeps stacks of live storages, and of the events the
            last; ``"all"`` keeps what was made and freed.
        context: None keeps no stacks; ``"state"`` those of live storages, ``"alloc"`` those of events too, and
            ``"all"`` also where memory was freed, which else has the stack that made it.
        stacks: ``"python"`` for Python and TorchScript, ``"all"`` for C++ too, where torch can unwind it.
        max_entries: how many events are kept, the latest.
        device: accepted; torch does nothing with it either.
        clear_history: whether to forget what was recorded before.
        compile_context, global_record_annotations: accepted; events have no field for what they add.
        skip_actions: actions of events that are not kept, of ``alloc``, ``free_requested``, ``free_completed`` and
            those that only CUDA's allocator knows.

    Raises:
        ValueError: an unknown ``enabled``, ``context``, ``stacks`` or action.
    """
    global _current, _watcher
    if enabled not in (None, "state", "all"):
        raise ValueError(f"enabled must be None, 'state' or 'all', got {enabled!r}")
    if context not in _CONTEXTS:
        raise ValueError(f"context must be None, 'state', 'alloc' or 'all', got {context!r}")
    if stacks not in ("python", "all"):
        raise ValueError(f"stacks must be 'python' or 'all', got {stacks!r}")
    skipped = frozenset(skip_actions or ())
    if not skipped <= _ACTIONS:
        raise ValueError(f"unknown action to skip: {', '.join(sorted(skipped - _ACTIONS))}")
    if _current is not None:
        _current.live = False
    if _watcher is not None:
        stack = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
        if stack and stack[-1] is _watcher:
            _watcher.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        _watcher = None  # one below other modes stays where it is, and sees nothing any more
    if enabled is None:
        if _current is not None:
            _current.traces.clear()  # as ``recordHistory`` of CUDA's allocator does
            _current.free.clear()
        return
    before = _current
    kept = max_entries if enabled == "all" else 1  # as ``memory_snapshot.cpp`` of torch has it
    _current = _History(kept, context, stacks == "all", skipped)
    if before is not None and not clear_history:
        _current.traces.extend(before.traces)
        _current.free.extend(before.free)
    _watcher = _Watcher(_current)
    _watcher.__enter__()  # type: ignore[no-untyped-call]


def _segment(storage: torch.UntypedStorage, stack: Any, index: int) -> dict[str, Any]:
    size, address = storage.nbytes(), address_of(storage)
    block = {
        "address": address,
        "size": size,
        "requested_size": size,
        "state": "active_allocated",
        "frames": stack,
    }
    return {
        "device": index,
        "address": address,
        "total_size": size,
        "allocated_size": size,
        "active_size": size,
        "requested_size": size,
        "stream": 0,
        "segment_type": "large" if size > _SMALL else "small",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": stack,
        "blocks": [block],
    }


def segments(mempool_id: Any = None, include_traces: bool = True) -> list[dict[str, Any]]:
    """List the storages on the active device, largest first. A pool of its own holds none.

    ``include_traces`` is accepted: these are segments, and the traces that torch adds are in :func:`snapshot`.
    """
    return cast(list[dict[str, Any]], _resolved(_segments(mempool_id)))


def _segments(mempool_id: Any = None) -> list[dict[str, Any]]:
    if mempool_id is not None and tuple(mempool_id) != (0, 0):
        return []
    kind = device_type()
    found: dict[int, dict[str, Any]] = {}
    for value in gc.get_objects():
        # type(), not isinstance(): the heap holds proxies that run code when they are asked.
        if not issubclass(type(value), torch.Tensor) or not counts(value, kind):
            continue
        storage = value.untyped_storage()
        if _size(storage) == 0 or storage._cdata in found:
            continue
        stack = _held.get(storage._cdata)
        found[storage._cdata] = _segment(storage, stack, value.device.index or 0)
    return sorted(found.values(), key=lambda segment: -int(segment["total_size"]))


def _with_frames(found: Any, frames: dict[int, Frames]) -> Any:
    """Copy a part of a snapshot, with each stack's frames in its place."""
    if isinstance(found, list):
        return [_with_frames(one, frames) for one in found]
    if not isinstance(found, dict):
        return found
    return {
        key: frames.get(id(value), []) if key == "frames" else _with_frames(value, frames)
        for key, value in found.items()
    }


def _stacks(found: Any) -> dict[int, Any]:
    """Find the stacks in a part of a snapshot, by identity: one stands at several events."""
    if isinstance(found, list):
        return {key: stack for one in found for key, stack in _stacks(one).items()}
    if not isinstance(found, dict):
        return {}
    stack = found.get("frames")
    inner = {} if stack is None else {id(stack): stack}
    return {**inner, **_stacks(found.get("blocks"))}


def _resolved(found: Any) -> Any:
    """Look up all stacks in a part of a snapshot at once."""
    stacks = _stacks(found)
    return _with_frames(found, dict(zip(stacks, _looked_up([*stacks.values()]), strict=True)))


def snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """Return segments and the recorded events, as ``torch.cuda.memory._snapshot`` gives them.

    Args:
        device: accepted; torch does nothing with it either.
        augment_with_fx_traces: whether frames of code that torch.fx has made say where it comes from.
    """
    traces = list(_current.traces) if _current is not None else []
    live, events = _resolved([_segments(), traces])
    found: Any = {
        "segments": live,
        "device_traces": [events],
        "external_annotations": [],
        "allocator_settings": {},
    }
    if augment_with_fx_traces:
        found = torch._utils._augment_memory_snapshot_stack_traces(found)
    return cast(dict[str, Any], found)


def raw_snapshot(mempool_id: Any = None) -> dict[str, Any]:
    """Return :func:`snapshot` (``torch._C._cuda_memorySnapshot``); of one pool of memory, where one is named."""
    return {**snapshot(), "segments": segments(mempool_id)}


def dump(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Write :func:`snapshot` to a file that torch's memory viewer opens."""
    with open(filename, "wb") as file:
        pickle.dump(snapshot(augment_with_fx_traces=augment_with_fx_traces), file)


def save_segment_usage(filename: str = "output.svg", snapshot: Any = None) -> None:
    """Draw the blocks of each segment as a flame graph; torch fetches the script that draws it, once."""
    _draw(filename, snapshot, _memory_viz.segments)


def save_memory_usage(filename: str = "output.svg", snapshot: Any = None) -> None:
    """Draw what is held as a flame graph of the stacks that made it; torch fetches the script that draws it, once."""
    _draw(filename, snapshot, _memory_viz.memory)


def _draw(filename: str, found: Any, picture: Callable[[Any], str]) -> None:
    with open(filename, "w") as file:
        file.write(picture(snapshot() if found is None else found))
