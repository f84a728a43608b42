"""Writes down what a program computes, as digests; gives a second run the random numbers of the first.

A recording is a folder. Each process of the program, and each thread of it that computes, has a file of JSON lines in it: one for each
call of a torch function, for each operator inside it or its gradient, and for each parameter that an optimizer has changed. What the program calls
is the same on every backend; what a call is made of need not be. A run that is compared with another takes that one's
draws instead of its own, so that dropout, shuffles and initial weights are the same on devices whose generators differ.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import torch
from torch._ops import OpOverload
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map_only

from tdev_core.measure import draws, ways
from tdev_core.measure.compiled_graphs import Graphs, Ran
from tdev_core.measure.digests import digest
from tdev_core.measure.places import Key, Place, Places, short, site_of_program
from tdev_core.measure.tensors import kept, tensors
from tdev_core.measure.wish import VARIABLE, Wish, mark
from tdev_core.measure.wrapping import wrap

__all__ = ["Recording", "begin"]

_WITHOUT_VALUES = frozenset(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ set_ detach record_stream".split()
)
_OF_PROCESSES = ("c10d", "_c10d_functional")
"""Namespaces of operators in which processes talk to each other: when such a one returns, its result is not there yet."""
_WITHOUT_VALUES_YET = frozenset({"torch.empty", "torch.empty_like", "torch.Tensor.new_empty"})


class Recording:
    """Records what the thread that has entered it computes, and what its autograd does for it.

    That of the main thread has each thread that is started enter one of its own, by the name of the line that starts it.
    """

    def __init__(self, wish: Wish, thread: str = "") -> None:
        """Write nothing before the first call; ``thread`` is the name of a thread, empty for the main one."""
        self._wish = wish
        self._thread = thread
        self._started: Counter[str] = Counter()
        self._whole = frozenset(wish.whole)
        self._places = Places(self._steps, self._stepped)
        self._before_step: dict[int, torch.Tensor] = {}
        self._counts: Counter[tuple[Place, str]] = Counter()
        self._file: TextIO | None = None
        self._process = ""
        self._pid = os.getpid()
        self._computed = self._sent = 0
        self._modes: tuple[Any, ...] = (_Calls(self), _Operators(self))
        if wish.graphs:
            compiled, searches = wish.graphs == "compiled", bool(wish.whole)
            self._modes = (Graphs(compiled, searches, self._ran, self._entered),)
        self._ends: list[Callable[[], None]] = []

    def __enter__(self) -> Recording:
        """Begin; that of the main thread with the seeds that every recording begins with."""
        if self._thread:
            _of_thread.recording = self
        else:
            self._begin()
        for mode in self._modes:
            mode.__enter__()
        return self

    def _begin(self) -> None:
        random.seed(0)
        torch.manual_seed(0)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(0)
        # A thread of autograd's, which recomputes a checkpoint, is the main one's.
        self._places.start(
            not self._wish.graphs, lambda: getattr(_of_thread, "recording", self)._places
        )
        if self._wish.autocast:
            dtype = getattr(torch, self._wish.autocast)
            self._ends.append(ways.around_models(ways.in_autocast(dtype)))
        if not self._wish.graphs:
            self._ends.append(wrap(threading.Thread, "start", self._starts))

    def _starts(self, plain: Callable[..., Any], thread: threading.Thread) -> None:
        """Start a thread, which records what it computes; a device's own have no line of the program's."""
        site = short(Place(0, "", site_of_program(), "", "", 0)).site
        if site and os.getpid() == self._pid:
            name = re.sub(r"[^\w.]+", "-", site)
            number, self._started[name] = self._started[name], self._started[name] + 1
            run = thread.run

            def recorded() -> None:
                with Recording(self._wish, f"{name}-{number}"):
                    run()

            vars(thread)["run"] = recorded
        plain(thread)

    def __exit__(self, *exc_info: object) -> None:
        """End, and close the file."""
        for mode in reversed(self._modes):
            mode.__exit__(None, None, None)
        for end in self._ends:
            end()
        self._places.stop()
        if self._file is not None:
            self._file.close()
            self._file = None

    def looks_away(self) -> bool:
        """Tell whether what runs now is not recorded: in a fork, or inside of an optimizer."""
        return os.getpid() != self._pid or self._places.optimizers > 0

    # -- calls -----------------------------------------------------------------------------------

    def called(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a function of torch's that the program, or a module, has called."""
        name = _name(func)
        if self.looks_away() or name.endswith(("__get__", "__set__", ".backward")):
            return func(*args, **kwargs)
        self._end_in_time()
        place = short(self._places.call(name))
        key = (place, "", 0)
        begun, sent, function = self._computed, self._sent, draws.in_parts(name) or func
        before, whole = self._before(key, args, kwargs)
        result = function(*args, **kwargs)
        if self._computed == begun or self._sent > sent or name in _WITHOUT_VALUES_YET:
            return result
        self._after(
            key, name, function, (args, kwargs), result, before, whole, draws.only_draws(name)
        )
        return result

    def _end_in_time(self) -> None:
        if 0 < self._wish.steps <= self._places.step:
            raise SystemExit(0)

    # -- operators -------------------------------------------------------------------------------

    def computed(self, func: OpOverload, args: Any, kwargs: Any) -> Any:
        """Run an operator, of a call or of its gradient."""
        if func.namespace in _OF_PROCESSES:
            self._sent += 1
            return func(*args, **kwargs)
        if self.looks_away() or _gives_nothing_new(func):
            return func(*args, **kwargs)
        self._computed += 1
        place = short(self._places.now())
        base = func._schema.name.removeprefix("aten::")
        key = (place, base, self._counts[place, base])
        self._counts[place, base] += 1
        before, whole = self._before(key, args, kwargs)
        result = (ways.fallen_back if self._wish.fallbacks else _plainly)(func, args, kwargs)
        if draws.only_draws(place.function):
            return result  # the call has what the reference has drawn, and is what counts
        drawn = torch.Tag.nondeterministic_seeded in func.tags
        self._after(key, str(func), func, (args, kwargs), result, before, whole, drawn)
        return result

    # -- graphs ----------------------------------------------------------------------------------

    def _entered(self, model: torch.nn.Module) -> None:
        self._end_in_time()
        self._places.root(model)

    def _ran(self, one: Ran) -> None:
        """Write down what an operator of a graph has given."""
        if self.looks_away():
            return
        with _unseen():
            site = short(Place(self._places.step, one.phase, one.site, one.module, one.function, 0))
            key = (site, one.operator, self._counts[site, one.operator])
            self._counts[site, one.operator] += 1
            # Without what went in: that the graph's kernels round elsewhere is what is asked for.
            self._write(key, one.name, [], [one.found])
            if mark(self._me(), key) in self._whole:
                inside = one.inside()
                self._keep(key, [], [one.found], None, inside=_told(inside))

    # -- what both do before and after -----------------------------------------------------------

    def _before(self, key: Key, args: Any, kwargs: Any) -> tuple[list[Any], list[Any] | None]:
        with _unseen():
            given = tensors((args, kwargs))
            asked = bool(self._whole) and mark(self._me(), key) in self._whole
            read = given[_overwrites(key[1] or key[0].function) :]
            read = [one for one in read if one is not kwargs.get("out")]
            return [digest(one) for one in read], [kept(one) for one in given] if asked else None

    def _after(
        self,
        key: Key,
        name: str,
        function: Callable[..., Any],
        call: tuple[Any, Any],
        result: Any,
        before: list[Any],
        whole: list[Any] | None,
        drawn: bool,
    ) -> None:
        with _unseen():
            if drawn:
                self._drawn(key[0], key[1], call[0], result)
            found = _found(result)
            if not found and isinstance(function, OpOverload):
                found = _written(function, *call)
            self._write(key, name, before, found)
            if whole is not None:
                self._keep(key, whole, found, None if drawn else self._again(key, function, *call))

    # -- optimizers ------------------------------------------------------------------------------

    def _steps(self, parameters: Iterable[torch.Tensor]) -> None:
        if not self._is_wrapped():
            with _unseen():
                self._before_step = {id(one): kept(one) for one in parameters}

    def _stepped(self, parameters: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Write down by how much each parameter has changed: a step is small beside it."""
        if self._is_wrapped():
            return
        self._counts.clear()  # of places that are of this step
        with _unseen():
            for name, parameter in parameters:
                key = (Place(self._places.step, "optimizer", "", name, "step", 0), "", 0)
                before = self._before_step.pop(id(parameter), None)
                if before is None or parameter.grad is None:
                    continue
                # What is adaptive takes a whole step by a gradient that is rounding alone: its sign tells.
                given = [before, kept(parameter.grad), kept(parameter.grad.sign())]
                update = kept(parameter) - before
                self._write(key, "step", [digest(one) for one in given], [update])
                if mark(self._me(), key) in self._whole:
                    self._keep(key, given, [update], None)

    def _is_wrapped(self) -> bool:
        """Tell whether an optimizer steps inside of another, whose step is what counts."""
        return os.getpid() != self._pid or self._places.optimizers > 1

    # -- files -----------------------------------------------------------------------------------

    def _me(self) -> str:
        thread = f"-thread-{self._thread}" if self._thread else ""
        self._process = self._process or _process() + thread
        return self._process

    def _write(self, key: Key, name: str, given: list[Any], found: list[torch.Tensor]) -> None:
        if self._file is None:
            path = Path(self._wish.folder, f"{self._me()}.jsonl")
            # By lines: a process may be killed, or end where nothing is called any more.
            self._file = open(path, "w", encoding="utf-8", buffering=1)
        sides = [
            [one.packed() for one in side if one is not None]
            for side in (given, map(digest, found))
        ]
        self._file.write(json.dumps([key, name, *sides]) + "\n")

    def _keep(
        self,
        key: Key,
        given: list[torch.Tensor],
        found: list[torch.Tensor],
        again: Any,
        inside: str = "",
    ) -> None:
        body = {
            "given": given,
            "found": [kept(one) for one in found],
            "again": again,
            "inside": inside,
        }
        torch.save(body, Path(self._wish.folder, f"{mark(self._me(), key)}.whole"))

    def _drawn(self, place: Place, operator: str, args: Any, result: Any) -> None:
        """Keep what was drawn, or put what the reference has drawn there in its place.

        Draws of a call are told by their order: one device draws a mask, another drops out in one operator.
        """
        key = (place, "draw", self._counts[place, "draw"])
        self._counts[place, "draw"] += 1
        name = f"{mark(self._me(), key)}.draw"
        if self._wish.reference is None:
            mine = [kept(one) for one in draws.drawn(operator, result)]
            torch.save(mine, Path(self._wish.folder, name))
            return
        path = Path(self._wish.reference, name)
        if path.exists():
            draws.given_again(operator, args, result, torch.load(path, weights_only=True))

    def _again(
        self, key: Key, function: Callable[..., Any], args: Any, kwargs: Any
    ) -> list[torch.Tensor] | None:
        """Return what a function makes of what the reference gave it."""
        if self._wish.reference is None:
            return None
        path = Path(self._wish.reference, f"{mark(self._me(), key)}.whole")
        if not path.exists():
            return None
        theirs = iter(torch.load(path, weights_only=True)["given"])

        def moved(one: torch.Tensor) -> torch.Tensor:
            return next(theirs, one).to(one.device, copy=True)

        mine, named = tree_map_only(torch.Tensor, moved, (args, kwargs))
        return [kept(one) for one in _found(function(*mine, **named))]


class _Calls(TorchFunctionMode):
    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._recording.called(func, args, kwargs or {})


class _Operators(TorchDispatchMode):
    def __init__(self, recording: Recording) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's, which is not annotated
        self._recording = recording

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._recording.computed(func, args, kwargs or {})


@contextlib.contextmanager
def _unseen() -> Iterator[None]:
    """Compute what no recording has, and no graph."""
    with torch.no_grad(), torch._C.DisableTorchFunction(), _disable_current_modes():
        yield


def _told(one: Ran | None) -> str:
    """Return an operator inside of a graph in words, without what differs between machines."""
    if one is None:
        return ""
    site = short(Place(0, one.phase, one.site, one.module, one.function, 0)).site
    return ", ".join(
        filter(None, (f"{one.operator} of {one.function or 'no call'} in {site}", one.module))
    )


def _plainly(func: OpOverload, args: Any, kwargs: Any) -> Any:
    return func(*args, **kwargs)


def _name(func: Callable[..., Any]) -> str:
    return (
        resolve_name(func) or f"{getattr(func, '__module__', '')}.{getattr(func, '__name__', func)}"
    )


def _gives_nothing_new(func: OpOverload) -> bool:
    """Tell whether an operator computes nothing: it makes a view, or memory without values."""
    base = func._schema.name.removeprefix("aten::")
    returns = func._schema.returns
    return base in _WITHOUT_VALUES or (
        bool(returns)
        and all(one.alias_info is not None and not one.alias_info.is_write for one in returns)
    )


def _found(result: Any) -> list[torch.Tensor]:
    if isinstance(result, (bool, int, float)):
        return [torch.tensor(result, dtype=torch.float64)]
    return tensors(result)


def _written(func: OpOverload, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """Return the tensors that an operator writes to."""
    arguments = func._schema.arguments
    given = {**dict(zip((one.name for one in arguments), args, strict=False)), **kwargs}
    return tensors([given.get(one.name) for one in arguments if one.is_write])


def _process() -> str:
    """Return a name for this process that the same process of another run has, too."""
    identity = ".".join(map(str, multiprocessing.current_process()._identity)) or "main"
    rank = os.environ.get("RANK", "0")
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        rank = str(torch.distributed.get_rank())
    return f"{identity}-rank{rank}"


_of_thread = threading.local()
"""``recording``: that of the thread, unless it is the main one's."""
_here: Recording | None = None


def begin() -> None:
    """Record this process from now on, if :data:`VARIABLE` says so."""
    global _here
    text = os.environ.get(VARIABLE)
    if text and _here is None:
        _here = Recording(Wish.of(text))
        _here.__enter__()


_OVERWRITING = frozenset(
    "copy_ fill_ zero_ uniform_ normal_ random_ bernoulli_ exponential_ geometric_ log_normal_ cauchy_".split()
)


def _overwrites(name: str) -> bool:
    """Tell whether a function writes its first tensor and reads nothing of it: what was there says nothing of the result."""
    return name.startswith("torch.nn.init.") or name.rpartition(".")[2] in _OVERWRITING
