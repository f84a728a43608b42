"""Attention kernels by name, flexible and packed attention, and the registry, without CUDA."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import tdev
import torch
import torch.nn.attention.flex_attention
import torch.nn.functional as F
from tdev.nn.attention import SDPBackend, sdpa_kernel
from tdev.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    create_block_mask,
    flex_attention,
)
from tdev.nn.attention.varlen import AuxRequest as VarlenAuxRequest
from tdev.nn.attention.varlen import varlen_attn

from tdev_core.attention import sdpa
from tdev_core.backend import Backend, current
from tdev_core.errors import DeviceWarning, _warned
from tdev_core.release import torch_release

pytestmark = pytest.mark.skipif(
    current() is not Backend.CPU, reason="which kernels are here is asserted for the CPU"
)

newer_varlen = pytest.mark.skipif(
    torch_release < (2, 12), reason="torch 2.12 is the first that has it, or takes as much"
)

NAMES = ("cudnn", "flash", "mem_efficient", "math", "overrideable")


def flags() -> tuple[Any, ...]:
    """Every flag that chooses a kernel, and the order of preference."""
    found = tuple(getattr(torch._C, f"_get_{name}_sdp_enabled")() for name in NAMES)
    return *found, tuple(torch._C._get_sdp_priority_order())


@pytest.fixture(autouse=True)
def _flags_are_restored() -> Iterator[None]:
    _warned.clear()
    before = flags()
    yield
    assert flags() == before


def tensors(*shape: int, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=dtype) for _ in range(3)]


# -- choosing kernels ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "OVERRIDEABLE"])
def test_kernel_that_is_not_here(name: str, dtype: torch.dtype) -> None:
    inputs = tensors(2, 4, 8, 16, dtype=dtype)
    backend = SDPBackend.__members__[name]
    with pytest.warns(DeviceWarning, match=f"none of the attention kernels {name}"):
        context = sdpa_kernel(backend)
    with context:
        found = F.scaled_dot_product_attention(*inputs, is_causal=True)
    with torch.nn.attention.sdpa_kernel(SDPBackend.MATH):
        assert torch.equal(found, F.scaled_dot_product_attention(*inputs, is_causal=True))


@pytest.mark.parametrize("named", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_kernel_that_is_here_needs_no_warning(named: SDPBackend) -> None:
    inputs = tensors(2, 4, 8, 16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with sdpa_kernel(named):
            found = F.scaled_dot_product_attention(*inputs)
    assert torch.allclose(found, F.scaled_dot_product_attention(*inputs))


def test_flash_falls_back_for_what_only_cudas_takes() -> None:
    inputs = tensors(2, 4, 8, 16)
    mask = torch.zeros(8, 8, dtype=torch.float64, requires_grad=True)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        F.scaled_dot_product_attention(*inputs, attn_mask=mask).sum().backward()
        assert F.scaled_dot_product_attention(*inputs, dropout_p=0.5).shape == (2, 4, 8, 16)
    assert mask.grad is not None


def test_one_warning_for_each_place() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                pass
    ours = [warning for warning in caught if warning.category is DeviceWarning]
    assert len(ours) == 1 and ours[0].filename == __file__


def test_lists_nest_and_restore() -> None:
    named = [SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]
    outside = flags()
    with pytest.warns(DeviceWarning, match="CUDNN_ATTENTION, EFFICIENT_ATTENTION"):
        outer = sdpa_kernel(named, set_priority=True)
    with outer:
        order = [SDPBackend(value) for value in torch._C._get_sdp_priority_order()]
        assert order[:3] == [*named, SDPBackend.MATH]
        assert flags()[:4] == (True, False, True, True)
        inside = flags()
        with sdpa_kernel(SDPBackend.MATH):
            assert flags()[:4] == (False, False, False, True)
        assert flags() == inside
    assert flags() == outside
    assert named == [SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]


def test_exception_restores() -> None:
    outside = flags()
    with pytest.raises(KeyError), sdpa_kernel(SDPBackend.FLASH_ATTENTION, set_priority=True):
        raise KeyError
    assert flags() == outside


def test_as_decorator() -> None:
    @sdpa_kernel(SDPBackend.MATH)
    def seen() -> tuple[Any, ...]:
        return flags()

    assert seen()[:4] == (False, False, False, True)


@pytest.mark.parametrize("named", [[], SDPBackend.ERROR])
def test_no_kernel_at_all_is_torchs_error(named: Any) -> None:
    with sdpa_kernel(named), pytest.raises(RuntimeError, match="No viable backend"):
        F.scaled_dot_product_attention(*tensors(1, 1, 2, 4))


@pytest.mark.parametrize("named", ["flash", 1, None, (SDPBackend.MATH,)])
def test_no_backend_is_torchs_error(named: Any) -> None:
    with pytest.raises(AssertionError, match="Backend must be an instance"), sdpa_kernel(named):
        pass


def test_layers_run_under_cudnn() -> None:
    layer = torch.nn.MultiheadAttention(16, 2).eval()
    x = torch.randn(3, 2, 16)
    plain = layer(x, x, x, need_weights=False)[0]
    with pytest.warns(DeviceWarning), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        assert torch.allclose(layer(x, x, x, need_weights=False)[0], plain, atol=1e-6)


def test_compiled_without_graph_break() -> None:
    inputs = tensors(1, 2, 4, 8)

    def attend(*given: torch.Tensor) -> torch.Tensor:
        with sdpa.sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(*given)

    compiled = torch.compile(attend, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(*inputs), F.scaled_dot_product_attention(*inputs))


def test_older_form() -> None:
    inputs = tensors(1, 2, 4, 8)
    cuda = tdev.backends.cuda
    with (
        pytest.warns(FutureWarning, match="sdpa_kernel"),
        pytest.warns(DeviceWarning, match="EFFICIENT_ATTENTION, CUDNN_ATTENTION"),
        cuda.sdp_kernel(enable_flash=False, enable_math=False),
    ):
        assert flags()[:4] == (True, False, True, True)
        found = F.scaled_dot_product_attention(*inputs)
    assert torch.allclose(found, F.scaled_dot_product_attention(*inputs))


def test_biases_are_torchs() -> None:
    from tdev.nn.attention import bias

    assert bias.CausalBias is torch.nn.attention.bias.CausalBias
    query, key, value = tensors(1, 2, 6, 8)
    found = F.scaled_dot_product_attention(
        query[:, :, :4], key, value, attn_mask=bias.causal_lower_right(4, 6)
    )
    mask = torch.ones(4, 6, dtype=torch.bool).tril(2)
    plain = F.scaled_dot_product_attention(query[:, :, :4], key, value, attn_mask=mask)
    assert torch.allclose(found, plain)


# -- flash implementations ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["FA3", "FA4"])
def test_flash_for_cuda_keeps_the_hosts(name: str) -> None:
    assert name in tdev.nn.attention.list_flash_attention_impls()
    with pytest.warns(DeviceWarning, match=f"{name}.* is for CUDA"):
        tdev.nn.attention.activate_flash_attention_impl(name)
    assert tdev.nn.attention.current_flash_attention_impl() is None
    assert F.scaled_dot_product_attention(*tensors(1, 1, 2, 4)).shape == (1, 1, 2, 4)


def test_own_flash_implementation() -> None:
    registry, removed = tdev.nn.attention, []

    class Handle:
        def remove(self) -> None:
            removed.append(True)

    registry.register_flash_attention_impl("OWN", register_fn=Handle)
    try:
        registry.activate_flash_attention_impl("OWN")
        assert registry.current_flash_attention_impl() == "OWN"
        registry.restore_flash_attention_impl()
        assert removed and registry.current_flash_attention_impl() is None
    finally:
        torch.nn.attention._registry._FLASH_ATTENTION_IMPLS.pop("OWN")


def test_flash_implementation_that_nobody_registered() -> None:
    with pytest.raises(ValueError, match="Unknown flash attention impl 'FA9'"):
        tdev.nn.attention.activate_flash_attention_impl("FA9")


def test_broken_flash_implementation_of_ones_own() -> None:
    def fail() -> None:
        raise RuntimeError("broken")

    tdev.nn.attention.register_flash_attention_impl("BROKEN", register_fn=fail)
    try:
        with pytest.raises(RuntimeError, match="broken"):
            tdev.nn.attention.activate_flash_attention_impl("BROKEN")
    finally:
        torch.nn.attention._registry._FLASH_ATTENTION_IMPLS.pop("BROKEN")


# -- flex_attention -----------------------------------------------------------------------------

SLOPES = torch.tensor([0.5, 0.25, 0.1, 0.05], dtype=torch.float64)


def causal(b: Any, h: Any, q: Any, k: Any) -> Any:
    return q >= k


def slanted(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
    return score + SLOPES[h] * (k - q)


def mask_of(size: int) -> Any:
    return create_block_mask(causal, None, None, size, size, device="cuda", BLOCK_SIZE=4)


@pytest.mark.parametrize("score_mod", [None, slanted])
@pytest.mark.parametrize("masked", [False, True])
def test_flex_with_gradients_is_flex_without(score_mod: Any, masked: bool) -> None:
    inputs = tensors(2, 4, 8, 16)
    block_mask = mask_of(8) if masked else None
    plain = torch.nn.attention.flex_attention.flex_attention(
        *inputs, score_mod=score_mod, block_mask=block_mask
    )
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    found = flex_attention(*leaves, score_mod=score_mod, block_mask=block_mask)
    assert torch.allclose(found, plain)
    found.square().sum().backward()
    bias = torch.zeros(4, 8, 8, dtype=torch.float64)
    if score_mod is not None:
        distance = torch.arange(8)[None, :] - torch.arange(8)[:, None]
        bias = SLOPES[:, None, None] * distance
    if masked:
        bias = bias.masked_fill(~torch.ones(8, 8, dtype=torch.bool).tril(), -math.inf)
    again = [tensor.clone().requires_grad_() for tensor in inputs]
    F.scaled_dot_product_attention(*again, attn_mask=bias).square().sum().backward()
    for mine, reference in zip(leaves, again, strict=True):
        assert mine.grad is not None and torch.allclose(mine.grad, reference.grad)


def test_flex_trains_what_the_score_function_captures() -> None:
    inputs = [tensor.requires_grad_() for tensor in tensors(1, 2, 4, 8)]
    learned = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    out = flex_attention(*inputs, score_mod=lambda s, b, h, q, k: s + learned[h] * (q - k))
    out.square().sum().backward()
    assert learned.grad is not None and learned.grad.abs().sum() > 0


def test_flex_grouped_queries_and_auxiliary_outputs() -> None:
    query = tensors(2, 4, 6, 8)[0]
    key, value = tensors(2, 2, 6, 8)[:2]
    plain, aux = torch.nn.attention.flex_attention.flex_attention(
        query, key, value, enable_gqa=True, return_aux=AuxRequest(lse=True)
    )
    found, mine = flex_attention(
        query, key, value, enable_gqa=True, return_aux=AuxRequest(lse=True, max_scores=True)
    )
    assert torch.allclose(found, plain) and torch.allclose(mine.lse, aux.lse)
    scores = query @ key.repeat_interleave(2, dim=1).transpose(-2, -1) / math.sqrt(8)
    assert torch.allclose(mine.max_scores, scores.amax(-1))
    with pytest.raises(ValueError, match="enable_gqa=True"):
        flex_attention(query.requires_grad_(), key, value)
    with pytest.raises(ValueError, match="no multiple of the"):
        flex_attention(query[:, :3].requires_grad_(), key, value, enable_gqa=True)
    with pytest.raises(NotImplementedError, match="4 dimensions"):
        flex_attention(*[tensor[0] for tensor in (query, key, value)], enable_gqa=True)


def test_flex_rows_that_see_nothing_are_zero() -> None:
    inputs = [tensor.requires_grad_() for tensor in tensors(1, 1, 4, 8)]
    block_mask = create_block_mask(lambda b, h, q, k: q > k, None, None, 4, 4, device="cpu")
    out, lse = flex_attention(*inputs, block_mask=block_mask, return_lse=True)
    out.sum().backward()
    assert out[0, 0, 0].abs().sum() == 0 and torch.isneginf(lse[0, 0, 0])
    assert inputs[2].grad is not None and not torch.isnan(inputs[2].grad).any()


def test_flex_blocks_without_a_mask_function() -> None:
    """Two blocks of four keys, of which only the first is kept."""
    blocks = BlockMask.from_kv_blocks(
        torch.tensor([[[1, 1]]], dtype=torch.int32),
        torch.tensor([[[[0, 1], [0, 1]]]], dtype=torch.int32),
        BLOCK_SIZE=4,
    )
    inputs = tensors(1, 1, 8, 8)
    found = flex_attention(inputs[0].clone().requires_grad_(), *inputs[1:], block_mask=blocks)
    plain = F.scaled_dot_product_attention(inputs[0], inputs[1][:, :, :4], inputs[2][:, :, :4])
    assert torch.allclose(found, plain)


# -- packed sequences ---------------------------------------------------------------------------

LENGTHS = [3, 5, 1]
BOUNDS = torch.tensor([0, 3, 8, 9], dtype=torch.int32)


def separate(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any = None, **options: Any
) -> torch.Tensor:
    """Each sequence by torch's own attention."""
    parts = []
    for index, length in enumerate(LENGTHS):
        own = slice(int(BOUNDS[index]), int(BOUNDS[index + 1]))
        heads = [tensor[own].transpose(0, 1) for tensor in (query, key, value)]
        chosen = None if mask is None else mask(length)
        out = F.scaled_dot_product_attention(*heads, attn_mask=chosen, **options)
        parts.append(out.transpose(0, 1))
    return torch.cat(parts)


