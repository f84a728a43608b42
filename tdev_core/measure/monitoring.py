"""Watches a program while it trains: steps and their phases, memory, waits for the device, copies, fallbacks, compilers, errors.

A step ends where the optimizer that stepped first has stepped; when that is gone, the next one that steps is the first. Its
phases are *forward* (all that is before the backward pass: data, too), *backward* (until the optimizer begins) and *step*. Seen
are methods of tensors and torch's own hooks: what a library does in C++ on its own is not. Off it costs nothing: no hook, no
wrapper is there.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import torch
from torch.optim import optimizer as optim

from tdev_core import errors
from tdev_core.accelerator import accelerator
from tdev_core.backend import Backend, current
from tdev_core.import_hooks import when_imported
from tdev_core.measure.parts import Parts, recompiled
from tdev_core.measure.places import of_program, site_of_program
from tdev_core.measure.summaries import PHASES, Spent, Step, Summary
from tdev_core.measure.wrapping import wrap
from tdev_core.metrics import journal

__all__ = ["Monitor", "Step", "Summary", "running"]

_KEPT = 10_000
"""Steps whose own numbers are kept: the last ones."""
_SELDOM = 0.02
"""Seconds between the steps in which memory is asked for: that takes some 30 microseconds each time."""
_ERRORS = 200
_WAITING = ("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__array__")
"""Methods of a tensor on a device for which the host waits."""


class Monitor:
    """Watches from :meth:`start` to :meth:`stop`, or while the block of its ``with`` runs."""

    def __init__(self, most: int = 0) -> None:
        """Watch nothing yet; after ``most`` steps, unless it is 0, the program ends."""
        self._most = most
        self._lock = threading.Lock()
        self._steps: deque[Step] = deque(maxlen=_KEPT)
        self._ended = 0
        self._spent: dict[str, dict[str, list[float]]] = {
            kind: {} for kind in ("wait", "copy", "fallback", "fell", "load", "compile")
        }
        self._parts = Parts(lambda site: self.span("load", site))
        self._errors: Counter[tuple[str, str, str, str]] = Counter()
        # Not kept alive: with it would be its parameters, and of the folds of a validation each has its own.
        self._first: Callable[[], optim.Optimizer | None] = _no_optimizer
        self._phase = 0
        self._started = self._begun = 0.0
        self._peak = 0
        self._reads, self._read = True, 0.0
        self._now = Step(0.0)
        self._range: Any = None
        self._leaving = contextlib.ExitStack()
        self._inside = threading.local()

    def __enter__(self) -> Monitor:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop; what was raised in the block is an event too."""
        if error is not None and kind is not None:
            at = ""
            while trace is not None:  # the innermost line of the program's
                frame = trace.tb_frame
                if not errors.is_of_torch(frame):
                    at = f"{frame.f_code.co_filename}:{trace.tb_lineno}"
                trace = trace.tb_next
            code = getattr(error, "code", "")
            known = (kind.__name__, str(code), str(error).removesuffix(f" [{code}]"), at)
            if not any(one[:3] == known[:3] for one in self._errors):
                self._errors[known] += 1
        self.stop()

    # -- start and stop --------------------------------------------------------------------------

    def start(self) -> None:
        """Watch from now on; others that watch this process already go on.

        Raises:
            RuntimeError: it watches already.
        """
        if self in _running:
            raise RuntimeError("this monitor watches this process already")
        _running.append(self)
        self._first = _no_optimizer
        done = self._leaving.callback
        done(optim.register_optimizer_step_pre_hook(self._step_begins).remove)
        done(optim.register_optimizer_step_post_hook(self._step_ended).remove)
        done(wrap(torch.Tensor, "backward", self._backward))
        if current() is not Backend.CPU:  # where nothing is apart from the host
            for name in _WAITING:
                done(wrap(torch.Tensor, name, self._waiting(name)))
            for name in ("to", "cuda", "cpu", "copy_"):
                done(wrap(torch.Tensor, name, self._copying))
        for one in self._parts.start():
            done(one)
        done(errors.listen(self._error))
        when_imported(["torch._dynamo.callback"], self._watch_compiler)
        done(journal.watch(self))
        self._started = self._begun = time.perf_counter()
        self._peak = self._memory()[1]
        self._enter("forward")

    def stop(self) -> None:
        """Watch no longer; what was seen stays."""
        _leave(self._range)
        self._range = None
        self._leaving.close()
        if self in _running:
            _running.remove(self)

    # -- steps and phases ------------------------------------------------------------------------

    def _enter(self, phase: str) -> None:
        _leave(self._range)
        self._range = None
        if self._marks():
            self._range = torch.profiler.record_function(f"tdev::{phase}")
            self._range.__enter__()

    def _marks(self) -> bool:
        """Tell whether ranges go into a profiler's trace; of several monitors the first one's do."""
        return _profiled() and _running[:1] == [self]

    def _ends(self, phase: int) -> None:
        """End what was going on, and put it down to ``phase``."""
        now = time.perf_counter()
        self._now.seconds[phase] += now - self._begun
        self._begun = now
        if not self._reads:
            return
        held, peak = self._memory()
        self._now.memory[phase] = max(self._now.memory[phase], peak if peak > self._peak else held)
        self._peak = max(self._peak, peak)

    def _backward(self, plain: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
        self._ends(0)
        self._enter("backward")
        try:
            return plain(loss, *args, **kwargs)
        finally:
            self._ends(1)

    def _step_begins(self, optimizer: optim.Optimizer, *_: Any) -> None:
        if self._first() is None:
            self._first = weakref.ref(optimizer)
        self._ends(1)
        self._enter("step")

    def _step_ended(self, optimizer: optim.Optimizer, *_: Any) -> None:
        self._ends(2)
        self._enter("forward")
        if optimizer is self._first():
            self._steps.append(self._now)
            self._ended += 1
            self._reads = self._begun - self._read >= _SELDOM
            if self._reads:
                self._read = self._begun
            memory = [0] * len(PHASES) if self._reads else list(self._now.memory)
            self._now = Step(self._begun - self._started, memory=memory)
            if self._ended == self._most:
                raise SystemExit(0)

    @staticmethod
    def _memory() -> tuple[int, int]:
        """Return the bytes that tensors hold, and the most that they have held; nothing is reset, that is the program's."""
        match current():
            case Backend.CUDA:
                return torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
            case Backend.MPS:
                held = torch.mps.current_allocated_memory()
                return held, held
            case Backend.SIM | Backend.MLX | Backend.CPU:
                device = accelerator()
                return device.allocated(0), device.peak(0)

    # -- what happens on the way -----------------------------------------------------------------

    def _note(self, kind: str, name: str, seconds: float, size: int = 0) -> None:
        with self._lock:
            known = self._spent[kind].setdefault(name, [0, 0.0, 0, 0, -1])
            known[0] += 1
            known[1] += seconds
            known[2] += size
            known[3] += known[4] != self._ended  # the first time in this step
            known[4] = self._ended

    @contextlib.contextmanager
    def span(self, kind: str, name: str) -> Iterator[None]:
        """See :class:`tdev_core.metrics.journal.Watcher`."""
        begun = time.perf_counter()
        with torch.profiler.record_function(f"tdev::{kind} {name}") if self._marks() else _NOTHING:
            yield
        seconds = time.perf_counter() - begun
        self._note(kind, name, seconds)
        if kind == "fallback":
            self._note("fell", f"{site_of_program()} {name}", seconds)

    def _waiting(self, name: str) -> Callable[..., Any]:
        def waiting(plain: Any, this: Any, *args: Any, **kwargs: Any) -> Any:
            if this.device.type == "cpu" or getattr(self._inside, "on", False):
                return plain(this, *args, **kwargs)
            self._inside.on = True
            try:
                with self.span("wait", f"{site_of_program()} {name}"):
                    return plain(this, *args, **kwargs)
            finally:
                self._inside.on = False
                self._now.waits += 1

        return waiting

    def _copying(self, plain: Any, this: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(self._inside, "on", False):
            return plain(this, *args, **kwargs)
        self._inside.on = True
        begun = time.perf_counter()
        try:
            found = plain(this, *args, **kwargs)
        finally:
            self._inside.on = False
        source = args[0] if found is this and args and isinstance(args[0], torch.Tensor) else this
        if source.device.type != found.device.type:
            towards = "host" if found.device.type == "cpu" else "device"
            size = found.nbytes
            if towards == "host":
                self._now.to_host += size
            else:
                self._now.to_device += size
            self._note(
                "copy", f"{site_of_program()} to the {towards}", time.perf_counter() - begun, size
            )
        return found

    def _error(self, kind: str, code: str, message: str) -> None:
        with self._lock:
            if len(self._errors) < _ERRORS:
                self._errors[kind, code, message, site_of_program()] += 1

    def _watch_compiler(self, module: Any) -> None:
        """Time torch's compiler by its own callbacks, where this torch has them."""
        if self not in _running:
            return  # it has stopped before the compiler was there
        begun: list[float] = []

        def starts(*_: Any) -> None:
            begun.append(time.perf_counter())

        def ends(*_: Any) -> None:
            if begun:
                self._note("compile", "", time.perf_counter() - begun.pop())

        def cleared(plain: Any, handler: Any) -> None:
            plain(handler)  # `torch._dynamo.reset`, by which the program does not mean us
            module.on_compile_start(starts)
            module.on_compile_end(ends)

        try:
            handler = module.callback_handler
            module.on_compile_start(starts)
            self._leaving.callback(handler.remove_start_callback, starts)
            module.on_compile_end(ends)
            self._leaving.callback(handler.remove_end_callback, ends)
            self._leaving.callback(wrap(type(handler), "clear", cleared))
        except (AttributeError, TypeError):
            return  # of another torch; the rest is seen all the same

    # -- what was seen ---------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Return what was seen until now."""
        steps = list(self._steps)
        with self._lock:
            tables = {kind: _sorted(table) for kind, table in self._spent.items()}
            found = [
                {"kind": kind, "code": code, "message": message, "site": site, "count": count}
                for (kind, code, message, site), count in self._errors.most_common()
            ]

        def median(number: int) -> float:
            return statistics.median(one.seconds[number] for one in steps) if steps else 0.0

        def mean(name: str) -> float:
            return statistics.fmean(getattr(one, name) for one in steps) if steps else 0.0

        return Summary(
            steps=self._ended,
            seconds={phase: median(number) for number, phase in enumerate(PHASES)},
            memory={
                phase: max((one.memory[number] for one in steps), default=0)
                for number, phase in enumerate(PHASES)
            },
            to_device=mean("to_device"),
            to_host=mean("to_host"),
            waits=tables["wait"],
            copies=dict(sorted(tables["copy"].items(), key=lambda one: -one[1].bytes)),
            fallbacks=tables["fallback"],
            compiled=tables["compile"].get("", Spent()),
            errors=found,
            timeline=steps,
            breaks=_breaks(),
            loads=tables["load"],
            fell=tables["fell"],
            made=list(self._parts.found),
            recompiled=recompiled(),
            threads=torch.get_num_threads(),
        )


def _breaks() -> list[dict[str, Any]]:
    """Return the graph breaks of this process, as torch's compiler has noted them: the line, and the first of its words."""
    noted = getattr(sys.modules.get("torch._dynamo.utils"), "graph_break_reasons", ())
    counts: Counter[tuple[str, str]] = Counter()
    for one in noted:
        # Once more where dynamo's own wrapper calls the function: the frame of that is broken, and then the function's.
        if len(one.user_stack) > 1 and one.user_stack[0].filename.endswith("external_utils.py"):
            continue
        lines = [frame for frame in one.user_stack if of_program(frame.filename)]
        site = f"{lines[-1].filename}:{lines[-1].lineno}" if lines else ""
        counts[site, one.reason.partition("\n")[0]] += 1
    return [
        {"site": site, "why": why, "count": count} for (site, why), count in counts.most_common()
    ]


def _sorted(table: dict[str, list[float]]) -> dict[str, Spent]:
    rows = sorted(table.items(), key=lambda row: -row[1][1])
    return {
        name: Spent(int(count), seconds, int(size), int(steps))
        for name, (count, seconds, size, steps, _) in rows
    }


def _no_optimizer() -> None:
    """Return the first optimizer, before any has stepped."""


def _leave(block: Any) -> None:
    if block is not None:
        block.__exit__(None, None, None)


_NOTHING: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()


def _profiled() -> bool:
    """Tell whether a profiler records: a range that nobody records takes some microseconds all the same."""
    return bool(getattr(torch.autograd.profiler, "_is_profiler_enabled", True))


_running: list[Monitor] = []


def running() -> Monitor | None:
    """Return the monitor that watches this process, if there is one; of several the one that began first."""
    return _running[0] if _running else None


def callback(framework: str) -> Any:
    """Return a callback that watches a trainer's run: ``lightning``'s or ``transformers``'.

    Its ``monitor`` is the :class:`Monitor`; ``print(callback.monitor.summary())`` shows what it has seen.

    Raises:
        ValueError: there is none for such a framework.
        ImportError: it is not installed.
    """
    if framework == "lightning":
        try:
            from lightning.pytorch import Callback as Base
        except ImportError:
            from pytorch_lightning import Callback as Base
        begins, ends = "on_fit_start", "on_fit_end"
    elif framework == "transformers":
        from transformers import TrainerCallback as Base

        begins, ends = "on_train_begin", "on_train_end"
    else:
        raise ValueError(
            f"{framework!r}: no such framework; there are 'lightning' and 'transformers'"
        )
    monitor = Monitor()

    def begin(self: Any, *_: Any, **__: Any) -> None:
        before = _trainers.get(framework)
        if before is not None and before in _running:
            before.stop()  # its trainer has raised, of which transformers tells no callback
        _trainers[framework] = monitor
        monitor.start()

    def end(self: Any, *_: Any, **__: Any) -> None:
        monitor.stop()

    def fails(self: Any, trainer: Any, module: Any, exception: BaseException) -> None:
        monitor.__exit__(type(exception), exception, exception.__traceback__)

    methods = {begins: begin, ends: end, "on_exception": fails, "monitor": monitor}
    return type("TdevMonitor", (Base,), methods)()


_trainers: dict[str, Monitor] = {}
"""Of each framework, the monitor of the callback that has begun last."""
