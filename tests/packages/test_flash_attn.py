"""The stand-in for flash_attn: values against the definition written out in float64, gradients, shapes, refusals."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tdev_core.errors import UnsupportedError
from tdev_core.packages import flash_attn
from tdev_core.packages.flash_attn import bert_padding
from tdev_core.packages.flash_attn import flash_attn_interface as interface
from tdev_core.packages.flash_attn.layers.rotary import RotaryEmbedding, apply_rotary_emb


def defined(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    softmax_scale: float | None = None,
) -> torch.Tensor:
    """Attention, one query, head and sequence at a time, in float64."""
    out = torch.zeros_like(q, dtype=torch.float64)
    batch, queries, heads, channels = q.shape
    keys, share = k.size(1), heads // k.size(2)
    scale = 1 / math.sqrt(channels) if softmax_scale is None else softmax_scale
    left, right = window_size[0], 0 if causal else window_size[1]
    for b in range(batch):
        for h in range(heads):
            slope = 0.0
            if alibi_slopes is not None:
                slope = float(alibi_slopes[h] if alibi_slopes.dim() == 1 else alibi_slopes[b, h])
            for i in range(queries):
                at = i + keys - queries
                seen = [
                    j
                    for j in range(keys)
                    if (left < 0 or j >= at - left) and (right < 0 or j <= at + right)
                ]
                if not seen:
                    continue
                row = k[b, seen, h // share].double() @ q[b, i, h].double() * scale
                row = torch.tanh(row / softcap) * softcap if softcap else row
                row = row - slope * (torch.tensor(seen) - at).abs()
                out[b, i, h] = row.softmax(0) @ v[b, seen, h // share].double()
    return out


def heads(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    ).to(dtype)


SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "scale": {"softmax_scale": 0.3},
    "causal": {"causal": True},
    "window": {"window_size": (2, 1)},
    "causal window": {"causal": True, "window_size": (1, 3)},
    "left": {"window_size": (1, -1)},
    "softcap": {"softcap": 1.5, "causal": True},
    "alibi": {"alibi_slopes": SLOPES, "causal": True},
    "alibi by batch": {"alibi_slopes": torch.stack((SLOPES, SLOPES.flip(0)))},
}
SHAPES = {"square": (5, 5, 4), "fewer queries": (2, 6, 2), "more queries": (6, 3, 1)}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_values_are_those_of_the_definition(
    shape: tuple[int, int, int], options: dict[str, Any]
) -> None:
    queries, keys, key_heads = shape
    q, k, v = (
        heads(1, 2, queries, 4, 8),
        heads(2, 2, keys, key_heads, 8),
        heads(3, 2, keys, key_heads, 8),
    )
    meant = defined(q, k, v, **options)
    torch.testing.assert_close(flash_attn.flash_attn_func(q, k, v, **options), meant)
    packed = flash_attn.flash_attn_kvpacked_func(q, torch.stack((k, v), 2), **options)
    torch.testing.assert_close(packed, meant)
    for dtype, near in ((torch.float32, 1e-5), (torch.float16, 4e-3), (torch.bfloat16, 3e-2)):
        less = [x.to(dtype) for x in (q, k, v)]
        found = flash_attn.flash_attn_func(*less, **options)
        assert found.dtype == dtype and found.shape == q.shape
        expected = defined(*less, **options).to(dtype)
        torch.testing.assert_close(found, expected, atol=near, rtol=near)
    if queries == keys == 5:
        same = flash_attn.flash_attn_qkvpacked_func(torch.stack((q, k, v), 2), **options)
        torch.testing.assert_close(same, meant)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_gradients(options: dict[str, Any]) -> None:
    """Of rows without a key, too: there they are 0."""
    q, k, v = heads(1, 2, 4, 4, 2), heads(2, 2, 3, 2, 2), heads(3, 2, 3, 2, 2)
    inputs = [x.requires_grad_() for x in (q, k, v)]
    assert torch.autograd.gradcheck(
        lambda *x: flash_attn.flash_attn_func(*x, **options), inputs, fast_mode=True
    )


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_packed_sequences_are_each_by_itself(options: dict[str, Any]) -> None:
    """One of them has no query and no key; behind the last are rows of none."""
    lengths, others = (3, 0, 4), (5, 0, 2)
    per_batch = options.get("alibi_slopes", SLOPES).dim() == 2
    if per_batch:
        options = {**options, "alibi_slopes": torch.stack((SLOPES, SLOPES, SLOPES.flip(0)))}
    q, k, v = heads(1, 8, 4, 8), heads(2, 7, 2, 8), heads(3, 7, 2, 8)
    bounds, keys = (torch.tensor([0, *ends], dtype=torch.int32) for ends in ((3, 3, 7), (5, 5, 7)))
    more = (bounds, keys, 4, 5)
    found = flash_attn.flash_attn_varlen_func(q, k, v, *more, **options)
    at = key_at = 0
    for index, (queries, n) in enumerate(zip(lengths, others, strict=True)):
        own = dict(options)
        if per_batch:
            own["alibi_slopes"] = options["alibi_slopes"][index]
        parts = (
            q[None, at : at + queries],
            k[None, key_at : key_at + n],
            v[None, key_at : key_at + n],
        )
        torch.testing.assert_close(found[None, at : at + queries], defined(*parts, **own))
        at, key_at = at + queries, key_at + n
    assert not found[7:].any()
    packed = flash_attn.flash_attn_varlen_kvpacked_func(q, torch.stack((k, v), 1), *more, **options)
    torch.testing.assert_close(packed, found)
    pages = [torch.zeros(5, 2, 2, 8, dtype=torch.float64) for _ in "kv"]
    table = torch.tensor([[4, 0, 2], [0, 0, 0], [1, 0, 0]], dtype=torch.int32)
    for page, of in zip(pages, (k, v), strict=True):
        page[4], page[0], page[2, 0], page[1] = of[0:2], of[2:4], of[4], of[5:7]
    paged = flash_attn.flash_attn_varlen_func(q, *pages, *more, **options, block_table=table)
    torch.testing.assert_close(paged, found)
    qkv = torch.stack((q[:7], heads(4, 7, 4, 8), heads(5, 7, 4, 8)), 1)
    alone = flash_attn.flash_attn_varlen_qkvpacked_func(qkv, bounds, 4, **options)
    split = flash_attn.flash_attn_varlen_func(*qkv.unbind(1), bounds, bounds, 4, 4, **options)
    assert torch.equal(alone, split)


@pytest.mark.parametrize("alibi", [None, torch.zeros(2)], ids=["torch's", "written out"])
def test_dropout_drops_and_scales(alibi: torch.Tensor | None) -> None:
    """Every weight is 1/64 and every value 1: what a row lacks was dropped, and what is left is 1/(1-p) times as much."""
    q, ones = torch.zeros(4, 64, 2, 8), torch.ones(4, 64, 2, 8)
    out = flash_attn.flash_attn_func(q, q, ones, dropout_p=0.25, alibi_slopes=alibi)
    kept = out * 64 * 0.75
    torch.testing.assert_close(kept, kept.round())
    assert kept.min() < 48 < kept.max() and abs(float(kept.mean()) - 48) < 1


def test_no_keys_and_no_queries() -> None:
    q, none = heads(1, 1, 3, 2, 4), heads(1, 1, 0, 2, 4)
    assert not flash_attn.flash_attn_func(q, none, none).any()
    assert flash_attn.flash_attn_func(none, q, q).shape == (1, 0, 2, 4)


def bounds(*ends: int) -> torch.Tensor:
    return torch.tensor(ends, dtype=torch.int32)


X = torch.zeros(1, 4, 2, 8)
ROWS = torch.zeros(4, 2, 8)


@pytest.mark.parametrize(
    ("function", "arguments", "options", "said"),
    [
        ("func", (X[0], X, X), {}, r"q has shape \(4, 2, 8\), where 4 dimensions"),
        ("func", (X, X, X[:, :2]), {}, "they must be the same"),
        ("func", (X, X.expand(2, 4, 2, 8), X.expand(2, 4, 2, 8)), {}, "batches differ: 1 and 2"),
        ("func", (X, X[..., :4], X[..., :4]), {}, "8 channels in a head, k and v have 4"),
        ("func", (X, X.repeat(1, 1, 2, 1), X.repeat(1, 1, 2, 1)), {}, "no multiple of the 4"),
        ("func", (X, X.half(), X.half()), {}, "one floating dtype"),
        ("func", (X.long(), X.long(), X.long()), {}, "one floating dtype"),
        ("func", (X, X.to("meta"), X.to("meta")), {}, "cpu, meta and meta; one device"),
        ("func", (X, X, X), {"dropout_p": 1.0}, "below 1"),
        ("func", (X, X, X), {"dropout_p": 0.1, "softcap": 2.0}, "exclude each other"),
        ("func", (X, X, X), {"alibi_slopes": torch.zeros(3)}, r"\(2,\) or \(1, 2\) is needed"),
        ("func", (X, X, X), {"alibi_slopes": torch.zeros(2).half()}, "must be torch.float32"),
        ("qkvpacked_func", (X,), {}, "5 dimensions are needed, 3 in"),
        ("kvpacked_func", (X, X[:, :, None].expand(1, 4, 3, 2, 8)), {}, "2 in the last but two"),
        ("varlen_func", (ROWS, ROWS, ROWS, bounds(0, 5), bounds(0, 4), 4, 4), {}, "within the 4 rows"),
        ("varlen_func", (ROWS, ROWS, ROWS, bounds(0, 3, 2), bounds(0, 3, 4), 4, 4), {}, "never fall"),
        ("varlen_func", (ROWS, ROWS, ROWS, bounds(0, 4), bounds(0, 2, 4), 4, 4), {}, "differ: 2 and 3"),
        ("varlen_func", (ROWS, ROWS, ROWS, bounds(0, 4).long(), bounds(0, 4), 4, 4), {}, "int32 of shape"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(
    function: str, arguments: tuple[Any, ...], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(RuntimeError, match=rf"flash_attn\.flash_attn_{function}: .*{said}|{said}"):
        getattr(flash_attn, f"flash_attn_{function}")(*arguments, **options)


def test_what_is_lacking_names_itself() -> None:
    with pytest.raises(UnsupportedError, match="flash_attn_func does not return probabilities"):
        flash_attn.flash_attn_func(X, X, X, return_attn_probs=True)
    with pytest.raises(UnsupportedError, match="flash_attn.flash_attn_with_kvcache is not in"):
        _ = flash_attn.flash_attn_with_kvcache
    assert not hasattr(bert_padding, "unpad_input_for_concatenated_sequences")
    assert flash_attn.__version__ > "2.8"


def test_padding_goes_and_comes() -> None:
    x = heads(1, 3, 4, 2, 2)
    mask = torch.tensor([[1, 1, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1]])
    rows, places, positions, longest, used = bert_padding.unpad_input(x, mask)
    assert places.tolist() == [0, 1, 5, 7, 8, 9, 10, 11]
    assert positions.tolist() == [0, 2, 4, 8] and positions.dtype == torch.int32
    assert longest == 4 and used.tolist() == [2, 2, 4]
    assert torch.equal(rows, x.flatten(0, 1)[places])
    assert torch.equal(bert_padding.pad_input(rows, places, 3, 4), x * mask[..., None, None])
    kept = bert_padding.unpad_input(x, mask, unused_mask=1 - mask)
    assert kept[1].tolist() == list(range(12)) and kept[4].tolist() == [2, 2, 4]
    leaf = rows.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda r: bert_padding.pad_input(r, places, 3, 4), (leaf,))
    again = torch.tensor([2, 0, 2])
    assert torch.equal(bert_padding.index_first_axis(rows, again), rows[again])
    assert torch.autograd.gradcheck(lambda r: bert_padding.index_first_axis(r, again), (leaf,))
    put = bert_padding.index_put_first_axis(rows, places, 12)
    assert torch.equal(put.view(3, 4, 2, 2), x * mask[..., None, None])
    assert torch.autograd.gradcheck(
        lambda r: bert_padding.index_put_first_axis(r, places, 12), (leaf,)
    )


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_turns_each_pair_by_its_angle(interleaved: bool) -> None:
    """A pair of channels is a complex number, and its position an angle."""
    x, angles = heads(1, 2, 3, 2, 6), heads(2, 7, 2)
    pairs = [(0, 1), (2, 3)] if interleaved else [(0, 2), (1, 3)]
    given = x.clone()
    found = apply_rotary_emb(
        given, angles.cos(), angles.sin(), interleaved, True, torch.tensor([0, 4])
    )
    assert found is given and torch.equal(found[..., 4:], x[..., 4:])
    for batch, first in enumerate((0, 4)):
        for step in range(3):
            for at, (one, two) in enumerate(pairs):
                turn = torch.polar(torch.ones((), dtype=torch.float64), angles[first + step, at])
                meant = torch.complex(x[batch, step, :, one], x[batch, step, :, two]) * turn
                torch.testing.assert_close(found[batch, step, :, one], meant.real)
                torch.testing.assert_close(found[batch, step, :, two], meant.imag)
    packed = apply_rotary_emb(
        x.flatten(0, 1), angles.cos(), angles.sin(), interleaved, False, torch.tensor([0, 4]), bounds(0, 3, 6), 3
    )  # fmt: skip
    assert torch.equal(packed, found.flatten(0, 1))
    with pytest.raises(RuntimeError, match="position 7 is asked for, cos and sin have 7"):
        apply_rotary_emb(x, angles.cos(), angles.sin(), seqlen_offsets=5)
    half = x.to(torch.bfloat16)
    in_float = apply_rotary_emb(half.float(), angles.cos().float(), angles.sin().float())
    assert torch.equal(
        apply_rotary_emb(half, angles.cos().float(), angles.sin().float()), in_float.bfloat16()
    )


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True}, {"window_size": (3, 1)}, {"softcap": 2.0}, {"alibi_slopes": SLOPES}],
)
def test_parts_of_the_keys_are_joined(options: dict[str, Any], packed: bool) -> None:
    """As ring attention joins them: outputs by the logarithms of their sums, gradients by adding."""
    q, k, v = (
        heads(seed, 1, 6, count, 8).requires_grad_() for seed, count in ((1, 4), (2, 2), (3, 2))
    )
    whole = flash_attn.flash_attn_func(q, k, v, **options)
    dout = heads(4, *whole.shape)
    meant = torch.autograd.grad(whole, (q, k, v), dout)
    causal = options.get("causal", False)
    left, right = options.get("window_size", (-1, -1))
    others = (options.get("softcap", 0.0), options.get("alibi_slopes"))
    ends = bounds(0, 6)

    def forward(
        some: slice, window: tuple[int, int], causal: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        given = (q.detach(), k.detach()[:, some], v.detach()[:, some])
        if not packed:
            out, sums, *_ = interface._flash_attn_forward(
                *given, 0.0, 8**-0.5, causal, *window, *others, False
            )
            return out, sums
        own = bounds(0, given[1].size(1))
        out, sums, *_ = interface._flash_attn_varlen_forward(
            *(x[0] for x in given), ends, own, 6, 6, 0.0, 8**-0.5, causal, *window, *others
        )  # fmt: skip
        return out[None], sums[None]

    # Distances are aligned at the end: without a mask and slopes a part stands anywhere, with them at the end alone.
    places = [slice(0, 6)] if options and "softcap" not in options else [slice(0, 2), slice(2, 6)]
    parts = [forward(some, (left, right), causal) for some in places]
    sums = torch.stack([lse for _, lse in parts]).logsumexp(0)
    joined = sum(out * (lse - sums).exp().transpose(1, 2).unsqueeze(-1) for out, lse in parts)
    torch.testing.assert_close(joined, whole.detach())
    found = [torch.zeros_like(x) for x in (q, k, v)]
    for some in places:
        share = [torch.empty_like(x) for x in (q, k[:, some], v[:, some])]
        given = (dout, q.detach(), k.detach()[:, some], v.detach()[:, some], whole.detach(), sums)
        behind = (0.0, 8**-0.5, causal, left, right, *others, False)
        if packed:
            own = bounds(0, share[1].size(1))
            flat = (x[0] for x in (*given, *share))
            delta = interface._flash_attn_varlen_backward(*flat, ends, own, 6, 6, *behind)[None]
        else:
            delta = interface._flash_attn_backward(*given, *share, *behind)
        torch.testing.assert_close(delta, (dout * whole.detach()).sum(-1).transpose(1, 2))
        found[0] += share[0]
        found[1][:, some] += share[1]
        found[2][:, some] += share[2]
    for one, other in zip(found, meant, strict=True):
        torch.testing.assert_close(one, other)


def test_parts_drop_nothing() -> None:
    q = heads(1, 1, 2, 2, 4)
    with pytest.raises(UnsupportedError, match="_flash_attn_forward drops no weights"):
        interface._flash_attn_forward(q, q, q, 0.5, 1.0, False, -1, -1, 0.0, None, False)


class Counted(TorchDispatchMode):
    """Counts torch's operations by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        self.calls[name] = self.calls.get(name, 0) + 1
        return func(*args, **(kwargs or {}))