def band(left: int, right: int) -> Any:
    def mask(length: int) -> torch.Tensor:
        distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        keep = torch.ones(length, length, dtype=torch.bool)
        if left >= 0:
            keep &= distance >= -left
        if right >= 0:
            keep &= distance <= right
        return keep

    return mask


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (1, 0), (2, 1), (-1, 2)])
def test_packed_sequences(window: tuple[int, int]) -> None:
    leaves = [tensor.requires_grad_() for tensor in tensors(9, 4, 8)]
    found = varlen_attn(*leaves, BOUNDS, BOUNDS, 5, 5, window_size=window, scale=0.3)
    plain = separate(*leaves, mask=band(*window), scale=0.3)
    assert torch.allclose(found, plain)
    mine = torch.autograd.grad(found.square().sum(), leaves)
    reference = torch.autograd.grad(plain.square().sum(), leaves)
    assert all(torch.allclose(a, b) for a, b in zip(mine, reference, strict=True))


@newer_varlen
def test_packed_grouped_queries_and_row_sums() -> None:
    query = tensors(9, 4, 8)[0]
    key, value = tensors(9, 2, 8)[:2]
    aux = VarlenAuxRequest(lse=True)
    found, lse = varlen_attn(
        query, key, value, BOUNDS, BOUNDS, 5, 5, enable_gqa=True, return_aux=aux
    )
    assert torch.allclose(found, separate(query, key, value, enable_gqa=True))
    assert lse.shape == (4, 9)
    scores = query[:3, 0] @ key[:3, 0].T / math.sqrt(8)
    assert torch.allclose(lse[0, :3], scores.logsumexp(-1))


