"""Stand in for ``apex.amp``: mixed precision by optimization levels, with scaled losses.

``O0`` is float32 throughout and ``O3`` float16 throughout. ``O1`` runs the model's ``forward`` under ``torch.autocast`` in float16,
by CUDA's lists of operators, and gives float32 back, in which apex's loss functions compute: apex patches torch's functions for
the whole process, which tdev does not. ``O2`` makes the model float16 but for its batch norms, and the optimizer steps float32
copies of the parameters. Losses are scaled by 2**16 at first: halved where a gradient is not finite, when the next step is left
out, and doubled after 2000 that are.

Source: docs/source/amp.rst and apex/amp/scaler.py of the repository NVIDIA/apex (2019), read in November 2026.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from tdev_core.packages.lacking import attributes_of, refuse

__all__ = ["initialize", "load_state_dict", "master_params", "scale_loss", "state_dict"]

__getattr__ = attributes_of(__name__)

_BATCH_NORM = torch.nn.modules.batchnorm._BatchNorm
_GROWTH = 2000


@dataclass
class _Scaler:
    """The number that a loss is multiplied by, and how many steps it has been good for."""

    scale: float
    dynamic: bool
    low: float
    high: float
    good: int = 0

    def told(self, overflowed: bool) -> None:
        """Take in whether the gradients of a backward pass were finite."""
        if not self.dynamic:
            return
        if overflowed:
            self.scale, self.good = max(self.scale / 2, self.low), 0
            warnings.warn(
                f"Gradient overflow. Skipping step, reducing loss scale to {self.scale}",
                stacklevel=4,
            )
            return
        self.good += 1
        if self.good == _GROWTH:
            self.scale, self.good = min(self.scale * 2, self.high), 0


@dataclass
class _Stash:
    """Amp's state of an optimizer: each stepped parameter, with the model's own where that is another one."""

    pairs: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)
    skips: bool = False


@dataclass
class _State:
    enabled: bool = False
    scalers: list[_Scaler] = field(default_factory=list)


_state = _State()


def initialize(
    models: Any,
    optimizers: Any = None,
    enabled: bool = True,
    opt_level: str = "O1",
    cast_model_type: torch.dtype | None = None,
    patch_torch_functions: bool | None = None,
    keep_batchnorm_fp32: bool | str | None = None,
    master_weights: bool | None = None,
    loss_scale: float | str | None = None,
    cast_model_outputs: torch.dtype | None = None,
    num_losses: int = 1,
    verbosity: int = 1,
    min_loss_scale: float | None = None,
    max_loss_scale: float = 2.0**24,
) -> Any:
    """Return models and optimizers, one or a list of each as they were given, set up for ``opt_level``.

    Args:
        opt_level: ``"O0"``, ``"O1"``, ``"O2"`` or ``"O3"``; the options that follow replace its own where they are given.
        cast_model_type: what parameters and inputs become.
        keep_batchnorm_fp32: whether batch norms keep float32.
        master_weights: whether the optimizer steps float32 copies.
        loss_scale: a number, or ``"dynamic"``.
        cast_model_outputs: what the model's outputs become.
        num_losses: how many losses there are, each with a scale of its own.

    Raises:
        RuntimeError: a level that there is not.
        UnsupportedError: ``patch_torch_functions`` other than the level's own.
    """
    _state.enabled = enabled
    if not enabled:
        return models if optimizers is None else (models, optimizers)
    levels = {"O0": torch.float32, "O1": None, "O2": torch.float16, "O3": torch.float16}
    if opt_level not in levels:
        raise RuntimeError(
            f"apex.amp.initialize: opt_level is {opt_level!r}; 'O0', 'O1', 'O2' and 'O3' are known (with the letter O)"
        )
    by_autocast = opt_level == "O1"
    if patch_torch_functions not in (None, by_autocast):
        refuse("apex.amp.initialize", "patches torch's functions with O1 and with no other level")
    cast = levels[opt_level] if cast_model_type is None else cast_model_type
    keep = _truth(keep_batchnorm_fp32, opt_level == "O2")
    masters = opt_level == "O2" if master_weights is None else master_weights
    scale = (
        loss_scale if loss_scale is not None else {"O0": 1.0, "O3": 1.0}.get(opt_level, "dynamic")
    )
    dynamic = scale == "dynamic"
    first = 2.0**16 if dynamic else float(scale)
    low = 0.0 if min_loss_scale is None else min_loss_scale
    _state.scalers = [
        _Scaler(min(first, max_loss_scale) if dynamic else first, dynamic, low, max_loss_scale)
        for _ in range(num_losses)
    ]
    before = {id(p): p for model in _listed(models) for p in model.parameters()}
    for model in _listed(models):
        if by_autocast:
            model.forward = functools.partial(_by_autocast, model.forward, cast_model_outputs)
        elif cast is not None:
            _cast(model, cast, keep)
            outputs = cast_model_outputs or torch.float32
            model.forward = functools.partial(_between, model.forward, cast, outputs)
    for optimizer in _listed(optimizers):
        _set_up(optimizer, before, masters)
    return models if optimizers is None else (models, optimizers)


@contextmanager
def scale_loss(
    loss: torch.Tensor,
    optimizers: Any,
    loss_id: int = 0,
    model: Any = None,
    delay_unscale: bool = False,
    delay_overflow_check: bool = False,
) -> Iterator[torch.Tensor]:
    """Yield the scaled loss, whose gradients are divided by the scale afterwards.

    Args:
        loss_id: which of ``num_losses`` it is.
        delay_unscale, delay_overflow_check: when the kernels divide and look; here always at once, with the same sums.

    Raises:
        RuntimeError: :func:`initialize` was not called.
    """
    if not _state.enabled:
        if not _state.scalers:
            raise RuntimeError(
                "apex.amp.scale_loss: call amp.initialize before, with enabled=False to do without amp"
            )
        yield loss
        return
    scaler = _state.scalers[loss_id]
    stashes = [_stash_of(optimizer) for optimizer in _listed(optimizers)]
    pairs = [pair for stash in stashes for pair in stash.pairs]
    before = [stepped.grad for stepped, _ in pairs]
    for stepped, own in pairs:
        stepped.grad = own.grad = None
    yield loss.float() * scaler.scale
    overflowed = False
    for (stepped, own), earlier in zip(pairs, before, strict=True):
        if own.grad is None:
            stepped.grad = earlier
            continue
        gradient = own.grad.to(stepped.dtype) / scaler.scale
        overflowed = overflowed or scaler.dynamic and not bool(gradient.isfinite().all())
        if own is not stepped:
            own.grad = None
        stepped.grad = gradient if earlier is None else earlier + gradient
    scaler.told(overflowed)
    for stash in stashes:
        stash.skips = stash.skips or overflowed


def master_params(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    """Yield what ``optimizer`` steps: float32 copies with O2, the model's own parameters otherwise."""
    for group in optimizer.param_groups:
        yield from group["params"]


