"""What the codemod names instead of a package's function computes what the package's does."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from tdev_core.codemod.engine.rules.replacements import REPLACEMENTS, replacements
from tdev_core.packages.apex import normalization, optimizers
from tdev_core.packages.flash_attn import flash_attn_interface


def made(*shape: int) -> torch.Tensor:
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("softmax_scale", [None, 0.25])
def test_attention_is_that_of_the_expression(causal: bool, softmax_scale: float | None) -> None:
    given: dict[str, Any] = {"q": made(2, 5, 4, 8), "k": made(2, 5, 2, 8), "v": made(2, 5, 2, 8)}
    packed = {"qkv": torch.stack([made(2, 5, 4, 8) + i for i in range(3)], dim=2)}
    pair = {"q": given["q"], "kv": torch.stack([given["k"], given["v"]], dim=2)}
    for name, inputs in (
        ("flash_attn_func", given), ("flash_attn_qkvpacked_func", packed), ("flash_attn_kvpacked_func", pair),
    ):  # fmt: skip
        text = re.match("`([^`]+)`", REPLACEMENTS[f"flash_attn.{name}"])
        assert text is not None
        options = {"causal": causal, "softmax_scale": softmax_scale, "dropout_p": 0.0}
        found = eval(text[1], {"torch": torch, **inputs, **options})
        meant = getattr(flash_attn_interface, name)(*inputs.values(), **options)
        torch.testing.assert_close(found, meant)


def test_norms_and_adam_are_those_that_are_named() -> None:
    x = made(3, 8).float() * 1e-3
    torch.testing.assert_close(torch.nn.LayerNorm(8)(x), normalization.FusedLayerNorm(8)(x))
    torch.testing.assert_close(torch.nn.RMSNorm(8, eps=1e-5)(x), normalization.FusedRMSNorm(8)(x))
    assert not torch.allclose(torch.nn.RMSNorm(8)(x), normalization.FusedRMSNorm(8)(x)), "its eps"
    for decay in ({}, {"weight_decay": 0.1}):
        values = [torch.nn.Parameter(made(4).float()) for _ in range(4)]
        ours: list[torch.optim.Optimizer] = [
            optimizers.FusedAdam(values[:1], **decay),
            torch.optim.AdamW(values[1:2], **({"weight_decay": 0.0} | decay)),
            optimizers.FusedAdam(values[2:3], adam_w_mode=False, **decay),
            torch.optim.Adam(values[3:], **decay),
        ]
        for optimizer, value in zip(ours, values, strict=True):
            for _ in range(3):
                optimizer.zero_grad()
                (value**2).sum().backward()
                optimizer.step()
        torch.testing.assert_close(values[0], values[1])
        torch.testing.assert_close(values[2], values[3])


def test_what_is_not_known_of_all_names_is_not_told() -> None:
    assert replacements("apex.optimizers", ["FusedAdam", "FusedLAMB"]) == ""
    assert replacements("apex.optimizers", []) == "" == replacements("triton", ["jit"])
    told = replacements("apex.parallel", ["SyncBatchNorm", "convert_syncbn_model"])
    assert told.startswith("for SyncBatchNorm `torch.nn.SyncBatchNorm`; for convert_syncbn_model")
    assert replacements("flash_attn.flash_attn_interface", ["flash_attn_func"]).startswith(
        "for flash_attn_func `"
    )
    assert replacements("apex.amp", ()).startswith(
        "`with torch.autocast(device.type, torch.float16):`"
    )