@newer_varlen
def test_packed_keys_of_which_some_count() -> None:
    """Four valid tokens of each cache slot; the last query is aligned to the last valid key."""
    query, key, value = tensors(2, 1, 8)[0], *tensors(12, 1, 8)[:2]
    slots = torch.tensor([0, 6, 12], dtype=torch.int32)
    each = torch.tensor([0, 1, 2], dtype=torch.int32)
    used = torch.tensor([4, 4])
    found = varlen_attn(query, key, value, each, slots, 1, 6, seqused_k=used, window_size=(-1, 0))
    for index, start in enumerate((0, 6)):
        parts = [query[index : index + 1], key[start : start + 4], value[start : start + 4]]
        heads = [part.transpose(0, 1) for part in parts]
        plain = F.scaled_dot_product_attention(*heads)
        assert torch.allclose(found[index], plain[:, 0])
    pages = torch.tensor([[0, 1], [3, 2]], dtype=torch.int32)
    paged = varlen_attn(
        query,
        key.view(4, 3, 1, 8),
        value.view(4, 3, 1, 8),
        each,
        None,
        1,
        6,
        seqused_k=used,
        block_table=pages,
    )
    order = torch.tensor([9, 10, 11, 6])
    heads = [part.transpose(0, 1) for part in (query[1:2], key[order], value[order])]
    assert torch.allclose(paged[1], F.scaled_dot_product_attention(*heads)[:, 0])
    assert torch.allclose(paged[0], found[0])


