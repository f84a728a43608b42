"""torch's databases of modules and optimizers on the device, compared with the CPU."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

from tests.accelerators.mlx.opdb import Inapplicable, moved, tensors

RANDOM = ("Dropout", "RReLU", "FractionalMaxPool", "AlphaDropout")
SKIPPED_OPTIMIZERS = {
    "SparseAdam": "needs sparse gradients, which the device does not have",
    "Muon": "orthogonalises in bfloat16: the CPU's and MLX's products round differently, and the iteration amplifies it",
}


def _outcome(info: Any, sample: Any, training: bool, device: str) -> list[torch.Tensor]:
    def here(x: Any) -> Any:
        return moved(x) if device == "mlx" else x

    torch.manual_seed(3)
    constructor, forward = sample.constructor_input, sample.forward_input
    module = info.module_cls(*constructor.args, **constructor.kwargs)
    if any(isinstance(p, torch.nn.UninitializedParameter) for p in module.parameters()):
        module(
            *forward.args, **forward.kwargs
        )  # lazy: drawn on the CPU, where both runs draw the same numbers
    module = module.to(device)
    module.train(training)
    args, kwargs = here(tuple(forward.args)), here(dict(forward.kwargs))
    out = module(*args, **kwargs)
    results = tensors(out)
    floats = [t for t in results if t.requires_grad]
    if floats:
        torch.autograd.backward(
            [t.float().sum() if not t.is_complex() else t.abs().sum() for t in floats]
        )
        results += [p.grad for p in module.parameters() if p.grad is not None]
    return [t.detach().cpu() for t in results + list(module.buffers())]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("info", module_db, ids=lambda info: info.name)
def test_module(info: Any, training: bool, fallbacks: dict[str, int]) -> None:
    if training and any(r in info.name for r in RANDOM):
        pytest.skip("draws random numbers; test_device checks the distributions")
    ran = 0
    torch.manual_seed(1)
    inputs = info.module_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
    )
    for sample in inputs[:6]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if sample.forward_input is None:
                continue
            try:
                expected = _outcome(info, sample, training, "cpu")
            except Exception:
                continue  # the sample is one that must fail
            try:
                found = _outcome(info, sample, training, "mlx")
            except Inapplicable:
                continue
        ran += 1
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)
    if not ran:
        pytest.skip("no sample of this module runs on the CPU")


def _trained(info: Any, options: dict[str, Any], device: str) -> list[torch.Tensor]:
    torch.manual_seed(0)
    params = [torch.randn(n).to(device).requires_grad_() for n in ((4, 3), (3,))]
    optimizer = info.optim_cls(params, **options)
    sign = -1 if options.get("maximize") else 1  # or L-BFGS climbs without end, to no number
    for step in range(4):

        def closure(step: int = step) -> torch.Tensor:
            optimizer.zero_grad()
            loss = sign * ((params[0] * (step + 1)).square().mean() + params[1].sin().sum())
            loss.backward()
            return loss

        optimizer.step(closure)
    return [p.detach().cpu() for p in params]


@pytest.mark.parametrize("mode", ["forloop", "foreach", "fused"])
@pytest.mark.parametrize("info", optim_db, ids=lambda info: info.optim_cls.__name__)
def test_optimizer(info: Any, mode: str, fallbacks: dict[str, int]) -> None:
    name = info.optim_cls.__name__
    if name in SKIPPED_OPTIMIZERS:
        pytest.skip(SKIPPED_OPTIMIZERS[name])
    if mode != "forloop" and mode not in info.supported_impls:
        pytest.skip(f"torch has no {mode} form of it")
    ways = {
        "forloop": {"foreach": False} if "foreach" in info.supported_impls else {},
        "foreach": {"foreach": True},
    }
    chosen = ways.get(mode, {"fused": True})
    # L-BFGS divides by differences of gradients, which amplifies how sums are rounded.
    rtol = 2e-2 if name == "LBFGS" else 2e-3
    ran = 0
    for sample in info.optim_inputs_func(device="cpu"):
        options = {
            k: v
            for k, v in sample.kwargs.items()
            if k not in ("foreach", "fused", "capturable", "differentiable")
        }
        options = {k: v.item() if isinstance(v, torch.Tensor) else v for k, v in options.items()}
        try:
            info.optim_cls([torch.ones(1, device="mlx", requires_grad=True)], **options, **chosen)
        except (TypeError, ValueError, RuntimeError):
            continue  # torch refuses these options together
        expected, found = _trained(info, options, "cpu"), _trained(info, options | chosen, "mlx")
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=rtol, atol=1e-4)
        ran += 1
    assert ran


@pytest.mark.filterwarnings(
    "ignore::tdev_core.errors.FallbackWarning", "ignore:The PyTorch API of nested"
)
def test_a_padded_encoder_infers_without_nested_tensors() -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2).eval()
    x, padded = torch.randn(3, 5, 16), torch.arange(5) >= torch.tensor([[3], [5], [1]])
    with torch.inference_mode():
        expected = encoder(x, src_key_padding_mask=padded)
        found = encoder.to("mlx")(x.to("mlx"), src_key_padding_mask=padded.to("mlx"))
    torch.testing.assert_close(found.cpu()[~padded], expected[~padded], rtol=1e-4, atol=1e-5)
