"""Says where in a program something is computed: which step, which phase, which line, which module, which call."""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.modules import module as nn_module
from torch.optim import optimizer as optim

from tdev_core.errors import is_of_torch

__all__ = ["Key", "Place", "Places", "of_program", "short", "site_of_program"]


class Place(NamedTuple):
    """A call of the program's, or the gradient of one.

    Attributes:
        step: how many steps of optimizers have ended.
        phase: ``forward``, ``backward`` or ``optimizer``.
        site: ``file:line``; in the backward phase that of the forward call.
        module: the innermost module that runs, as its root's class and the path below it.
        function: torch's name of what is called, or of a parameter that an optimizer has changed.
        number: how many calls of it there were at this place in this step.
    """

    step: int
    phase: str
    site: str
    module: str
    function: str
    number: int


Key = tuple[Place, str, int]
"""A place, an operator in it (none: the call as a whole), and how many of the operator came before."""

_NOWHERE = ("", "", "", 0)


class Places:
    """Follows the calls, the modules and the optimizers of the thread that records.

    A backward operator stands where the forward call stood whose gradient it computes: both know the number that autograd
    gave the node.
    """

    def __init__(
        self,
        steps: Callable[[Iterable[torch.Tensor]], None],
        stepped: Callable[[Iterable[tuple[str, torch.Tensor]]], None],
    ) -> None:
        """Begin before the first step; hear of nothing until :meth:`start`.

        ``steps`` is told of each step that begins, with the parameters of its optimizer, ``stepped`` of each that has
        ended, with their names, too.
        """
        self.step = 0
        self.optimizers = 0
        self._steps, self._stepped = steps, stepped
        self._modules: list[str] = []
        self._root: nn.Module | None = None
        self._names: dict[int, str] = {}
        self._parameters: dict[int, str] = {}
        self._calls: Counter[tuple[str, str, str]] = Counter()
        self._call = _NOWHERE
        self._of_nodes: dict[int, tuple[str, str, str, int]] = {}
        self._hooks: list[Any] = []

    def start(self, modules: bool = True, here: Callable[[], Places] | None = None) -> None:
        """Hear of optimizers from now on, and of modules, which costs a hook in each module's call.

        ``here`` gives the places of the thread that calls: torch's hooks hear of every thread.
        """
        of = here or (lambda: self)
        self._hooks = [
            optim.register_optimizer_step_pre_hook(lambda *call: of()._step_begins(*call)),
            optim.register_optimizer_step_post_hook(lambda *call: of()._step_ends(*call)),
        ]
        if modules:
            self._hooks += [
                nn_module.register_module_forward_pre_hook(lambda *call: of()._enter(*call)),
                nn_module.register_module_forward_hook(
                    lambda *call: of()._leave(*call), always_call=True
                ),
            ]

    def stop(self) -> None:
        """Hear of nothing more."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def call(self, function: str) -> Place:
        """Return the place of a call that begins; what :meth:`now` says until the next one."""
        at = site_of_program(), self._modules[-1] if self._modules else "", function
        self._call = (*at, self._calls[at])
        self._calls[at] += 1
        return Place(self.step, "forward", *self._call)

    def now(self) -> Place:
        """Return the place of the operator that runs."""
        node = torch._C._current_autograd_node()
        if node is not None:
            known = self._of_nodes.get(node._sequence_nr(), _NOWHERE)
            return Place(self.step, "backward", *known)
        if torch.is_grad_enabled():
            # This operator's node was given the number before the next one's; what makes none comes after one that has.
            self._of_nodes.setdefault(torch.autograd._get_sequence_nr() - 1, self._call)
        return Place(self.step, "forward", *self._call)

    # -- hooks ---------------------------------------------------------------------------------

    def root(self, module: nn.Module) -> None:
        """Take the names of modules and parameters from a model that is called."""
        if module is self._root:
            return
        self._root, top = module, type(module).__name__

        def below(name: str) -> str:
            return f"{top}.{name}" if name else top

        self._names = {id(one): below(name) for name, one in module.named_modules()}
        self._parameters |= {id(one): below(name) for name, one in module.named_parameters()}

    def _enter(self, module: nn.Module, _: Any) -> None:
        if not self._modules:
            self.root(module)
        name = self._names.get(id(module))
        self._modules.append(type(module).__name__ if name is None else name)

    def _leave(self, *_: Any) -> None:
        if self._modules:
            self._modules.pop()

    def _step_begins(self, optimizer: optim.Optimizer, *_: Any) -> None:
        self.optimizers += 1
        self._steps(_parameters(optimizer))

    def _step_ends(self, optimizer: optim.Optimizer, *_: Any) -> None:
        of_groups = _parameters(optimizer)
        names = [
            self._parameters.get(id(one), f"parameter {number}")
            for number, one in enumerate(of_groups)
        ]
        self._stepped(zip(names, of_groups, strict=True))
        self.optimizers -= 1
        self.step += 1
        self._calls.clear()
        self._of_nodes.clear()


def _parameters(optimizer: optim.Optimizer) -> list[torch.Tensor]:
    return [one for group in optimizer.param_groups for one in group["params"]]


def of_program(path: str) -> bool:
    """Tell whether a file is neither torch's nor tdev's, nor made up."""
    return not path.startswith(("<", *_NOT_THEIRS))


_NOT_THEIRS = tuple(
    os.path.join(os.path.dirname(file), "") for file in (torch.__file__, os.path.dirname(__file__))
)


def short(place: Place) -> Place:
    """Return a place without what differs between machines."""
    path, colon, line = place.site.rpartition(":")
    if not colon or not os.path.isabs(path):
        return place
    for packages in ("site-packages", "dist-packages"):
        _, found, rest = path.partition(f"{packages}{os.sep}")
        if found:
            return place._replace(site=f"{rest}:{line}")
    with contextlib.suppress(ValueError):  # another drive
        beside = os.path.relpath(path)
        if not beside.startswith(os.pardir):
            return place._replace(site=f"{beside}:{line}")
    return place


_LIBRARY = sysconfig.get_path("stdlib") + os.sep


def _is_of_python(file: str) -> bool:
    installed = "site-packages" in file or "dist-packages" in file  # which may lie inside
    return file.startswith("<") or (file.startswith(_LIBRARY) and not installed)


def site_of_program() -> str:
    """Return ``file:line`` of the program's innermost frame, or an empty text; Python's own library is no program."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if not is_of_torch(frame) and not _is_of_python(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