@newer_varlen
def test_packed_into_a_given_tensor() -> None:
    from tdev.nn.attention.varlen import varlen_attn_out

    inputs = tensors(9, 4, 8)
    out = torch.empty_like(inputs[0])
    found = varlen_attn_out(out, *inputs, BOUNDS, BOUNDS, 5, 5, window_size=(-1, 0))
    assert found is out
    assert torch.allclose(out, separate(*inputs, mask=band(-1, 0)))


def test_queries_without_keys_are_zero() -> None:
    query, key, value = tensors(3, 1, 4)[0], *tensors(1, 1, 4)[:2]
    one = [torch.tensor([0, 3]), torch.tensor([0, 1])]
    found = varlen_attn(query, key, value, *one, 3, 1, window_size=(-1, 0))
    assert found[:2].abs().sum() == 0 and torch.equal(found[2], value[0])


@newer_varlen
def test_packed_bad_input() -> None:
    query, key, value = tensors(9, 4, 8)
    pages = torch.zeros(3, 1, dtype=torch.int32)
    with pytest.raises(ValueError, match="same number of heads"):
        varlen_attn(query, key[:, :2], value[:, :2], BOUNDS, BOUNDS, 5, 5)
    with pytest.raises(ValueError, match="no multiple of the"):
        varlen_attn(query, key[:, :3], value[:, :3], BOUNDS, BOUNDS, 5, 5, enable_gqa=True)
    with pytest.raises(ValueError, match="length 2"):
        varlen_attn(query, key, value, BOUNDS, BOUNDS, 5, 5, window_size=(1,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs seqused_k"):
        varlen_attn(query, key[None], value[None], BOUNDS, None, 5, 5, block_table=pages)
    with pytest.raises(ValueError, match="cu_seq_k is needed"):
        varlen_attn(query, key, value, BOUNDS, None, 5, 5)


def _mask_for(length: int, batch: int | None = None) -> BlockMask:
    found: BlockMask = create_block_mask(
        lambda b, h, q, k: q >= k, batch, None, length, length, device="cpu"
    )
    return found


_FLEX_REFUSED: dict[str, Any] = {
    "a mask for more": lambda x: ((x, x, x), {"block_mask": _mask_for(256)}),
    "a mask for less": lambda x: ((x, x, x), {"block_mask": _mask_for(64)}),
    "batches": lambda x: ((x.repeat(3, 1, 1, 1), x.repeat(2, 1, 1, 1), x.repeat(2, 1, 1, 1)), {}),
    "widths": lambda x: ((x, x[..., :8], x), {}),
    "a mask of another batch": lambda x: (
        (x.repeat(3, 1, 1, 1), x, x),
        {"block_mask": _mask_for(128, 2)},
    ),
    "both auxiliaries": lambda x: (
        (x, x, x),
        {"return_lse": True, "return_aux": AuxRequest(lse=True)},
    ),
}


@pytest.mark.parametrize("name", _FLEX_REFUSED)
def test_flex_refuses_what_torch_refuses(name: str) -> None:
    x = torch.ones(1, 2, 128, 16)
    torchs, keywords = _FLEX_REFUSED[name](x)
    with pytest.raises((ValueError, RuntimeError)) as expected:  # which one, depends on the torch
        torch.nn.attention.flex_attention.flex_attention(*torchs, **keywords)
    ours, keywords = _FLEX_REFUSED[name](x.requires_grad_())
    with pytest.raises(expected.type) as found:
        flex_attention(*ours, **keywords)
    assert found.type is expected.type
    assert str(found.value)[:50] == str(expected.value)[:50]
