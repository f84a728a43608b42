"""Memory snapshots and their history, in the form that torch's memory viewer reads.

There is no caching allocator whose segments could be listed. A snapshot lists each storage on the active
device as a segment of one block: those that Python objects hold, and, from the moment recording is
switched on, every storage that an operator of the recording thread makes, with the Python stack that
made it and the moment it went.

Source: ``torch.cuda.memory._record_memory_history`` and ``_snapshot`` for names and structure.
"""

from __future__ import annotations

import collections
import gc
import pickle
import sys
import threading
import time
import weakref
from types import FrameType
from typing import Any, cast

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from tdev_core.backend import device_type

__all__ = ["dump", "record", "segments", "snapshot"]

_SMALL = 1 << 20  # CUDA's boundary between its small and large pools

_ACTIONS = {"alloc", "free_requested", "free_completed"}
_ACTIONS |= {"segment_alloc", "segment_free", "oom", "snapshot"}  # of CUDA's allocator

Frames = list[dict[str, Any]]


class _History:
    """Holds what was recorded. Sizes are bytes, times microseconds since the epoch."""

    def __init__(
        self, max_entries: int, traces: bool, stacks: bool, skipped: frozenset[str]
    ) -> None:
        self.lock = threading.RLock()
        self.frames: dict[int, Frames] = {}  # by storage, for those alive
        self.traces: collections.deque[dict[str, Any]] = collections.deque(
            maxlen=min(max_entries, sys.maxsize)
        )
        self.keep_traces = traces
        self.keep_stacks = stacks
        self.skipped = skipped
        self.live = True

    def made(self, storage: torch.UntypedStorage, frames: Frames) -> None:
        key, size, address = storage._cdata, storage.nbytes(), _address(storage)
        with self.lock:
            if key in self.frames:
                return
            self.frames[key] = frames
            self._trace("alloc", address, size, frames)
        weakref.finalize(storage, self.gone, key, address, size).atexit = False

    def gone(self, key: int, address: int, size: int) -> None:
        with self.lock:
            self.frames.pop(key, None)
            if self.live:
                self._trace("free_requested", address, size, [])
                self._trace("free_completed", address, size, [])

    def _trace(self, action: str, address: int, size: int, frames: Frames) -> None:
        if self.keep_traces and action not in self.skipped:
            self.traces.append(
                {
                    "action": action,
                    "addr": address,
                    "size": size,
                    "stream": 0,
                    "frames": frames,
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
            frames: Frames | None = None
            for leaf in pytree.tree_leaves(result):
                if _counts(leaf, kind):
                    if frames is None:
                        frames = _frames(sys._getframe(1)) if self.history.keep_stacks else []
                    self.history.made(leaf.untyped_storage(), frames)
        return result


def _counts(value: Any, kind: str) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.layout is torch.strided
        and value.device.type == kind
        and not torch._C._functorch.is_functorch_wrapped_tensor(value)
        # The compiler's fake tensors say that they are on the device; their storage is on meta.
        and value.untyped_storage().device.type == kind
    )


def _address(storage: torch.UntypedStorage) -> int:
    try:
        return storage.data_ptr()
    except RuntimeError:
        return int(storage._cdata)  # memory without an address: the object's own stands for it


def _size(storage: torch.UntypedStorage) -> int:
    try:
        return storage.nbytes()
    except RuntimeError:
        return 0  # a placeholder that has no memory (yet)


_BETWEEN = frozenset(
    {"torch._compile", "torch._dynamo.eval_frame", "torch._ops", "torch.utils._python_dispatch"}
)
"""Modules of torch that stand innermost only because the recording looks at operators in Python."""


def _frames(frame: FrameType | None) -> Frames:
    """List the stack from ``frame`` outwards, without tdev's own frames: the first is what a build for CUDA has there."""
    found: Frames = []
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        ours = module.partition(".")[0] in ("tdev", "tdev_core")
        if not ours and (found or module not in _BETWEEN):
            found.append(
                {
                    "filename": frame.f_code.co_filename,
                    "line": frame.f_lineno,
                    "name": frame.f_code.co_name,
                }
            )
        frame = frame.f_back
    return found


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
        enabled: None switches it off; ``"state"`` keeps stacks of live storages only; ``"all"`` also
            keeps what was made and freed.
        context: None keeps no stacks.
        stacks: ``"python"`` or ``"all"``, which is the same here: only Python's stack is known.
        max_entries: how many events are kept, the latest.
        device: accepted; torch does nothing with it either.
        clear_history: whether to forget what was recorded before.
        compile_context, global_record_annotations: accepted; events have no field for what they add.
        skip_actions: actions of events that are not kept, of ``alloc``, ``free_requested``, ``free_completed`` and
            those that only CUDA's allocator knows.

    Raises:
        ValueError: an unknown ``enabled``, ``stacks`` or action.
    """
    global _current, _watcher
    if enabled not in (None, "state", "all"):
        raise ValueError(f"enabled must be None, 'state' or 'all', got {enabled!r}")
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
        if clear_history:
            _current = None
        return
    before = _current
    _current = _History(max_entries, enabled == "all", context is not None, skipped)
    if before is not None and not clear_history:
        _current.traces.extend(before.traces)
    _watcher = _Watcher(_current)
    _watcher.__enter__()  # type: ignore[no-untyped-call]


def _segment(storage: torch.UntypedStorage, frames: Frames, index: int) -> dict[str, Any]:
    size, address = storage.nbytes(), _address(storage)
    block = {
        "address": address,
        "size": size,
        "requested_size": size,
        "state": "active_allocated",
        "frames": frames,
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
        "frames": frames,
        "blocks": [block],
    }


def segments(mempool_id: Any = None, include_traces: bool = True) -> list[dict[str, Any]]:
    """List the storages on the active device, largest first. A pool of its own holds none.

    ``include_traces`` is accepted: these are segments, and the traces that torch adds are in :func:`snapshot`.
    """
    if mempool_id is not None and tuple(mempool_id) != (0, 0):
        return []
    kind = device_type()
    found: dict[int, dict[str, Any]] = {}
    for value in gc.get_objects():
        # type(), not isinstance(): the heap holds proxies that run code when they are asked.
        if not issubclass(type(value), torch.Tensor) or not _counts(value, kind):
            continue
        storage = value.untyped_storage()
        if _size(storage) == 0 or storage._cdata in found:
            continue
        frames = _current.frames.get(storage._cdata, []) if _current is not None else []
        index = value.device.index or 0
        found[storage._cdata] = _segment(storage, frames, index)
    return sorted(found.values(), key=lambda segment: -int(segment["total_size"]))


def snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """Return segments and the recorded events, as ``torch.cuda.memory._snapshot`` gives them.

    Args:
        device: accepted; torch does nothing with it either.
        augment_with_fx_traces: whether frames of code that torch.fx has made say where it comes from.
    """
    traces = list(_current.traces) if _current is not None else []
    found: Any = {
        "segments": segments(),
        "device_traces": [traces],
        "external_annotations": [],
        "allocator_settings": {},
    }
    if augment_with_fx_traces:
        found = torch._utils._augment_memory_snapshot_stack_traces(found)
    return cast(dict[str, Any], found)


def dump(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Write :func:`snapshot` to a file that torch's memory viewer opens."""
    with open(filename, "wb") as file:
        pickle.dump(snapshot(augment_with_fx_traces=augment_with_fx_traces), file)