def test_packed_sequences_cost_no_more_for_being_many() -> None:
    """A gradient of all rows for each sequence would be quadratic."""
    for sequences in (2, 16):
        q, k, v = (heads(seed, 32, 2, 4).requires_grad_() for seed in (1, 2, 3))
        ends = bounds(*range(0, 33, 32 // sequences))
        with Counted() as counted:
            flash_attn.flash_attn_varlen_func(q, k, v, ends, ends, 32, 32).sum().backward()
        assert not counted.calls.keys() & {"slice_backward", "select_backward"}
        assert counted.calls.get("add", 0) + counted.calls.get("add_", 0) == 0


def test_rotary_embedding_keeps_its_waves() -> None:
    """Those of a longer sequence serve a shorter one, and those of inference serve training."""
    embedding = RotaryEmbedding(4)
    qkv = heads(1, 1, 6, 3, 2, 4, dtype=torch.float32)
    with torch.inference_mode():
        long = embedding(qkv.clone())
    with Counted() as counted:
        short = embedding(qkv[:, :4].clone().requires_grad_().clone())
        short.sum().backward()
    assert torch.equal(short, long[:, :4]) and not counted.calls.keys() & {"cos", "sin"}
    for given in (heads(1, 1, 9, 3, 2, 4, dtype=torch.float32), qkv.bfloat16()):
        fresh = RotaryEmbedding(4)(given.clone())
        assert torch.equal(embedding(given), fresh)
