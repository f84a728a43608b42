"""The stand-in for xformers: attention with biases, query by query in float64, and what is beside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tdev_core.errors import UnsupportedError
from tdev_core.packages.xformers import ops
from tdev_core.packages.xformers.ops import fmha
from tdev_core.packages.xformers.ops.fmha import attn_bias as biases

Sees = Callable[[int, int], bool]
CPU = torch.device("cpu")
OF_BLOCKS, KEYS = [2, 3, 4], [4, 3, 5]


def made(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def defined(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    sees: Sees = lambda i, j: True,
    bias: torch.Tensor | None = None,
    scale: float | None = None,
) -> torch.Tensor:
    """One query of one head at a time: q (B, Mq, H, K), k and v (B, Mk, H, …), bias (B, H, Mq, Mk)."""
    out = torch.zeros(*q.shape[:-1], v.size(-1), dtype=q.dtype)
    factor = 1 / math.sqrt(q.size(-1)) if scale is None else scale
    for b, i, h in torch.cartesian_prod(*map(torch.arange, q.shape[:3])).tolist():
        seen = [j for j in range(k.size(1)) if sees(i, j)]
        if not seen:
            continue
        scores = torch.stack([q[b, i, h] @ k[b, j, h] * factor for j in seen])
        if bias is not None:
            scores = scores + bias[b, h, i, seen]
        out[b, i, h] = torch.softmax(scores, 0) @ v[b, seen, h]
    return out


def in_blocks(
    rule: Callable[[int, int, int, int], bool], keys: list[int], padding: int = 0
) -> Sees:
    """What a query sees by ``rule(query, key, queries, keys)`` of the places in its block."""

    def sees(i: int, j: int) -> bool:
        q0 = k0 = 0
        for queries, count in zip(OF_BLOCKS, keys, strict=True):
            if q0 <= i < q0 + queries and k0 <= j < k0 + count:
                return rule(i - q0, j - k0, queries, count)
            q0, k0 = q0 + queries, k0 + (padding or count)
        return False

    return sees


def of(name: str, *args: Any, **known: Any) -> Any:
    return getattr(biases, name).from_seqlens(*args, device=CPU, **known)


WHOLE: list[tuple[Any, Sees]] = [
    (biases.LowerTriangularMask(), lambda i, j: j <= i),
    (biases.LowerTriangularFromBottomRightMask(), lambda i, j: j <= i + 2),
    (biases.LowerTriangularFromBottomRightMask().make_local_attention(2), lambda i, j: i + 1 <= j <= i + 2),
    (biases.LocalAttentionFromBottomRightMask(1, 2), lambda i, j: i + 1 <= j <= i + 4),
    (biases.AttentionBias(), lambda i, j: True),
]  # fmt: skip
BLOCKS: list[tuple[Any, Sees, int]] = [
    (of("BlockDiagonalMask", OF_BLOCKS), in_blocks(lambda i, j, m, n: True, OF_BLOCKS), 9),
    (of("BlockDiagonalMask", OF_BLOCKS, KEYS), in_blocks(lambda i, j, m, n: True, KEYS), 12),
    (of("BlockDiagonalMask", OF_BLOCKS, KEYS).make_causal(), in_blocks(lambda i, j, m, n: j <= i, KEYS), 12),
    (of("BlockDiagonalMask", OF_BLOCKS, KEYS).make_causal_from_bottomright(),
     in_blocks(lambda i, j, m, n: j <= i + n - m, KEYS), 12),
    (of("BlockDiagonalMask", OF_BLOCKS, KEYS).make_local_attention(2),
     in_blocks(lambda i, j, m, n: i - 2 < j <= i, KEYS), 12),
    (of("BlockDiagonalMask", OF_BLOCKS, KEYS).make_local_attention_from_bottomright(2),
     in_blocks(lambda i, j, m, n: i + n - m - 2 < j <= i + n - m, KEYS), 12),
    (of("BlockDiagonalPaddedKeysMask", OF_BLOCKS, 5, KEYS), in_blocks(lambda i, j, m, n: True, KEYS, 5), 15),
    (of("BlockDiagonalPaddedKeysMask", OF_BLOCKS, 5, KEYS).make_local_attention(1, 0),
     in_blocks(lambda i, j, m, n: -1 <= j - i - n + m <= 0, KEYS, 5), 15),
    (of("BlockDiagonalCausalWithOffsetPaddedKeysMask", OF_BLOCKS, 5, KEYS),
     in_blocks(lambda i, j, m, n: j <= i + n - m, KEYS, 5), 15),
    (biases.BlockDiagonalCausalLocalAttentionPaddedKeysMask.from_seqlens_local(OF_BLOCKS, 5, KEYS, 2),
     in_blocks(lambda i, j, m, n: i + n - m - 2 < j <= i + n - m, KEYS, 5), 15),
    (biases.BlockDiagonalLocalAttentionPaddedKeysMask.from_seqlens_local(OF_BLOCKS, 5, KEYS, 0, 1),
     in_blocks(lambda i, j, m, n: 0 <= j - i - n + m <= 1, KEYS, 5), 15),
]  # fmt: skip
NAMES = [type(one[0]).__name__ for one in BLOCKS]


@pytest.mark.parametrize(("bias", "sees"), WHOLE, ids=[type(one[0]).__name__ for one in WHOLE])
def test_a_bias_of_the_whole(bias: Any, sees: Sees) -> None:
    q, k, v = made(2, 3, 2, 4), made(2, 5, 2, 4), made(2, 5, 2, 3)
    meant = defined(q, k, v, sees)
    torch.testing.assert_close(ops.memory_efficient_attention(q, k, v, bias), meant)
    dense = bias.materialize((2, 2, 3, 5), torch.float64)
    torch.testing.assert_close(ops.memory_efficient_attention(q, k, v, dense), meant)
    single = [x[:, :, 0] for x in (q, k, v)]
    torch.testing.assert_close(ops.memory_efficient_attention(*single, bias), meant[:, :, 0])


@pytest.mark.parametrize(("bias", "sees", "keys"), BLOCKS, ids=NAMES)
def test_a_bias_of_blocks(bias: Any, sees: Sees, keys: int) -> None:
    q, k, v = made(1, 9, 2, 4), made(1, keys, 2, 4), made(1, keys, 2, 3)
    meant = defined(q, k, v, sees, scale=0.3)
    found = ops.memory_efficient_attention(q, k, v, bias.to(CPU), scale=0.3)
    torch.testing.assert_close(found, meant)
    table = bias.materialize((1, 1, 9, keys)) == 0
    assert table[0, 0].tolist() == [[sees(i, j) for j in range(keys)] for i in range(9)]
    inputs = [x.requires_grad_() for x in (q, k, v)]
    assert torch.autograd.gradcheck(
        lambda *t: ops.memory_efficient_attention(*t, bias), inputs, fast_mode=True
    )


@pytest.mark.parametrize(
    "mask",
    [lambda x: ops.LowerTriangularMask().add_bias(x), biases.LowerTriangularMaskWithTensorBias],
)
def test_a_causal_mask_with_a_tensor(mask: Callable[[torch.Tensor], Any]) -> None:
    q, k, v, more = made(2, 4, 2, 4), made(2, 4, 2, 4), made(2, 4, 2, 4), made(2, 2, 4, 4)
    inputs = [x.requires_grad_() for x in (q, k, v, more)]

    def found(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, more: torch.Tensor) -> Any:
        return ops.memory_efficient_attention(q, k, v, mask(more))

    torch.testing.assert_close(found(*inputs), defined(q, k, v, lambda i, j: j <= i, more))
    assert torch.autograd.gradcheck(found, inputs, fast_mode=True)


def test_heads_in_groups() -> None:
    """Keys and values of a group that was expanded, or not; with a bias, too."""
    q, k, v = made(2, 3, 2, 4, 5), made(2, 6, 2, 1, 5), made(2, 6, 2, 1, 5)
    wide = [x.expand(2, 6, 2, 4, 5) for x in (k, v)]
    meant = defined(q.flatten(2, 3), *(x.flatten(2, 3) for x in wide)).view(q.shape)
    torch.testing.assert_close(ops.memory_efficient_attention(q, *wide), meant)
    copies = [x.contiguous() for x in wide]
    torch.testing.assert_close(ops.memory_efficient_attention(q, *copies), meant)
    bias = made(2, 2, 4, 3, 6)
    meant = defined(q.flatten(2, 3), *(x.flatten(2, 3) for x in wide), bias=bias.flatten(1, 2))
    found = ops.memory_efficient_attention(q, *wide, bias)
    torch.testing.assert_close(found, meant.view(q.shape))


def test_dtypes_and_dropout() -> None:
    q = made(1, 16, 2, 8).bfloat16()
    found = ops.memory_efficient_attention(q, q, q)
    meant = defined(*[q.double()] * 3)
    # torch's own kernel rounds the weights, too.
    torch.testing.assert_close(found.double(), meant, atol=4e-3, rtol=2e-2)
    assert (
        ops.memory_efficient_attention(q, q, q, output_dtype=torch.float32).dtype == torch.float32
    )
    torch.manual_seed(0)
    ones = torch.ones(1, 16, 2, 8)
    dropped = ops.memory_efficient_attention(q.float(), q.float(), ones, p=0.5)
    assert dropped.std() > 0.05 and abs(float(dropped.mean()) - 1) < 0.2
    same = ops.fmha.memory_efficient_attention_forward(q.float().requires_grad_(), q.float(), ones)
    assert not same.requires_grad


def test_sequences_become_one_and_parts_again() -> None:
    tensors = [made(2, 3, 2, 4), made(1, 5, 2, 4), made(1, 1, 2, 4)]
    bias, together = biases.BlockDiagonalMask.from_tensor_list(tensors)
    assert together.shape == (1, 12, 2, 4) and bias.q_seqinfo.seqstart.tolist() == [0, 3, 6, 11, 12]
    assert (bias.q_seqinfo.max_seqlen, bias.q_seqinfo.min_seqlen) == (5, 1)
    for mask in (bias, bias.to("cpu")):
        parts = mask.split(ops.memory_efficient_attention(together, together, together, mask))
        for part, own in zip(parts, tensors, strict=True):
            torch.testing.assert_close(part, defined(own, own, own))
    longer = [made(2, 4, 2, 4), made(1, 2, 2, 4), made(1, 1, 2, 4)]
    other, q, k, v = biases.BlockDiagonalMask.from_tensor_lists_qkv(tensors, longer, longer)
    assert v is not None and torch.equal(k, v)
    out = ops.memory_efficient_attention(q, k, v, other)
    for part, own, more in zip(other.split_queries(out), tensors, longer, strict=True):
        torch.testing.assert_close(part, defined(own, more, more))
    assert [x.shape[:2] for x in other.split_kv(k)] == [x.shape[:2] for x in longer]
    with pytest.raises(ValueError, match="split_queries, split_kv"):
        other.split(out)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"key": made(1, 6, 1, 4)}, "xformers broadcasts no heads"),
        ({"value": made(1, 5, 2, 4)}, "do not fit each other"),
        ({"query": made(9, 2)}, r"each must be \(B, M, K\)"),
        ({"key": made(1, 6, 2, 4).float()}, "torch.float64, torch.float32 and torch.float64"),
        ({"key": torch.empty(1, 6, 2, 4, device="meta").double()}, "are on cpu, meta and cpu"),
        ({"p": 1.5}, "p is 1.5"),
        ({"attn_bias": made(2, 6, 6)}, r"bias has shape \(2, 6, 6\); \(1, 2, 6, 6\) is needed"),
        ({"attn_bias": of("BlockDiagonalMask", [2, 3])}, "for 5 queries and 5 keys, not 6 and 6"),
        ({"query": made(2, 6, 2, 4), "key": made(2, 6, 2, 4), "value": made(2, 6, 2, 4),
          "attn_bias": of("BlockDiagonalMask", [6])}, "the batch is 1, its sequences one after another"),
    ],
)  # fmt: skip
def test_what_does_not_fit(change: dict[str, Any], said: str) -> None:
    plain = {name: made(1, 6, 2, 4) for name in ("query", "key", "value")}
    with pytest.raises(
        ValueError,
        match=f"xformers.ops.memory_efficient_attention: .*{said}" if "for 5" not in said else said,
    ):
        ops.memory_efficient_attention(**{**plain, **change})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: of("BlockDiagonalMask", [2, 3], [2]), "2 lengths of queries and 1 of keys"),
        (lambda: of("BlockDiagonalMask", []), "one at least is needed"),
        (lambda: of("BlockDiagonalMask", [3], [2]).make_causal_from_bottomright(), "3 queries and only 2"),
        (lambda: of("BlockDiagonalMask", [3]).make_local_attention(0), "it must be 1 at least"),
        (lambda: of("BlockDiagonalMask", [6], [2]).make_local_attention(2), "the last see none"),
        (lambda: of("BlockDiagonalPaddedKeysMask", [1], 3, [4]), "the padding is 3"),
        (lambda: biases.LocalAttentionFromBottomRightMask(-1, 0), "neither may be negative"),
        (lambda: of("BlockDiagonalMask", [3]).split(made(1, 4, 2)), r"\(1, 3, …\) is needed"),
        (lambda: biases.BlockDiagonalMask.from_tensor_lists_qkv([made(1, 2)], []), "differ in their number"),
    ],
)  # fmt: skip
def test_a_bias_that_means_nothing(make: Callable[[], Any], said: str) -> None:
    with pytest.raises((ValueError, RuntimeError), match=said):
        make()


def test_what_is_lacking() -> None:
    q = made(1, 2, 2, 4)
    with pytest.raises(UnsupportedError, match="int32"):
        ops.memory_efficient_attention(q, q.int(), q.int())
    with pytest.raises(UnsupportedError, match="has no bias int"):
        ops.memory_efficient_attention(q, q, q, 3)  # type: ignore[arg-type]  # that is what is refused
    for home, name in ((ops, "sparsify24"), (fmha, "memory_efficient_attention_partial")):
        with pytest.raises(AttributeError, match=f"{name} is not in the stand-in"):
            getattr(home, name)
    with pytest.raises(AttributeError, match="PagedBlockDiagonalPaddedKeysMask is not in"):
        _ = biases.PagedBlockDiagonalPaddedKeysMask
    assert fmha.MemoryEfficientAttentionFlashAttentionOp and ops.AttentionMask is ops.AttentionBias
    flash = fmha.MemoryEfficientAttentionFlashAttentionOp
    assert all(issubclass(one, ops.AttentionOpBase) for one in flash if one is not None)
    torch.testing.assert_close(ops.memory_efficient_attention(q, q, q, op=flash), defined(q, q, q))


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_swiglu(packed: bool, bias: bool) -> None:
    torch.manual_seed(0)
    layer = ops.SwiGLU(5, 7, 3, bias=bias, _pack_weights=packed).double()
    x = made(2, 4, 5).requires_grad_()
    w1, w2 = layer.w12.weight.chunk(2) if layer.w12 else (layer.w1.weight, layer.w2.weight)
    gate, value = x @ w1.T, x @ w2.T
    if bias:
        b1, b2 = layer.w12.bias.chunk(2) if layer.w12 else (layer.w1.bias, layer.w2.bias)
        gate, value = gate + b1, value + b2
    meant = (gate / (1 + torch.exp(-gate)) * value) @ layer.w3.weight.T
    torch.testing.assert_close(layer(x), meant + layer.w3.bias if bias else meant)
    assert torch.autograd.gradcheck(layer, (x,), fast_mode=True)
    assert sorted(layer.state_dict()) == sorted(
        f"{name}.{part}"
        for name in (["w12", "w3"] if packed else ["w1", "w2", "w3"])
        for part in (["weight", "bias"] if bias else ["weight"])
    )
    with pytest.raises(
        ValueError, match=r"w2 has shape \(3, 5\); \(hidden, in\) is needed, hidden = 7"
    ):
        ops.swiglu(x, w1, None, w2[:3], None, layer.w3.weight, None)
    with pytest.raises(ValueError, match=r"b1 has shape \(2,\); \(hidden,\) is needed, hidden = 7"):
        ops.swiglu(x, w1, torch.ones(2).double(), w2, None, layer.w3.weight, None)


def test_small_functions() -> None:
    x = made(4, 3, 5)
    assert all(torch.equal(a, b) for a, b in zip(ops.unbind(x, 1), x.unbind(1), strict=True))
    norm = ops.RMSNorm(5).double()
    meant = x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)
    torch.testing.assert_close(norm(x), meant)
    torch.testing.assert_close(ops.RMSNorm(5, include_weight=False)(x), meant)
    more = x.clone()
    torch.testing.assert_close(
        norm.increment_and_forward_(more, x), F.rms_norm(2 * x, (5,), eps=1e-6)
    )
    assert torch.equal(more, 2 * x)
    index, source, scaling = torch.tensor([3, 0]), made(2, 3, 5), made(5)
    target = x.clone()
    found = ops.scaled_index_add(target, index, source, scaling, alpha=0.5)
    assert found is target
    torch.testing.assert_close(found[3], x[3] + 0.5 * scaling * source[0])
    torch.testing.assert_close(found[0], x[0] + 0.5 * scaling * source[1])
    assert torch.equal(found[1:3], x[1:3])
    flat = ops.index_select_cat([made(3, 2), made(4, 5)], [torch.tensor([2]), torch.tensor([0, 3])])
    assert torch.equal(flat, torch.cat([made(3, 2)[2], made(4, 5)[[0, 3]].flatten()]))
