"""CUDA's autocast on the CPU: which operator runs in which type, and whom that concerns.

The table is "Autocast Op Reference" of torch's documentation and ``aten/src/ATen/autocast_mode.h``, written down a
second time on purpose: by call and by the type that CUDA gives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import tdev
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from tdev_core.accelerators.privateuse import autocast as lists
from tdev_core.release import torch_release

_WIDE, _HALF = torch.float32, torch.float16


def _t(*shape: int, dtype: torch.dtype = _HALF) -> torch.Tensor:
    return (torch.arange(1, 1 + torch.Size(shape).numel()) % 7 / 16 + 0.25).reshape(shape).to(dtype)


def _w(*shape: int) -> torch.Tensor:
    return _t(*shape, dtype=_WIDE)


_labels = torch.tensor([0, 1, 1, 0])
_LOWER: dict[str, Callable[[], torch.Tensor]] = {
    "_convolution": lambda: torch._convolution(
        _w(1, 2, 5), _w(3, 2, 3), None, [1], [0], [1], False, [0], 1, False, False, False, False
    ),
    "conv1d": lambda: F.conv1d(_w(1, 2, 5), _w(3, 2, 3)),
    "conv2d": lambda: F.conv2d(_w(1, 2, 5, 5), _w(3, 2, 3, 3)),
    "conv3d": lambda: F.conv3d(_w(1, 2, 5, 5, 5), _w(3, 2, 3, 3, 3)),
    "conv1d.padding": lambda: F.conv1d(_w(1, 2, 5), _w(3, 2, 3), padding="same"),
    "conv2d.padding": lambda: F.conv2d(_w(1, 2, 5, 5), _w(3, 2, 3, 3), padding="same"),
    "conv3d.padding": lambda: F.conv3d(_w(1, 2, 5, 5, 5), _w(3, 2, 3, 3, 3), padding="same"),
    "conv_tbc": lambda: torch.conv_tbc(_w(5, 1, 2), _w(3, 2, 4), _w(4)),
    "conv_transpose1d": lambda: F.conv_transpose1d(_w(1, 2, 5), _w(2, 3, 3)),
    "conv_transpose2d.input": lambda: F.conv_transpose2d(_w(1, 2, 5, 5), _w(2, 3, 3, 3)),
    "conv_transpose3d.input": lambda: F.conv_transpose3d(_w(1, 2, 5, 5, 5), _w(2, 3, 3, 3, 3)),
    "convolution": lambda: torch.convolution(
        _w(1, 2, 5), _w(3, 2, 3), None, [1], [0], [1], False, [0], 1
    ),
    "prelu": lambda: F.prelu(_w(2, 3), _w(3)),
    "addmm": lambda: torch.addmm(_w(2, 2), _w(2, 3), _w(3, 2)),
    "addmv": lambda: torch.addmv(_w(2), _w(2, 3), _w(3)),
    "addr": lambda: torch.addr(_w(2, 3), _w(2), _w(3)),
    "matmul": lambda: _w(2, 3) @ _w(3, 2),
    "einsum": lambda: torch.einsum("ij,kj->ik", _w(2, 3), _w(4, 3)),
    "mm": lambda: torch.mm(_w(2, 3), _w(3, 2)),
    "mv": lambda: torch.mv(_w(2, 3), _w(3)),
    "linalg_vecdot": lambda: torch.linalg.vecdot(_w(2, 3), _w(2, 3)),
    "linear": lambda: F.linear(_w(2, 3), _w(4, 3), _w(4)),
    "addbmm": lambda: torch.addbmm(_w(2, 2), _w(4, 2, 3), _w(4, 3, 2)),
    "baddbmm": lambda: torch.baddbmm(_w(4, 2, 2), _w(4, 2, 3), _w(4, 3, 2)),
    "bmm": lambda: torch.bmm(_w(4, 2, 3), _w(4, 3, 2)),
    "chain_matmul": lambda: torch.chain_matmul(_w(2, 3), _w(3, 2), _w(2, 4)),
    "linalg_multi_dot": lambda: torch.linalg.multi_dot([_w(2, 3), _w(3, 2), _w(2, 4)]),
    "lstm_cell": lambda: torch.lstm_cell(_w(1, 3), (_w(1, 2), _w(1, 2)), _w(8, 3), _w(8, 2))[0],
    "gru_cell": lambda: torch.gru_cell(_w(1, 3), _w(1, 2), _w(6, 3), _w(6, 2)),
    "rnn_tanh_cell": lambda: torch.rnn_tanh_cell(_w(1, 3), _w(1, 2), _w(2, 3), _w(2, 2)),
    "rnn_relu_cell": lambda: torch.rnn_relu_cell(_w(1, 3), _w(1, 2), _w(2, 3), _w(2, 2)),
    "scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(
        _w(1, 2, 4, 8), _w(1, 2, 4, 8), _w(1, 2, 4, 8)
    ),
    "lstm.input": lambda: nn.LSTM(3, 4)(_w(5, 2, 3))[0],
    "lstm.data": lambda: nn.LSTM(3, 4)(_packed())[0].data,
    "gru.input": lambda: nn.GRU(3, 4)(_w(5, 2, 3))[0],
    "gru.data": lambda: nn.GRU(3, 4)(_packed())[0].data,
    "rnn_tanh.input": lambda: nn.RNN(3, 4)(_w(5, 2, 3))[0],
    "rnn_tanh.data": lambda: nn.RNN(3, 4)(_packed())[0].data,
    "rnn_relu.input": lambda: nn.RNN(3, 4, nonlinearity="relu")(_w(5, 2, 3))[0],
    "rnn_relu.data": lambda: nn.RNN(3, 4, nonlinearity="relu")(_packed())[0].data,
}
_FP32: dict[str, Callable[[], torch.Tensor]] = {
    **{
        name: lambda name=name: getattr(torch, name)(_t(2, 3))
        for name in "acos asin erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh cosh tan".split()
    },
    "pow.Tensor_Scalar": lambda: _t(2, 3) ** 2,
    "pow.Tensor_Tensor": lambda: _t(2, 3) ** _t(2, 3),
    "pow.Scalar": lambda: 2 ** _t(2, 3),
    "softplus": lambda: F.softplus(_t(2, 3)),
    "layer_norm": lambda: F.layer_norm(_t(2, 3), [3], _w(3), _w(3)),
    "native_layer_norm": lambda: torch.native_layer_norm(_t(2, 3), [3], None, None, 1e-5)[0],
    "group_norm": lambda: F.group_norm(_t(2, 4, 3), 2, _w(4), _w(4)),
    "rms_norm": lambda: F.rms_norm(_t(2, 3), [3]),
    "frobenius_norm.dim": lambda: torch.ops.aten.frobenius_norm.dim(_t(2, 3), [1]),
    "nuclear_norm": lambda: torch.ops.aten.nuclear_norm(_t(2, 3)),
    "nuclear_norm.dim": lambda: torch.ops.aten.nuclear_norm.dim(_t(2, 3), [0, 1]),
    "cosine_similarity": lambda: F.cosine_similarity(_t(2, 3), _t(2, 3)),
    "poisson_nll_loss": lambda: F.poisson_nll_loss(_t(4), _t(4)),
    "cosine_embedding_loss": lambda: F.cosine_embedding_loss(_t(4, 3), _t(4, 3), _t(4)),
    "nll_loss": lambda: F.nll_loss(_t(4, 3), _labels),
    "nll_loss2d": lambda: F.nll_loss(_t(1, 3, 2, 2), _labels.reshape(1, 2, 2)),
    "hinge_embedding_loss": lambda: F.hinge_embedding_loss(_t(4), _t(4)),
    "kl_div": lambda: F.kl_div(_t(4, 3), _t(4, 3), reduction="sum"),
    "l1_loss": lambda: F.l1_loss(_t(4), _t(4)),
    "smooth_l1_loss": lambda: F.smooth_l1_loss(_t(4), _t(4)),
    "huber_loss": lambda: F.huber_loss(_t(4), _t(4)),
    "mse_loss": lambda: F.mse_loss(_t(4), _t(4)),
    "margin_ranking_loss": lambda: F.margin_ranking_loss(_t(4), _t(4), _t(4)),
    "multilabel_margin_loss": lambda: F.multilabel_margin_loss(_t(4), _labels),
    "soft_margin_loss": lambda: F.soft_margin_loss(_t(4), _t(4)),
    "triplet_margin_loss": lambda: F.triplet_margin_loss(_t(4, 3), _t(4, 3), _t(4, 3)),
    "multi_margin_loss": lambda: F.multi_margin_loss(_t(4, 3), _labels),
    "binary_cross_entropy_with_logits": lambda: F.binary_cross_entropy_with_logits(_t(4), _t(4)),
    "dist": lambda: torch.dist(_t(4), _t(4)),
    "pdist": lambda: F.pdist(_t(4, 3)),
    "cdist": lambda: torch.cdist(_t(4, 3), _t(4, 3)),
    "renorm": lambda: torch.renorm(_t(4, 3), 2, 0, 1.0),
    "cross_entropy_loss": lambda: F.cross_entropy(_t(4, 3), _labels),
    "logsumexp": lambda: torch.logsumexp(_t(4, 3), 1),
    "upsample_nearest1d": lambda: F.interpolate(_t(1, 1, 4), 8),
    "_upsample_nearest_exact1d": lambda: F.interpolate(_t(1, 1, 4), 8, mode="nearest-exact"),
    "upsample_nearest2d": lambda: F.interpolate(_t(1, 1, 4, 4), 8),
    "_upsample_nearest_exact2d": lambda: F.interpolate(_t(1, 1, 4, 4), 8, mode="nearest-exact"),
    "upsample_nearest3d": lambda: F.interpolate(_t(1, 1, 4, 4, 4), 8),
    "_upsample_nearest_exact3d": lambda: F.interpolate(_t(1, 1, 4, 4, 4), 8, mode="nearest-exact"),
    "upsample_linear1d": lambda: F.interpolate(_t(1, 1, 4), 8, mode="linear"),
    "upsample_bilinear2d": lambda: F.interpolate(_t(1, 1, 4, 4), 8, mode="bilinear"),
    "_upsample_bilinear2d_aa": lambda: F.interpolate(
        _t(1, 1, 4, 4), 8, mode="bilinear", antialias=True
    ),
    "upsample_trilinear3d": lambda: F.interpolate(_t(1, 1, 4, 4, 4), 8, mode="trilinear"),
    "upsample_bicubic2d": lambda: F.interpolate(_t(1, 1, 4, 4), 8, mode="bicubic"),
    "_upsample_bicubic2d_aa": lambda: F.interpolate(
        _t(1, 1, 4, 4), 8, mode="bicubic", antialias=True
    ),
    "norm.Scalar": lambda: torch.ops.aten.norm.Scalar(_t(4, 3)),
    "norm.ScalarOpt_dim": lambda: torch.ops.aten.norm.ScalarOpt_dim(_t(4, 3), 2, [1]),
    "prod": lambda: _t(4, 3).prod(),
    "prod.dim_int": lambda: _t(4, 3).prod(1),
    "softmax.int": lambda: _t(4, 3).softmax(1),
    "log_softmax.int": lambda: _t(4, 3).log_softmax(1),
    "cumprod": lambda: _t(4, 3).cumprod(1),
    "cumsum": lambda: _t(4, 3).cumsum(1),
    "linalg_vector_norm": lambda: torch.linalg.vector_norm(_t(4, 3)),
    "linalg_matrix_norm": lambda: torch.linalg.matrix_norm(_t(4, 3)),
    "linalg_matrix_norm.str_ord": lambda: torch.linalg.matrix_norm(_t(4, 3), "fro"),
    "sum": lambda: _t(4, 3).sum(),
    "sum.dim_IntList": lambda: _t(4, 3).sum(1),
}
_PROMOTE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "addcdiv": lambda other: torch.addcdiv(_t(2), _t(2), other),
    "addcmul": lambda other: torch.addcmul(_t(2), _t(2), other),
    "atan2": lambda other: torch.atan2(_t(2), other),
    "bilinear": lambda other: F.bilinear(_t(1, 2), other[None], _t(3, 2, 2)),
    "cross": lambda other: torch.cross(_t(2, 3), other[:, None].expand(2, 3), dim=1),
    "dot": lambda other: torch.dot(_t(2), other),
    "vdot": lambda other: torch.vdot(_t(2), other),
    "grid_sampler": lambda other: F.grid_sample(
        _t(1, 1, 4, 4), other.expand(1, 2, 2, 2), align_corners=False
    ),
    "index_put": lambda other: torch.index_put(_t(3), (_labels[:2],), other),
    "tensordot": lambda other: torch.tensordot(_t(2), other, 1),
    "scatter_add": lambda other: torch.scatter_add(_t(2), 0, _labels[:2], other),
}
_AS_GIVEN: dict[str, Callable[[], torch.Tensor]] = {
    "mean": lambda: _t(4, 3).mean(),
    "relu": lambda: _t(4).relu(),
    "gelu": lambda: F.gelu(_t(4)),
    "var": lambda: _t(4).var(),
    "batch_norm": lambda: F.batch_norm(_t(4, 3), _w(3), _w(3)),
    "max_pool2d": lambda: F.max_pool2d(_t(1, 1, 4, 4), 2),
    "adaptive_avg_pool3d": lambda: F.adaptive_avg_pool3d(_t(1, 1, 4, 4, 4), 2),
    "adaptive_max_pool3d": lambda: F.adaptive_max_pool3d(_t(1, 1, 4, 4, 4), 2),
    "avg_pool3d": lambda: F.avg_pool3d(_t(1, 1, 4, 4, 4), 2),
    "max_pool3d": lambda: F.max_pool3d(_t(1, 1, 4, 4, 4), 2),
    "max_unpool2d": lambda: F.max_unpool2d(
        *F.max_pool2d(_t(1, 1, 4, 4), 2, return_indices=True), 2
    ),
    "max_unpool3d": lambda: F.max_unpool3d(
        *F.max_pool3d(_t(1, 1, 4, 4, 4), 2, return_indices=True), 2
    ),
    "fractional_max_pool2d": lambda: F.fractional_max_pool2d(
        _t(1, 1, 4, 4), 2, 2, _random_samples=_t(1, 1, 2)
    ),
    "fractional_max_pool3d": lambda: F.fractional_max_pool3d(
        _t(1, 1, 4, 4, 4), 2, 2, _random_samples=_t(1, 1, 3)
    ),
    "reflection_pad1d": lambda: F.pad(_t(1, 1, 4), (1, 1), "reflect"),
    "reflection_pad2d": lambda: F.pad(_t(1, 1, 4, 4), (1, 1, 1, 1), "reflect"),
    "replication_pad1d": lambda: F.pad(_t(1, 1, 4), (1, 1), "replicate"),
    "replication_pad2d": lambda: F.pad(_t(1, 1, 4, 4), (1, 1, 1, 1), "replicate"),
    "replication_pad3d": lambda: F.pad(_t(1, 1, 4, 4, 4), (1, 1, 1, 1, 1, 1), "replicate"),
    "grid_sampler_2d": lambda: torch.grid_sampler_2d(_t(1, 1, 4, 4), _t(1, 2, 2, 2), 0, 0, False),
    "grid_sampler_3d": lambda: torch.grid_sampler_3d(
        _t(1, 1, 4, 4, 4), _t(1, 2, 2, 2, 3), 0, 0, False
    ),
    "cat": lambda: torch.cat([_t(4), _t(4)]),
    "stack": lambda: torch.stack([_t(4), _t(4)]),
    "index_copy": lambda: torch.index_copy(_t(4), 0, _labels[:2], _t(2)),
    "trace": lambda: torch.trace(_t(4, 4)),
    "_addmm_activation": lambda: torch._addmm_activation(_t(2), _t(2, 3), _t(3, 2)),
}


def _packed() -> nn.utils.rnn.PackedSequence:
    return nn.utils.rnn.pack_sequence([_w(4, 3), _w(2, 3)])


def _autocast(**settings: object) -> torch.autocast:
    return tdev.autocast("cuda", **settings)


def test_the_table_has_every_operator_of_the_lists() -> None:
    absent = {"norm.names_ScalarOpt_dim"}  # named tensors
    assert set(_LOWER) == set(lists.LOWER)
    assert set(_FP32) == {*lists.FP32, *lists.FP32_RESULT} - absent
    assert set(_PROMOTE) == set(lists.PROMOTE)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", _LOWER)
def test_products_and_convolutions_run_narrow(name: str, dtype: torch.dtype) -> None:
    with _autocast(dtype=dtype):
        assert _LOWER[name]().dtype is dtype


@pytest.mark.parametrize("name", _FP32)
def test_what_loses_too_much_runs_in_float32(name: str) -> None:
    with _autocast():
        assert _FP32[name]().dtype is _WIDE


@pytest.mark.parametrize("name", _PROMOTE)
def test_mixed_arguments_run_in_the_widest_type(name: str) -> None:
    with _autocast():
        assert _PROMOTE[name](_t(2)).dtype is _HALF
        assert _PROMOTE[name](_w(2)).dtype is _WIDE


@pytest.mark.parametrize("name", _AS_GIVEN)
def test_what_cuda_does_not_list_runs_as_it_is_given(name: str) -> None:
    if name == "trace" and torch_release < (2, 13):
        pytest.skip("there the CPU has no trace of float16")
    with _autocast():
        assert _AS_GIVEN[name]().dtype is _HALF


def test_a_sum_that_float16_cannot_hold() -> None:
    a = torch.full((300, 300), 2.0)
    with _autocast():
        assert (a @ a).sum().item() == 300 * 300 * 1200


def test_binary_cross_entropy_is_refused() -> None:
    with _autocast(), pytest.raises(RuntimeError, match="unsafe to autocast"):
        F.binary_cross_entropy(_t(4), _t(4))
    with torch.autocast("cpu"):
        assert F.binary_cross_entropy(_t(4), _t(4)).dtype is _WIDE


def _cpu_lists() -> bool:
    """Tell that the CPU's own lists are in force: they leave a softmax narrow and widen a pool."""
    x = _t(1, 1, 4, 4, 4)
    return x.softmax(1).dtype is _HALF and F.max_pool3d(x, 2).dtype is _WIDE