def state_dict(destination: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the scale of each loss, and how many steps it has been good for."""
    found = {} if destination is None else destination
    for number, scaler in enumerate(_state.scalers):
        found[f"loss_scaler{number}"] = {"loss_scale": scaler.scale, "unskipped": scaler.good}
    return found


def load_state_dict(state_dict: dict[str, Any]) -> None:
    """Take over what :func:`state_dict` returned."""
    if len(state_dict) != len(_state.scalers):
        warnings.warn(
            f"amp has {len(_state.scalers)} losses, the state {len(state_dict)}", stacklevel=2
        )
    for scaler, (_, saved) in zip(_state.scalers, sorted(state_dict.items()), strict=False):
        scaler.scale, scaler.good = saved["loss_scale"], saved["unskipped"]


def _listed(given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    return given if isinstance(given, (list, tuple)) else (given,)


def _truth(given: bool | str | None, level: bool) -> bool:
    """Read an option that programs hand on from their command line."""
    if isinstance(given, str):
        if given not in ("True", "False"):
            raise RuntimeError(f"apex.amp.initialize: keep_batchnorm_fp32 is {given!r}")
        return given == "True"
    return level if given is None else given


def _cast(model: torch.nn.Module, dtype: torch.dtype, keep: bool) -> None:
    for module in model.modules():
        if keep and isinstance(module, _BATCH_NORM):
            continue
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None and tensor.is_floating_point():
                tensor.data = tensor.data.to(dtype)


def _by_autocast(forward: Any, outputs: torch.dtype | None, *args: Any, **kwargs: Any) -> Any:
    with torch.autocast("cuda", torch.float16):
        found = forward(*args, **kwargs)
    return _to(found, outputs or torch.float32)


def _between(
    forward: Any, inputs: torch.dtype, outputs: torch.dtype, *args: Any, **kwargs: Any
) -> Any:
    """Call ``forward`` with floating tensors of one dtype and return them in another."""
    return _to(forward(*_to(args, inputs), **_to(kwargs, inputs)), outputs)


def _to(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, dict):
        return type(value)({key: _to(item, dtype) for key, item in value.items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_to(item, dtype) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_to(item, dtype) for item in value)
    return value


def _set_up(
    optimizer: torch.optim.Optimizer, known: dict[int, torch.Tensor], masters: bool
) -> None:
    """Have ``optimizer`` skip a step after an overflow and, with masters, step float32 copies."""
    stash = _Stash()
    for group in optimizer.param_groups:
        for number, own in enumerate(group["params"]):
            stepped = own
            if masters and own.dtype == torch.float16:
                stepped = own.detach().float().requires_grad_()
                group["params"][number] = stepped
                if own in optimizer.state:
                    optimizer.state[stepped] = optimizer.state.pop(own)
            stash.pairs.append((stepped, own))
    copies = [(stepped, own) for stepped, own in stash.pairs if stepped is not own]
    step, zero_grad = optimizer.step, optimizer.zero_grad

    @functools.wraps(step)
    def skipping(*args: Any, **kwargs: Any) -> Any:
        if stash.skips:
            stash.skips = False
            return None
        result = step(*args, **kwargs)
        with torch.no_grad():
            for stepped, own in copies:
                own.copy_(stepped)
        return result

    @functools.wraps(zero_grad)
    def zeroing(*args: Any, **kwargs: Any) -> None:
        zero_grad(*args, **kwargs)
        for _, own in copies:
            own.grad = None

    vars(optimizer).update(step=skipping, zero_grad=zeroing, _amp_stash=stash)


def _stash_of(optimizer: torch.optim.Optimizer) -> _Stash:
    found = getattr(optimizer, "_amp_stash", None)
    if not isinstance(found, _Stash):
        raise RuntimeError(
            "apex.amp.scale_loss: the optimizer was not given to amp.initialize, or is none (give the optimizer itself)"
        )
    return found
