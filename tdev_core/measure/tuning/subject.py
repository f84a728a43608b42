"""Knows a program that runs: its models and optimizers, what its gradients are of, and where its steps end.

Heard from torch's own hooks and from wrappers of ``Tensor.backward``, ``GradScaler.scale``, ``Optimizer.zero_grad`` and
``DataLoader.__init__``, methods all; :meth:`Subject.leave` takes every one of them off again.
"""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as nn_module
from torch.optim import optimizer as optim
from torch.utils.data import DataLoader

from tdev_core.measure.wrapping import wrap

__all__ = ["Subject"]


class Subject:
    """A program, as its calls tell of it.

    Attributes:
        models: modules that the program calls itself while gradients are wanted.
        optimizers: in the order of their first steps.
        gradients: names of the functions in the graphs that it has differentiated (``ConvolutionBackward0``).
        autocasts: whether a model was called inside a region of autocast.
        scales: whether a ``GradScaler`` scales the loss.
        watches: whether it keeps losses for :meth:`loss`, which waits for them.
        hears: whether it listens: two programs in one process take turns.
        empties: the ``set_to_none`` of the last ``zero_grad``; None: none was called.
        loads: ``num_workers`` and ``pin_memory`` of each loader that was made.
        loading: keyword arguments that loaders get in place of the program's.
        emptying: the ``set_to_none`` that ``zero_grad`` gets in place of the program's, unless None.
        put: of each setting that was changed, what undoes it.
        compiled: of each model and compiler, what came of it.
    """

    def __init__(self, ended: Callable[[], None] = lambda: None) -> None:
        """Hear of nothing before :meth:`enter`; ``ended`` is called where a step of the program's has ended."""
        self.models: list[nn.Module] = []
        self.optimizers: list[optim.Optimizer] = []
        self.gradients: set[str] = set()
        self.autocasts = self.scales = False
        self.hears = self.watches = True
        self.empties: bool | None = None
        self.loads: list[tuple[int, bool]] = []
        self.loading: dict[str, Any] = {}
        self.emptying: bool | None = None
        self.put: dict[str, Callable[[], None]] = {}
        self.compiled: dict[tuple[int, str], Any] = {}
        self._ended = ended
        self._losses: list[torch.Tensor] = []
        self._unscaled: torch.Tensor | None = None
        self._inside = 0
        self._learning = False
        self._hooks: list[Any] = []
        self._leaving = contextlib.ExitStack()

    @property
    def device(self) -> str:
        """The device type of the parameters; of several, the one that is no CPU."""
        kinds = {one.device.type for one in self.parameters()}
        return next(iter(sorted(kinds - {"cpu"})), "cpu")

    def parameters(self) -> list[torch.Tensor]:
        """Return what the optimizers change, and the parameters of the models."""
        held = [
            one
            for each in self.optimizers
            for group in each.param_groups
            for one in group["params"]
        ]
        return held or [one for model in self.models for one in model.parameters()]

    def loss(self) -> float:
        """Return the mean loss since the last call: NaN where there was none, infinity where it is not finite."""
        losses, self._losses = self._losses, []
        if not losses:
            return math.nan
        found = sum(float(one) for one in losses) / len(losses)
        return found if math.isfinite(found) else math.inf

    # -- what it hears ---------------------------------------------------------------------------

    def enter(self) -> None:
        """Hear of the program from now on, and learn what it is made of."""
        self._hooks.append(optim.register_optimizer_step_pre_hook(self._steps))
        self._hooks.append(optim.register_optimizer_step_post_hook(self._stepped))
        self._wrap(torch.Tensor, "backward", self._backward)
        self._wrap(torch.amp.GradScaler, "scale", self._scale)
        self._wrap(optim.Optimizer, "zero_grad", self._zero_grad)
        self._wrap(DataLoader, "__init__", self._load)
        self.learn(True)

    def learn(self, learning: bool) -> None:
        """Learn what the program is made of, or no longer: that takes a hook in each module's call."""
        if learning and not self._learning:
            self._hooks.append(nn_module.register_module_forward_pre_hook(self._called))
            self._hooks.append(
                nn_module.register_module_forward_hook(self._returned, always_call=True)
            )
        elif self._learning and not learning:
            for hook in (self._hooks.pop(), self._hooks.pop()):
                hook.remove()
        self._learning, self._inside = learning, 0

    def leave(self) -> None:
        """Undo every setting and hear of nothing more."""
        for undo in reversed(list(self.put.values())):
            undo()
        self.put.clear()
        self.learn(False)
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._leaving.close()

    def _wrap(self, owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
        def heard(plain: Any, this: Any, *args: Any, **kwargs: Any) -> Any:
            return (wrapper if self.hears else _plainly)(plain, this, *args, **kwargs)

        self._leaving.callback(wrap(owner, name, heard))

    def _called(self, module: nn.Module, _: Any) -> None:
        self._inside += 1
        if (
            self.hears
            and self._inside == 1
            and torch.is_grad_enabled()
            and isinstance(module, nn.Module)
        ):
            here = next((one.device.type for one in module.parameters()), None)
            if here is None or not module.training:
                return  # a loss, or what is only evaluated
            self.autocasts |= torch.is_autocast_enabled(here)
            if not any(one is module for one in self.models):
                self.models.append(module)

    def _returned(self, *_: Any) -> None:
        self._inside = max(0, self._inside - 1)

    def _backward(self, plain: Any, loss: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if self._learning:
            self.gradients |= _functions(loss)
        seen, self._unscaled = self._unscaled, None
        if not self.watches:
            return plain(loss, *args, **kwargs)
        found = (loss if seen is None else seen).detach()
        self._losses.append(found if found.dim() == 0 else found.mean())
        return plain(loss, *args, **kwargs)

    def _scale(self, plain: Any, scaler: Any, outputs: Any, *args: Any, **kwargs: Any) -> Any:
        self.scales = True
        if isinstance(outputs, torch.Tensor):
            self._unscaled = outputs
        return plain(scaler, outputs, *args, **kwargs)

    def _zero_grad(self, plain: Any, optimizer: Any, set_to_none: bool = True) -> Any:
        self.empties = set_to_none
        return plain(optimizer, set_to_none if self.emptying is None else self.emptying)

    def _load(self, plain: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        given = inspect.signature(plain).bind(loader, *args, **kwargs).arguments
        self.loads.append((given.get("num_workers", 0), given.get("pin_memory", False)))
        given |= self.loading
        if self.loading and not given.get("num_workers", 0):
            for name in ("prefetch_factor", "persistent_workers", "timeout"):
                given.pop(name, None)  # which are refused without workers
        del given["self"]
        plain(loader, **given)

    def _steps(self, optimizer: optim.Optimizer, *_: Any) -> None:
        if self.hears and not any(one is optimizer for one in self.optimizers):
            self.optimizers.append(optimizer)

    def _stepped(self, optimizer: optim.Optimizer, *_: Any) -> None:
        if (
            self.hears and self.optimizers and optimizer is self.optimizers[0]
        ):  # of several, one ends the step
            self._ended()


def _plainly(plain: Any, this: Any, *args: Any, **kwargs: Any) -> Any:
    return plain(this, *args, **kwargs)


def _functions(loss: torch.Tensor) -> set[str]:
    """Return the names of the functions in the graph of ``loss``."""
    waiting, seen, found = [loss.grad_fn], set[Any](), set[str]()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        found.add(node.name())
        waiting += [one for one, _ in node.next_functions]
    return found
