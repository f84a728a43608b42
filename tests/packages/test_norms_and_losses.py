"""Norms of a sum, the loss and the rotary module of flash_attn's stand-in, written out in float64."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tdev_core.errors import UnsupportedError
from tdev_core.packages.flash_attn.layers.rotary import RotaryEmbedding
from tdev_core.packages.flash_attn.losses.cross_entropy import CrossEntropyLoss
from tdev_core.packages.flash_attn.ops import layer_norm, rms_norm
from tdev_core.packages.flash_attn.ops.triton import layer_norm as by_triton
from tdev_core.packages.mamba_ssm.ops.triton import layer_norm as of_mamba
from tdev_core.packages.mamba_ssm.ops.triton import layernorm as of_mamba_1


def made(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def defined(
    total: torch.Tensor, weight: torch.Tensor, bias: Any, rms: bool, eps: float
) -> torch.Tensor:
    centred = total if rms else total - total.mean(-1, keepdim=True)
    out = centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + eps) * weight
    return out if bias is None else out + bias


@pytest.mark.parametrize("rms", [True, False])
def test_norms_of_a_sum(rms: bool) -> None:
    x, residual, rows, channels = made(2, 3, 5), made(2, 3, 5, seed=1), made(2, 3), made(5)
    weight, bias = made(5, seed=2), made(5, seed=3)
    total = x * rows[..., None] * channels + residual
    function = rms_norm.dropout_add_rms_norm if rms else layer_norm.dropout_add_layer_norm
    found = function(x, residual, weight, bias, 0.0, 1e-5, rows, channels, prenorm=True)
    torch.testing.assert_close(found, (defined(total, weight, bias, rms, 1e-5), total))
    alone = function(x, None, weight, None, 0.0, 1e-3)
    torch.testing.assert_close(alone, defined(x, weight, None, rms, 1e-3))
    name = "rms_norm_fn" if rms else "layer_norm_fn"
    for home in (by_triton, of_mamba, of_mamba_1):
        found = getattr(home, name)(
            x, weight, bias, residual, rowscale=rows, prenorm=True, eps=1e-4
        )
        total = x * rows[..., None] + residual
        torch.testing.assert_close(found, (defined(total, weight, bias, rms, 1e-4), total))
    found = getattr(by_triton, name)(x, weight, bias, eps=1e-4, zero_centered_weight=True)
    torch.testing.assert_close(found, defined(x, 1 + weight, bias, rms, 1e-4))
    inputs = [t.requires_grad_() for t in (x, residual, weight, bias)]
    for home in (by_triton, of_mamba):
        assert torch.autograd.gradcheck(
            lambda x, r, w, b, home=home: getattr(home, name)(x, w, b, r, prenorm=True), inputs,
            fast_mode=True,
        )  # fmt: skip
    assert torch.autograd.gradcheck(
        lambda x, r, w, b: function(x, r, w, b, 0.0, 1e-5, prenorm=True), inputs, fast_mode=True
    )
    plain = (
        rms_norm.rms_norm(x, weight, 1e-5) if rms else layer_norm.layer_norm(x, weight, bias, 1e-5)
    )
    torch.testing.assert_close(plain, defined(x, weight, None if rms else bias, rms, 1e-5))
    with pytest.raises(UnsupportedError, match="return_dropout_mask"):
        function(x, residual, weight, bias, 0.1, 1e-5, return_dropout_mask=True)
    for home in (by_triton, of_mamba):
        with pytest.raises(UnsupportedError, match="has no second input"):
            home.layer_norm_fn(x, weight, bias, x1=x)
    with pytest.raises(UnsupportedError, match="writes to no tensors of the caller's"):
        by_triton.rms_norm_fn(x, weight, bias, out=x)


def test_dtypes_of_a_norm() -> None:
    x, weight = made(4, 8).bfloat16(), torch.ones(8)
    wide = x.float()
    for kwargs, kept in (
        ({}, torch.bfloat16),
        ({"residual_in_fp32": True}, torch.float32),
        ({"residual": wide}, torch.float32),
        ({"residual": x, "residual_in_fp32": True}, torch.bfloat16),
    ):
        options: dict[str, Any] = {"prenorm": True, **kwargs}
        out, total = by_triton.rms_norm_fn(x, weight, None, **options)
        assert (out.dtype, total.dtype) == (torch.bfloat16, kept)
    assert by_triton.layer_norm_fn(x, weight, None, out_dtype=torch.float32).dtype == torch.float32
    torch.testing.assert_close(
        rms_norm.rms_norm(x, weight, 1e-5),
        defined(x.double(), weight.double(), None, True, 1e-5).bfloat16(),
    )


def test_modules_of_norms() -> None:
    x, residual = made(3, 5).float(), made(3, 5, seed=1).float()
    for module, rms in (
        (rms_norm.DropoutAddRMSNorm(5, True), True),
        (layer_norm.DropoutAddLayerNorm(5, True), False),
    ):
        out, total = module(x, residual)
        torch.testing.assert_close(total, x + residual)
        torch.testing.assert_close(out, defined(x + residual, torch.ones(5), None, rms, 1e-5))
    for norm in (rms_norm.RMSNorm(5), by_triton.RMSNorm(5), of_mamba.RMSNorm(5)):
        assert list(norm.state_dict()) == ["weight"]
        torch.testing.assert_close(norm(x), defined(x, torch.ones(5), None, True, 1e-5))
    centered = by_triton.RMSNorm(5, 1e-5, 0.0, True)
    assert not centered.weight.any()
    torch.testing.assert_close(centered(x), defined(x, torch.ones(5), None, True, 1e-5))
    dropped = rms_norm.DropoutAddRMSNorm(5, True, p=0.5)
    torch.manual_seed(0)
    assert (dropped(torch.ones(100, 5))[1] == 0).float().mean() == pytest.approx(0.5, abs=0.1)
    torch.testing.assert_close(dropped.eval()(x)[1], x)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(reduction: str) -> None:
    logits, classes = made(5, 7), torch.tensor([1, -100, 3, 0, 6])
    options: dict[str, Any] = {"label_smoothing": 0.1, "logit_scale": 0.5, "lse_square_scale": 0.01}
    each, extra = torch.zeros(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    for row, number in enumerate(classes.tolist()):
        if number >= 0:
            scaled = 0.5 * logits[row]
            lse = torch.log(torch.exp(scaled).sum())
            extra[row] = 0.01 * lse**2
            each[row] = lse - 0.9 * scaled[number] - 0.1 * scaled.mean() + extra[row]
    meant = {"mean": each.sum() / 4, "sum": each.sum(), "none": each}[reduction]
    loss = CrossEntropyLoss(reduction=reduction, **options)
    torch.testing.assert_close(loss(logits, classes), meant)
    both = CrossEntropyLoss(reduction="sum", return_z_loss=True, **options)(logits, classes)
    torch.testing.assert_close(both, (each.sum(), extra.sum()))
    own = logits.clone().requires_grad_()
    _, part = CrossEntropyLoss(return_z_loss=True, **options)(own, classes)
    assert (
        not part.requires_grad
    )  # it is for logging: added to the loss again, it changes no gradient
    assert loss(logits.bfloat16(), classes).dtype == torch.float32
    assert torch.autograd.gradcheck(
        lambda x: loss(x, classes), (logits.requires_grad_(),), fast_mode=True
    )


def test_losses_that_there_are_not() -> None:
    with pytest.raises(NotImplementedError, match="reduction is 'max'"):
        CrossEntropyLoss(reduction="max")
    with pytest.raises(UnsupportedError, match="process_group"):
        CrossEntropyLoss(process_group=object())


@pytest.mark.parametrize("interleaved", [True, False])
def test_rotary_module(interleaved: bool) -> None:
    """Each pair of channels turns by its wave's angle at its position."""
    module = RotaryEmbedding(4, interleaved=interleaved)
    qkv = made(2, 5, 3, 2, 6)

    def turned(x: torch.Tensor, first: int) -> torch.Tensor:
        out = x.clone()
        for step in range(x.size(1)):
            for pair in range(2):
                angle = (first + step) / 10000 ** (2 * pair / 4)
                one, two = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + 2)
                a, b = x[:, step, :, one], x[:, step, :, two]
                out[:, step, :, one] = a * math.cos(angle) - b * math.sin(angle)
                out[:, step, :, two] = a * math.sin(angle) + b * math.cos(angle)
        return out

    meant = torch.stack((turned(qkv[:, :, 0], 3), turned(qkv[:, :, 1], 3), qkv[:, :, 2]), 2)
    close: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
    given = qkv.clone()
    assert module(given, seqlen_offset=3) is given  # it turns them in place
    torch.testing.assert_close(given, meant, **close)
    given = qkv.clone()
    q, kv = module(given[:, :, 0], given[:, :, 1:])
    torch.testing.assert_close(q, turned(qkv[:, :, 0], 0), **close)
    torch.testing.assert_close(kv[:, :, 0], turned(qkv[:, :, 1], 0), **close)
    assert torch.equal(kv[:, :, 1], qkv[:, :, 2]) and torch.equal(given[:, :, 0], q)
    grouped = made(2, 5, 4 + 2 * 2, 6)
    found = module(grouped.clone(), num_heads_q=4)
    torch.testing.assert_close(found[:, :, :6], turned(grouped[:, :, :6], 0), **close)
    assert torch.equal(found[:, :, 6:], grouped[:, :, 6:])
    inputs = [t.requires_grad_() for t in (qkv, grouped)]

    def all_forms(qkv: torch.Tensor, grouped: torch.Tensor) -> Any:
        pair = module(qkv[:, :, 0].clone(), qkv[:, :, 1:].clone())
        return module(qkv.clone()), *pair, module(grouped.clone(), num_heads_q=4)

    assert torch.autograd.gradcheck(all_forms, inputs, fast_mode=True)
    with pytest.raises(RuntimeError, match="num_heads_q is needed"):
        module(grouped)
    with pytest.raises(UnsupportedError, match="xPos"):
        RotaryEmbedding(4, scale_base=512)