def test_the_cpus_own_autocast_keeps_its_lists() -> None:
    with _autocast():
        assert not _cpu_lists()
    with torch.autocast("cpu", dtype=_HALF):
        assert _cpu_lists() and not tdev.is_autocast_enabled("cuda")
        with _autocast():
            assert not _cpu_lists() and tdev.is_autocast_enabled()
        assert _cpu_lists()
        with _autocast(enabled=False):
            assert (_w(2, 2) @ _w(2, 2)).dtype is _HALF
        assert _cpu_lists() and torch.get_autocast_dtype("cpu") is _HALF
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16


def test_the_cpus_own_autocast_in_another_thread_at_the_same_time() -> None:
    entered, seen, done = threading.Event(), [], threading.Event()

    def other() -> None:
        with torch.autocast("cpu", dtype=_HALF):
            entered.wait(60)
            seen.append(_cpu_lists())
        seen.append((_w(2, 2) @ _w(2, 2)).dtype)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with _autocast():
        entered.set()
        assert done.wait(60) and not _cpu_lists()
    thread.join()
    assert seen == [True, _WIDE]


def test_a_region_ends_with_an_error() -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), _autocast(), _autocast(enabled=False):
            raise ZeroDivisionError
        assert _t(4).sum().dtype is _HALF and not torch.is_autocast_enabled("cpu")


