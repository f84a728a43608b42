"""The stand-in for apex: values against torch's own and against definitions written out in float64."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tdev_core.errors import UnsupportedError
from tdev_core.packages.apex import normalization, optimizers
from tdev_core.packages.apex.normalization import fused_layer_norm as functions


def parameters(dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    made = torch.Generator().manual_seed(0)
    return [
        torch.randn(*shape, generator=made, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in ((3, 4), (5,))
    ]


def train(optimizer: torch.optim.Optimizer, values: list[torch.Tensor], steps: int = 4) -> None:
    for step in range(steps):
        optimizer.zero_grad()
        sum(((v - step) ** 2).sum() for v in values).backward()  # type: ignore[union-attr]  # a sum of none is an int
        optimizer.step()


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("mode", [True, False])
def test_adam_is_torchs(decay: float, mode: bool) -> None:
    ours, theirs = parameters(), parameters()
    train(optimizers.FusedAdam(ours, 0.05, adam_w_mode=mode, weight_decay=decay), ours)
    kind = torch.optim.AdamW if mode else torch.optim.Adam
    train(kind(theirs, 0.05, weight_decay=decay), theirs)
    torch.testing.assert_close(ours, theirs)


def test_adam_without_bias_correction_and_in_bfloat16() -> None:
    value = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    optimizer = optimizers.FusedAdam([value], lr=0.1, bias_correction=False, eps=0.0)
    value.grad = torch.tensor([3.0], dtype=torch.float64)
    optimizer.step()
    assert value.item() == pytest.approx(2 - 0.1 * (0.1 * 3) / math.sqrt(0.001 * 9))
    half = parameters(torch.bfloat16)
    optimizer = optimizers.FusedAdam(half)
    train(optimizer, half, 1)
    assert optimizer.state[half[0]]["exp_avg"].dtype == torch.float32
    assert half[0].dtype == torch.bfloat16


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight_decay": 0.0},
        {"weight_decay": 0.0, "use_nvlamb": True},
        {"grad_averaging": False, "max_grad_norm": 0.5},
        {"adam_w_mode": False, "bias_correction": False, "max_grad_norm": 0.0},
    ],
    ids=str,
)
def test_lamb_is_its_definition(options: dict[str, Any]) -> None:
    values = parameters()
    train(optimizers.FusedLAMB(values, 0.05, **options), values)
    told = {
        "weight_decay": 0.01, "use_nvlamb": False, "grad_averaging": True, "max_grad_norm": 1.0, "adam_w_mode": True,
        "bias_correction": True, **options,
    }  # fmt: skip
    meant = [p.detach().clone() for p in parameters()]
    first, second = ([torch.zeros_like(p) for p in meant] for _ in range(2))
    for step in range(1, 5):
        gradients = [2 * (p - (step - 1)) for p in meant]
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        if told["max_grad_norm"] and norm > told["max_grad_norm"]:
            gradients = [g * told["max_grad_norm"] / norm for g in gradients]
        for i, p in enumerate(meant):
            decay = told["weight_decay"] * p
            g = gradients[i] if told["adam_w_mode"] else gradients[i] + decay
            first[i] = 0.9 * first[i] + (0.1 if told["grad_averaging"] else 1.0) * g
            second[i] = 0.999 * second[i] + 0.001 * g**2
            by = (1 - 0.9**step, 1 - 0.999**step) if told["bias_correction"] else (1, 1)
            update = first[i] / by[0] / ((second[i] / by[1]).sqrt() + 1e-6)
            update = update + decay if told["adam_w_mode"] else update
            scaled = told["weight_decay"] or told["use_nvlamb"]
            meant[i] = p - 0.05 * (p.norm() / update.norm() if scaled else 1) * update
    torch.testing.assert_close([v.detach() for v in values], meant)


def test_norms_are_their_definitions() -> None:
    x = parameters()[0]
    layer, root = normalization.FusedLayerNorm(4).double(), normalization.FusedRMSNorm(4).double()
    centred = x - x.mean(-1, keepdim=True)
    torch.testing.assert_close(
        layer(x), centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    )
    torch.testing.assert_close(root(x), x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt())
    assert set(layer.state_dict()) == {"weight", "bias"} and set(root.state_dict()) == {"weight"}
    weight, bias = parameters()[0][0].detach(), parameters()[0][1].detach()
    plain = functions.fused_layer_norm(x, 4)
    torch.testing.assert_close(
        functions.fused_layer_norm_affine(x, weight, bias, (4,)), plain * weight + bias
    )
    plain = functions.fused_rms_norm(x, (4,))
    torch.testing.assert_close(functions.fused_rms_norm_affine(x, weight, 4), plain * weight)
    assert torch.autograd.gradcheck(layer, (x,)) and torch.autograd.gradcheck(root, (x,))


def test_mixed_norms_have_the_weights_dtype() -> None:
    x, weight, bias = parameters(torch.bfloat16)[0], parameters()[0][0], parameters()[1][:4]
    for kind in (normalization.MixedFusedLayerNorm, normalization.MixedFusedRMSNorm):
        assert kind(4, elementwise_affine=True)(x).dtype == torch.float32
        torch.testing.assert_close(
            kind(4).double()(x), kind.__base__(4).double()(x.double()), rtol=0, atol=0
        )
        with pytest.raises(RuntimeError, match="elementwise_affine=False has none; use FusedL?R?"):
            kind(4, elementwise_affine=False)
        with pytest.raises(UnsupportedError, match=f"{kind.__name__} has no parameter bias"):
            kind(4, bias=False)
    wide = x.double()
    mixed = functions.mixed_dtype_fused_layer_norm_affine(x, weight, bias, 4)
    torch.testing.assert_close(mixed, functions.fused_layer_norm_affine(wide, weight, bias, 4))
    mixed = functions.mixed_dtype_fused_rms_norm_affine(x, weight, 4)
    torch.testing.assert_close(mixed, functions.fused_rms_norm_affine(wide, weight, 4))


def test_gradients_of_norms() -> None:
    x, (weight, bias) = parameters()[0], torch.randn(2, 4, dtype=torch.float64).unbind()
    weight, bias = (p.clone().requires_grad_() for p in (weight, bias))

    def every(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> list[torch.Tensor]:
        return [
            functions.fused_layer_norm(x, 4),
            functions.fused_layer_norm_affine(x, weight, bias, 4),
            functions.mixed_dtype_fused_layer_norm_affine(x, weight, bias, 4),
            functions.fused_rms_norm(x, 4),
            functions.fused_rms_norm_affine(x, weight, 4),
            functions.mixed_dtype_fused_rms_norm_affine(x, weight, 4),
        ]

    assert torch.autograd.gradcheck(every, (x, weight, bias), fast_mode=True)


def test_what_is_lacking_is_told() -> None:
    with pytest.raises(UnsupportedError, match="apex.optimizers.FusedAdam has no capturable step"):
        optimizers.FusedAdam(parameters(), capturable=True)
    weight = torch.nn.Embedding(3, 2, sparse=True)
    weight(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="apex.optimizers.FusedAdam takes dense real gradients"):
        optimizers.FusedAdam(weight.parameters()).step()
    with pytest.raises(RuntimeError, match="takes no grads, output_params, scale or grad_norms"):
        optimizers.FusedAdam(parameters()).step(scale=2.0)
    with pytest.raises(RuntimeError, match="AMSGrad"):
        optimizers.FusedLAMB(parameters(), amsgrad=True)
    with pytest.raises(UnsupportedError, match="apex.optimizers.FusedSGD is not in the stand-in"):
        _ = optimizers.FusedSGD
