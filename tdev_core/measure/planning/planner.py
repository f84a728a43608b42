"""Plans a program: runs one rank of it, without numbers and without the others, for a few steps of its optimizers."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.modules import module as nn_module
from torch.optim import optimizer as optim
from torch.utils._pytree import tree_leaves

from tdev_core.accelerators.privateuse.process_group import telling
from tdev_core.backend import Backend, current
from tdev_core.errors import UnsupportedError
from tdev_core.measure.places import site_of_program
from tdev_core.measure.planning.footprint import Footprint
from tdev_core.measure.planning.shapes import OnPaper, formatted
from tdev_core.measure.planning.traffic import Collective, Traffic
from tdev_core.measure.planning.world import alone, variables

__all__ = ["VARIABLE", "Plan", "Task", "begin", "plan"]

VARIABLE = "TDEV_PLAN"
"""The variable of the environment that has a program be planned."""


@dataclass(frozen=True)
class Task:
    """A task to plan: ``rank`` of ``world`` ranks, ``per_node`` on a node, for ``steps`` steps; the answer goes to ``file``."""

    world: int
    rank: int = 0
    per_node: int = 8
    steps: int = 2
    file: str = ""

    def text(self) -> str:
        """Return it for :data:`VARIABLE`."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Plan:
    """The needs of one rank.

    Attributes:
        world: ranks.
        rank: the one that was run.
        steps: steps of an optimizer that it took.
        held: bytes on the device after the last step, by kind.
        peak: the same when their sum was largest.
        peak_site: where the program was then, ``file:line``; empty in a backward pass, which runs on autograd's thread.
        collectives: those of the last step, by what this rank sends.
        first: those up to the end of the first step, in which a program also hands out its parameters.
    """

    world: int
    rank: int
    steps: int
    held: dict[str, int]
    peak: dict[str, int]
    peak_site: str
    collectives: list[Collective]
    first: list[Collective]

    @property
    def peak_bytes(self) -> int:
        """The most bytes on the device at one time."""
        return sum(self.peak.values())

    @property
    def sent(self) -> int:
        """The bytes that this rank sends in a step."""
        return sum(one.sent for one in self.collectives)

    def text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Plan:
        """Make one of what :meth:`text` gave."""
        known = json.loads(text)
        for name in ("collectives", "first"):
            known[name] = [Collective(**one) for one in known[name]]
        return cls(**known)


class _Enough(BaseException):
    """So many steps were taken as were asked for."""


class _Program:
    """This process, as a rank that is planned."""

    def __init__(self, task: Task, ended: Callable[[], None]) -> None:
        device = "sim"
        self._task, self._ended = task, ended
        self._memory = Footprint(device, site_of_program)
        self._traffic = Traffic(task.per_node)
        self._mode = OnPaper(device, self._heard)
        self._held: dict[str, int] = {}

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        resize = torch.UntypedStorage.resize_

        def resize_(storage: torch.UntypedStorage, size: int) -> Any:
            found = resize(storage, size)
            self._memory.resized(storage)
            return found

        with contextlib.ExitStack() as stack:
            for hook in (
                nn_module.register_module_parameter_registration_hook(self._parameter),
                nn_module.register_module_buffer_registration_hook(self._buffer),
                optim.register_optimizer_step_pre_hook(self._before_step),
                optim.register_optimizer_step_post_hook(self._after_step),
            ):
                stack.callback(hook.remove)
            stack.enter_context(mock.patch.object(torch.UntypedStorage, "resize_", resize_))
            stack.enter_context(mock.patch.object(torch.utils, "swap_tensors", self._mode.swap))
            stack.enter_context(mock.patch.object(FakeTensor, "__format__", formatted, create=True))
            stack.enter_context(alone(self._task.world, self._task.rank))
            stack.enter_context(self._mode)
            yield

    def found(self) -> Plan:
        """Return what is known so far."""
        count = len(self._traffic.steps)
        if not count:
            self._traffic.step()
        steps = self._traffic.steps
        held = self._held or dict(self._memory.held)
        return Plan(
            self._task.world, self._task.rank, count, held, self._memory.peak,
            self._memory.peak_site, steps[-1], steps[0],
        )  # fmt: skip

    def _heard(self, operator: Any, given: Any, result: Any) -> Any:
        self._traffic.hear(operator, given, result)
        self._memory.made(tree_leaves(result))
        if operator.namespace != "c10d":
            return result
        outputs = [x for x in tree_leaves(given[0][0]) if isinstance(x, torch.Tensor)]
        return telling(result, outputs)

    def _parameter(self, module: nn.Module, name: str, parameter: Any) -> None:
        self._memory.are("parameters", [parameter])

    def _buffer(self, module: nn.Module, name: str, buffer: Any) -> None:
        self._memory.are("buffers", [buffer])

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        ours = [p for group in optimizer.param_groups for p in group["params"]]
        self._memory.are("parameters", ours)
        self._memory.are("gradients", [p.grad for p in ours])

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._memory.are("optimizer", tree_leaves(list(optimizer.state.values())))
        self._traffic.step()
        self._held = dict(self._memory.held)
        if len(self._traffic.steps) >= self._task.steps:
            self._ended()


def plan(
    program: Callable[[], Any], world: int, *, rank: int = 0, per_node: int = 8, steps: int = 2
) -> Plan:
    """Run a function as one rank of many, and return what it needs of memory and network.

    No number is computed, no tensor of the device takes memory, and no other process is started: what the function reads from
    the device is 0.

    Args:
        program: joins the process group, builds the model and trains it, as on CUDA.
        world: ranks; any number.
        rank: the one to run.
        per_node: ranks on a node, for :attr:`Collective.nodes`.
        steps: steps of an optimizer to end after. Optimizers have their state from the second on.

    Raises:
        UnsupportedError: this process's backend is not ``sim``; or a shape depends on numbers.
        ValueError: there is no such rank.
    """
    if not 0 <= rank < world or per_node < 1 or steps < 1:
        raise ValueError(
            f"rank {rank} of {world}, {per_node} on a node, {steps} steps: there is no such plan"
        )
    if current() is not Backend.SIM:
        raise UnsupportedError(
            f"a plan runs on simulated devices, and this process is on '{current().value}'. Instead: start it with "
            "TDEV_BACKEND=sim.",
            "TDEV105",
        )

    def ended() -> None:
        raise _Enough

    task = Task(world, rank, per_node, steps)
    planned = _Program(task, ended)
    with mock.patch.dict(os.environ, variables(world, rank, per_node)), planned.running():
        with contextlib.suppress(_Enough):
            program()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    return planned.found()


def begin() -> None:
    """Plan this process, if that is asked for; what it starts is not."""
    text = os.environ.pop(VARIABLE, "")
    if not text:
        return
    task = Task(**json.loads(text))
    pid = os.getpid()

    def write() -> None:
        if os.getpid() == pid:
            with open(task.file, "w", encoding="utf-8") as file:
                file.write(planned.found().text())

    def ended() -> None:
        write()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # what a program does at its end (a checkpoint, an evaluation) is not planned

    planned = _Program(task, ended)
    torch.compiler.set_stance("force_eager")  # a compiler has nothing to compile for
    running = contextlib.ExitStack()
    running.enter_context(planned.running())
    atexit.register(running.close)
    atexit.register(write)  # a program may end before it has taken so many steps