def test_disabled_inside_and_enabled_again() -> None:
    with _autocast():
        with _autocast(enabled=False):
            assert _t(4).sum().dtype is _HALF and F.linear(_w(2, 2), _w(2, 2)).dtype is _WIDE
            with _autocast(dtype=torch.bfloat16):
                assert _t(4).sum().dtype is _WIDE
                assert F.linear(_w(2, 2), _w(2, 2)).dtype is torch.bfloat16
        assert _t(4).sum().dtype is _WIDE and F.linear(_w(2, 2), _w(2, 2)).dtype is _HALF


def test_by_the_tensors_device_type_means_the_region_too() -> None:
    """Models force float32 with ``torch.autocast(x.device.type, enabled=False)``."""
    x = _t(4)
    with _autocast():
        with torch.autocast(x.device.type, enabled=False):
            assert x.exp().dtype is _HALF and (_w(2, 2) @ _w(2, 2)).dtype is _WIDE
            assert torch.einsum("i,j->ij", _w(2), _w(2)).dtype is _WIDE
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            assert x.exp().dtype is _WIDE and (_w(2, 2) @ _w(2, 2)).dtype is torch.bfloat16
        assert torch.is_autocast_enabled(x.device.type) and torch.is_autocast_enabled()


def test_float64_and_given_types_stay() -> None:
    with _autocast():
        assert _t(4, dtype=torch.float64).exp().dtype is torch.float64
        assert _t(4).sum(dtype=_HALF).dtype is _HALF
        assert torch.arange(3).sum().dtype is torch.int64
        assert _t(4).softmax(0, _HALF).dtype is _HALF


