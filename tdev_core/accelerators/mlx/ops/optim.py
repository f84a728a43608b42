"""The fused optimizers, which take all parameters in one call, and the gradient scaler.

A whole list is computed before any of it is written, so that a failure leaves the parameters as they were.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import cast, is_half, to_mx
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.ops.foreach import on_device
from tdev_core.accelerators.mlx.registry import op
from tdev_core.accelerators.mlx.storage.contents import read, write

Tensor = Any

# --- fused optimizers -----------------------------------------------------------------------------------


def _skips(found_inf: Tensor | None) -> bool:
    return found_inf is not None and bool(found_inf.item())


def _number(lr: Any) -> Any:
    return mx.reshape(read(lr), ()) if isinstance(lr, torch.Tensor) else lr


def _gradient(g: Tensor, grad_scale: Tensor | None, maximize: bool) -> Any:
    a = read(g)
    a = a.astype(mx.float32) if is_half(a) else a
    if grad_scale is not None:
        a = a / read(grad_scale)
    return -a if maximize else a


def _adam_update(
    row: tuple[Any, ...],
    keep: Any,
    beta1: float,
    beta2: float,
    decay: float,
    eps: float,
) -> list[Any]:
    """Compute the new (parameter, first moment, second moment, greatest second moment or None) of one parameter.

    `keep` is what decoupled decay leaves of a parameter, or None; `decay` is what is added to the gradient otherwise.
    """
    w, g, m, v, top, size, root = row
    half = w.dtype
    if is_half(w):
        w, m, v = w.astype(mx.float32), m.astype(mx.float32), v.astype(mx.float32)
    if keep is not None:
        w = w * keep
    elif decay:
        g = g + decay * w
    m = m + (1 - beta1) * (g - m)
    v = beta2 * v + (1 - beta2) * g * g
    greatest = v if top is None else mx.maximum(top.astype(v.dtype), v)
    w = (w - size * m / (mx.sqrt(greatest) * root + eps)).astype(half)
    return [w, m, v, None if top is None else greatest]


def _corrections(counts: list[Any], lr: Any, beta1: float, beta2: float) -> Any:
    """Compute for each parameter the step size and the factor of the root, both corrected for the bias of the moments.

    They are numbers of their own, not parts of the update: a compiled update would compute the powers for every element.
    """
    t = mx.stack([mx.reshape(c, ()) for c in counts])
    return zip(lr / _lacking(beta1, t), mx.rsqrt(_lacking(beta2, t)), strict=True)


def _lacking(beta: float, t: Any) -> Any:
    """Compute ``1 - beta ** t``, to the last bits where that is small."""
    return -mx.expm1(t * math.log(beta)) if beta else mx.ones_like(t)


def _adam_updates(
    rows: list[tuple[Any, ...]], lr: Any, decoupled: bool, settings: tuple[float, ...]
) -> list[list[Any]]:
    """Update all parameters at once; under ``mx.compile`` in a program that has asked for compilation."""
    beta1, beta2, decay, _ = settings
    corrections = _corrections([row[5] for row in rows], lr, beta1, beta2)
    keep = 1 - lr * decay if decay and decoupled else None
    rows = [(*row[:5], *pair) for row, pair in zip(rows, corrections, strict=True)]
    if not runtime.compiles:
        return [_adam_update(row, keep, *settings) for row in rows]
    given = [[a for a in row if a is not None] for row in rows]
    kept = [] if keep is None else [mx.array(keep, dtype=mx.float32)]
    out = _compiled(settings, rows[0][4] is None, keep is None)(given, kept)
    return [r if len(r) == 4 else [*r, None] for r in out]


@lru_cache(maxsize=64)
def _compiled(settings: tuple[float, ...], *forms: bool) -> Any:
    """Compile the update of any number of parameters; `forms` only tell apart what is traced differently."""

    def update(rows: Any, keep: Any) -> Any:
        return [
            [
                a
                for a in _adam_update(
                    row if len(row) == 7 else (*row[:4], None, *row[4:]),
                    keep[0] if keep else None,
                    *settings,
                )
                if a is not None
            ]
            for row in rows
        ]

    return mx.compile(update)


def _adam(decoupled: bool) -> Any:
    def step(self: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any, *, lr: Any, beta1: float,
             beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any = None,
             found_inf: Any = None) -> None:  # fmt: skip
        on_device(self)
        if _skips(found_inf):
            return
        gradients = [_gradient(g, grad_scale, maximize) for g in grads]
        tops = [read(t) for t in max_exp_avg_sqs] if amsgrad else [None] * len(gradients)
        lists = (self, exp_avgs, exp_avg_sqs, state_steps)
        params, firsts, seconds, counts = ([read(t) for t in ts] for ts in lists)
        rows = list(zip(params, gradients, firsts, seconds, tops, counts, strict=True))
        settings = (beta1, beta2, weight_decay, eps)
        for i, (w, m, v, top) in enumerate(
            _adam_updates(rows, _number(lr), decoupled, settings) if rows else []
        ):
            new = [(self[i], w), (exp_avgs[i], m), (exp_avg_sqs[i], v)]
            if amsgrad:
                new.append((max_exp_avg_sqs[i], top))
            if grad_scale is not None:
                new.append((grads[i], -gradients[i] if maximize else gradients[i]))
            for t, a in new:
                write(t, cast(a, to_mx[t.dtype]))

    return step


op("_fused_adam_", "_fused_adam_.tensor_lr", mlx="mx.add, mx.multiply, mx.sqrt", raw=True)(
    _adam(False)
)
op("_fused_adamw_", "_fused_adamw_.tensor_lr", mlx="mx.add, mx.multiply, mx.sqrt", raw=True)(
    _adam(True)
)


@op("_fused_sgd_", "_fused_sgd_.tensor_lr", mlx="mx.add, mx.multiply", raw=True)
def fused_sgd_(self: Any, grads: Any, momentum_buffer_list: Any, *, weight_decay: float, momentum: float, lr: Any, dampening: float,
               nesterov: bool, maximize: bool, is_first_step: bool, grad_scale: Any = None, found_inf: Any = None) -> None:  # fmt: skip
    on_device(self)
    if _skips(found_inf):
        return
    lr, new = _number(lr), []
    for i, p in enumerate(self):
        w, g = read(p), _gradient(grads[i], grad_scale, maximize)
        half = w.dtype
        w = w.astype(mx.float32) if is_half(w) else w
        if grad_scale is not None:
            new.append((grads[i], -g if maximize else g))
        if weight_decay:
            g = g + weight_decay * w
        if momentum:
            held = read(momentum_buffer_list[i]).astype(w.dtype)
            held = g if is_first_step else momentum * held + (1 - dampening) * g
            new.append((momentum_buffer_list[i], held))
            g = g + momentum * held if nesterov else held
        new.append((p, (w - lr * g).astype(half)))
    for t, a in new:
        write(t, cast(a, to_mx[t.dtype]))


# --- gradient scaler --------------------------------------------------------------------------------------


@op("_amp_foreach_non_finite_check_and_unscale_", mlx="mx.isfinite, mx.multiply", raw=True)
def unscale_(self: Any, found_inf: Tensor, inv_scale: Tensor) -> None:
    scale = mx.reshape(read(inv_scale), ())
    bad = read(found_inf)
    for t in on_device(self):
        a = read(t)
        bad = mx.where(mx.all(mx.isfinite(a)), bad, mx.ones_like(bad))
        write(t, (a.astype(mx.float32) * scale).astype(a.dtype))
    write(found_inf, bad)


@op("_amp_update_scale_", mlx="mx.where", raw=True)
def update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    scale, tracker, bad = read(self), read(growth_tracker), read(found_inf) != 0
    grown = tracker + 1
    due = ~bad & (grown == growth_interval)
    bigger = scale * scale_growth_factor
    scale = mx.where(
        bad, scale * scale_backoff_factor, mx.where(due & mx.isfinite(bigger), bigger, scale)
    )
    write(self, scale)
    write(growth_tracker, mx.where(bad | due, mx.zeros_like(tracker), grown))
    return self