def test_autocast_takes_float32_as_cuda_does() -> None:
    with _autocast(dtype=torch.float32):
        assert (_t(2, 2) @ _t(2, 2)).dtype is _WIDE


@pytest.mark.parametrize("cached", [True, False])
def test_weights_are_cast_once_in_a_region_with_a_cache(cached: bool) -> None:
    weight = nn.Parameter(_w(2, 2))
    casts = []
    with _autocast(cache_enabled=cached):
        outputs = [F.linear(_w(1, 2), weight) for _ in range(2)]
    for output in outputs:
        function = next(f for f, _ in output.grad_fn.next_functions if f is not None)
        while function.name() != "ToCopyBackward0":
            function = next(f for f, _ in function.next_functions if f is not None)
        casts.append(function)
    assert (casts[0] is casts[1]) is cached


class _Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.norm = nn.LayerNorm(8)
        self.mix = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(self.embed(x))
        h = h + torch.einsum("bij,bjk->bik", h @ h.mT, self.mix(h)).softmax(-1)
        return F.mse_loss(h.sum(-1), h.exp().prod(-1))


def _gradients(forward: Callable[..., torch.Tensor], inside: bool) -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = _Model()
    tokens = torch.arange(10).reshape(2, 5)
    if inside:
        loss = forward(model, tokens)
    else:
        with _autocast():
            loss = forward(model, tokens)
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters() if p.grad is not None)]


def _inside(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cuda"):
        return model(tokens)


@pytest.mark.parametrize("inside", [True, False], ids=["region inside", "region outside"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_forward_and_backward_are_the_same(backend: str, inside: bool) -> None:
    def plain(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
        return model(tokens)

    forward = _inside if inside else plain
    compiled = torch.compile(forward, backend=backend, fullgraph=True)
    for got, wanted in zip(_gradients(compiled, inside), _gradients(forward, inside), strict=True):
        assert got.dtype is wanted.dtype
        torch.testing.assert_close(got, wanted)


def test_what_is_compiled_under_one_list_is_not_used_under_the_other() -> None:
    compiled = torch.compile(lambda x: x.softmax(0), backend="aot_eager", fullgraph=True)
    x = _t(4)
    with torch.autocast("cpu", dtype=_HALF):
        assert compiled(x).dtype is _HALF
    with _autocast():
        assert compiled(x).dtype is _WIDE
    assert compiled(x).dtype is _HALF


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_is_recomputed_by_the_same_lists(reentrant: bool) -> None:
    seen = []

    def block(x: torch.Tensor) -> torch.Tensor:
        h = x.half().softmax(0)
        seen.append((h.dtype, (x @ x).dtype))
        return h.sum() + (x @ x).sum()

    x = _w(3, 3).requires_grad_()
    with _autocast():
        loss = checkpoint(block, x, use_reentrant=reentrant)
    loss.backward()
    assert seen == [(_WIDE, _HALF)] * 2
    seen.clear()
    with torch.autocast("cpu", dtype=_HALF):
        loss = checkpoint(block, x, use_reentrant=reentrant)
    loss.backward()
    assert seen == [(_HALF, _HALF)] * 2


def test_a_function_of_ones_own_has_cudas_lists_in_its_backward() -> None:
    seen = []

    class Softmax(torch.autograd.Function):
        @staticmethod
        @tdev.amp.custom_fwd(device_type="cuda")
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            seen.append(_t(4).softmax(0).dtype)
            return x * 1

        @staticmethod
        @tdev.amp.custom_bwd(device_type="cuda")
        def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
            seen.append(_t(4).softmax(0).dtype)
            return grad

    x = _w(4).requires_grad_()
    with _autocast():
        y = Softmax.apply(x)
    y.sum().backward()
    assert seen == [_WIDE, _WIDE]


def test_an_exported_program_says_cuda_and_keeps_the_lists() -> None:
    class Products(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cuda"):
                return (x @ x).softmax(0)

    x = _w(3, 3)
    program = torch.export.export(Products(), (x,))
    assert torch.equal(program.module()(x), Products()(x))
    assert program.module()(x).dtype is _WIDE


def test_settings_without_a_context() -> None:
    tdev.set_autocast_enabled(True)
    try:
        assert _t(4).softmax(0).dtype is _WIDE and tdev.is_autocast_enabled()
        tdev.set_autocast_gpu_dtype(torch.bfloat16)
        assert (_w(2, 2) @ _w(2, 2)).dtype is torch.bfloat16
    finally:
        tdev.set_autocast_gpu_dtype(_HALF)
        tdev.set_autocast_enabled(False)
    assert _t(4).softmax(0).dtype is _HALF
    with torch.autocast("cpu"):
        assert (_w(2, 2) @ _w(2, 2)).dtype is torch.bfloat16  # its default is as it was


def test_the_dtype_that_is_set_is_the_regions() -> None:
    before = tdev.get_autocast_dtype("cuda")
    own = torch.get_autocast_dtype("cpu")
    tdev.set_autocast_dtype("cuda", torch.bfloat16 if before is torch.float16 else torch.float16)
    try:
        assert torch.get_autocast_dtype("cpu") is own
        tdev.set_autocast_enabled("cuda", True)
        x = tdev.ones(2, 2, device="cuda")
        assert (x @ x).dtype is tdev.get_autocast_dtype("cuda") is not before
    finally:
        tdev.set_autocast_enabled("cuda", False)
        tdev.set_autocast_dtype("cuda", before)
    assert torch.get_autocast_dtype("cpu") is own and (x @ x).dtype is torch.float32


@pytest.mark.parametrize("compiled", [False, True])
def test_higher_order_operators_run_in_a_region(compiled: bool) -> None:
    def twice(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: (x @ x).sum(), lambda x: x.sum(), (x,))

    run = tdev.compile(twice, backend="eager") if compiled else twice
    with tdev.autocast("cuda", dtype=torch.bfloat16):
        assert run(tdev.ones(2, 2, device="cuda")).item() == 8


_COMPUTE = "convolution", "mm", "addmm", "bmm", "mkldnn_rnn_layer"


class _Seen(TorchDispatchMode):
    """Notes in which types convolutions and products are computed."""

    def __init__(self) -> None:
        super().__init__()
        self.types: list[torch.dtype] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name.partition("::")[2].startswith(_COMPUTE):
            self.types.append(args[0].dtype)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_convolutions_in_float16_are_computed_in_float32(dtype: torch.dtype) -> None:
    """The CPU has no fast ones in float16; in bfloat16 it has."""
    layer, x = nn.Conv2d(3, 4, 3), torch.rand(2, 3, 8, 8, requires_grad=True)
    with tdev.autocast("cuda", dtype=dtype), _Seen() as seen:
        y = layer(x)
        y.float().sum().backward()
    wide = _WIDE if dtype is _HALF else dtype
    assert y.dtype is dtype and seen.types == [wide, wide]
    assert layer.weight.grad is not None and layer.weight.grad.dtype is x.grad.dtype is _WIDE
    if dtype is _HALF:
        rounded = [p.detach().half().float() for p in (x, layer.weight, layer.bias)]
        assert torch.equal(y, F.conv2d(*rounded).half())
        assert x.grad.half().float().equal(x.grad), "rounded as CUDA's is"


@pytest.mark.parametrize(
    "product",
    [
        lambda x: nn.Linear(8, 8)(x),
        lambda x: x @ x.detach().mT,
        lambda x: torch.bmm(x[None], x[None].detach()),
        lambda x: torch.einsum("ij,kj->ik", x, x.detach()),
        lambda x: nn.ConvTranspose1d(8, 2, 3)(x[None]),
        lambda x: nn.LSTM(8, 4)(x)[0],
    ],
)
def test_products_in_float16_are_computed_in_float32(
    product: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    x = torch.rand(8, 8, requires_grad=True)
    with tdev.autocast("cuda"), _Seen() as seen:
        y = product(x)
        y.float().sum().backward()
    assert y.dtype is _HALF and seen.types and set(seen.types) == {_WIDE}
    assert x.grad is not None and x.grad.half().float().equal(x.grad), "rounded as CUDA's is"


def test_a_product_of_one_row_stays_as_fast_as_it_is() -> None:
    with tdev.autocast("cuda"), _Seen() as seen:
        F.linear(_w(1, 8), _w(8, 8))
        _w(8) @ _w(8, 8)
        F.linear(_w(8, 8), _w(8, 8))
    assert seen.types[-1] is _WIDE and set(seen.types[:-1]) <= {_HALF}


def test_a_convolution_beyond_float16_is_infinite() -> None:
    with tdev.autocast("cuda"):
        y = F.conv1d(torch.full((1, 1, 4), 60000.0), torch.full((1, 1, 2), 2.0))
    assert y.isinf().all()


def test_a_compiled_convolution_is_as_wide() -> None:
    layer, x = nn.Conv1d(2, 2, 3), torch.rand(1, 2, 8)

    def run(x: torch.Tensor) -> torch.Tensor:
        with tdev.autocast("cuda"):
            return layer(x)

    torch._dynamo.reset()
    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
    assert compiled(x).dtype is _HALF
    assert torch.equal(compiled(x), run(x))
