"""Stand in for ``xformers.ops.fmha.attn_bias``: what a query sees, without a dense tensor.

A bias is a rule for blocks: each block of queries sees one block of keys, and in it a window around the query's own place,
which is counted from the first or from the last of both. :meth:`AttentionBias.materialize` writes that out, and
:mod:`..fmha` computes it block by block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import torch

from tdev_core.devices import translate
from tdev_core.packages.attention import hidden
from tdev_core.packages.lacking import attributes_of

__all__ = [
    "AttentionBias",
    "BlockDiagonalCausalFromBottomRightMask",
    "BlockDiagonalCausalLocalAttentionFromBottomRightMask",
    "BlockDiagonalCausalLocalAttentionMask",
    "BlockDiagonalCausalLocalAttentionPaddedKeysMask",
    "BlockDiagonalCausalMask",
    "BlockDiagonalCausalWithOffsetPaddedKeysMask",
    "BlockDiagonalLocalAttentionPaddedKeysMask",
    "BlockDiagonalMask",
    "BlockDiagonalPaddedKeysMask",
    "LocalAttentionFromBottomRightMask",
    "LowerTriangularFromBottomRightLocalAttentionMask",
    "LowerTriangularFromBottomRightMask",
    "LowerTriangularMask",
    "LowerTriangularMaskWithTensorBias",
]

__getattr__ = attributes_of(__name__)

Block = tuple[int, int, int, int]
"""Where a block of queries and its block of keys begin and end."""

Device = torch.device | str | None
Bias = TypeVar("Bias", bound="AttentionBias")


class AttentionBias:
    """Base of all biases: every query sees every key."""

    HOLDS_DENSE_TENSOR: ClassVar[bool] = False
    from_last: ClassVar[bool] = False
    """Whether the window is counted from the last query and the last key of a block."""

    @property
    def window(self) -> tuple[int, int]:
        """The numbers of keys to the left and the right of its own that a query sees; -1 is all."""
        return -1, -1

    def blocks(self, queries: int, keys: int) -> Iterator[Block]:
        """Yield the blocks of so many queries and keys, in the queries' order.

        Raises:
            ValueError: the bias is for other numbers.
        """
        yield 0, queries, 0, keys

    def first(self, queries: int, keys: int) -> int:
        """Return the key of a block at which its first query stands."""
        return keys - queries if self.from_last else 0

    def to(self: Bias, device: Device) -> Bias:
        """Return the same bias with its tensors on ``device``."""
        return self

    def materialize(
        self,
        shape: Sequence[int],
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> torch.Tensor:
        """Return the bias as a tensor of ``shape`` (…, Sq, Sk): 0 where a query sees a key, and -inf where not."""
        queries, keys = shape[-2:]
        out = torch.full((queries, keys), -math.inf, dtype=dtype, device=device)
        for begin, end, start, stop in self.blocks(queries, keys):
            sizes = end - begin, stop - start
            unseen = hidden(*sizes, self.window, self.first(*sizes), out.device)
            seen = torch.zeros(sizes, dtype=dtype, device=device)
            out[begin:end, start:stop] = (
                seen if unseen is None else seen.masked_fill(unseen, -math.inf)
            )
        return out.expand(*shape)


class _Windowed(AttentionBias):
    """A causal mask in which a query sees ``_window_size`` keys, its own among them."""

    _window_size: int

    def __post_init__(self) -> None:
        if self._window_size <= 0:
            raise ValueError(f"the window is {self._window_size} keys; it must be 1 at least")

    @property
    def window(self) -> tuple[int, int]:
        return self._window_size - 1, 0


class LowerTriangularMask(AttentionBias):
    """A causal mask: the first query sees the first key."""

    def __init__(self, device: Device = None) -> None:
        pass

    @property
    def window(self) -> tuple[int, int]:
        return -1, 0

    def add_bias(self, bias: torch.Tensor) -> LowerTriangularMaskWithTensorBias:
        """Return the mask with ``bias``, shape (B, H, Sq, Sk), added to the scores."""
        return LowerTriangularMaskWithTensorBias(bias)


class LowerTriangularMaskWithTensorBias(LowerTriangularMask):
    """A causal mask with a tensor that is added to the scores."""

    HOLDS_DENSE_TENSOR = True

    def __init__(self, bias: torch.Tensor) -> None:
        self._bias = bias

    def to(self, device: Device) -> LowerTriangularMaskWithTensorBias:
        return LowerTriangularMaskWithTensorBias(self._bias.to(device))

    def materialize(
        self,
        shape: Sequence[int],
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> torch.Tensor:
        return super().materialize(shape, dtype, device) + self._bias


class LowerTriangularFromBottomRightMask(AttentionBias):
    """A causal mask: the last query sees the last key."""

    from_last = True

    @property
    def window(self) -> tuple[int, int]:
        return -1, 0

    def make_local_attention(
        self, window_size: int
    ) -> LowerTriangularFromBottomRightLocalAttentionMask:
        """Return the mask with a window of ``window_size`` keys, the query's own among them."""
        return LowerTriangularFromBottomRightLocalAttentionMask(window_size)


@dataclass
class LowerTriangularFromBottomRightLocalAttentionMask(
    _Windowed, LowerTriangularFromBottomRightMask
):
    """A causal mask with a window: the last query sees the last ``_window_size`` keys."""

    _window_size: int


@dataclass
class LocalAttentionFromBottomRightMask(AttentionBias):
    """A window of ``window_left`` keys before and ``window_right`` after the query's own."""

    window_left: int
    window_right: int
    from_last: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.window_left < 0 or self.window_right < 0:
            raise ValueError(
                f"window_left is {self.window_left} and window_right {self.window_right}; neither may be negative"
            )

    @property
    def window(self) -> tuple[int, int]:
        return self.window_left, self.window_right


@dataclass
class _SeqLenInfo:
    """The beginnings of a dimension's blocks: ``seqstart`` (blocks + 1,) as a tensor and ``seqstart_py`` as a list."""

    seqstart: torch.Tensor
    max_seqlen: int
    min_seqlen: int
    seqstart_py: list[int]

    @classmethod
    def from_seqlens(cls, seqlens: Iterable[int], *, device: Device = None) -> _SeqLenInfo:
        lengths = _numbers(seqlens)
        starts = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
        return cls(_int32(starts, device), max(lengths), min(lengths), starts)

    def intervals(self) -> Iterator[tuple[int, int]]:
        """Yield where each block begins and ends."""
        yield from pairwise(self.seqstart_py)

    def split(self, x: torch.Tensor, batch_sizes: Sequence[int] | None) -> list[torch.Tensor]:
        """Return the parts of ``x`` (1, total, …), each (batch size, length, …)."""
        if x.size(0) != 1 or x.size(1) != self.seqstart_py[-1]:
            raise ValueError(
                f"the tensor has shape {tuple(x.shape)}; (1, {self.seqstart_py[-1]}, …) is needed"
            )
        sizes = [1] * (len(self.seqstart_py) - 1) if batch_sizes is None else list(batch_sizes)
        ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
        starts = [end - size for end, size in zip(ends, sizes, strict=True)]
        return [
            x[:, self.seqstart_py[start] : self.seqstart_py[end]].reshape(size, -1, *x.shape[2:])
            for start, end, size in zip(starts, ends, sizes, strict=True)
        ]


@dataclass
class _PaddedSeqLenInfo(_SeqLenInfo):
    """Blocks that begin every ``padding`` places, of which ``seqlen`` are used."""

    seqlen: torch.Tensor
    seqlen_py: list[int]
    padding: int

    @classmethod
    def from_seqlens_padded(
        cls, seqlens: Sequence[int], padding: int, *, device: Device = None
    ) -> _PaddedSeqLenInfo:
        lengths = _numbers(seqlens)
        if max(lengths) > padding:
            raise ValueError(f"the lengths of keys are {lengths}; the padding is {padding}")
        starts = [padding * n for n in range(len(lengths) + 1)]
        used = _int32(lengths, device)
        return cls(
            _int32(starts, device), max(lengths), min(lengths), starts, used, lengths, padding
        )

    def intervals(self) -> Iterator[tuple[int, int]]:
        for start, length in zip(self.seqstart_py, self.seqlen_py, strict=False):
            yield start, start + length


@dataclass
class _OfBlocks(AttentionBias):
    """Queries and keys in as many blocks: the queries of one see the keys of the same."""

    q_seqinfo: _SeqLenInfo
    k_seqinfo: _SeqLenInfo

    def blocks(self, queries: int, keys: int) -> Iterator[Block]:
        known = self.q_seqinfo.seqstart_py[-1], self.k_seqinfo.seqstart_py[-1]
        if known != (queries, keys):
            raise ValueError(
                f"{type(self).__name__} is for {known[0]} queries and {known[1]} keys, not {queries} and {keys}"
            )
        for of_queries, of_keys in zip(
            self.q_seqinfo.intervals(), self.k_seqinfo.intervals(), strict=True
        ):
            yield *of_queries, *of_keys

    def to(self: Any, device: Device) -> Any:
        def moved(info: Any) -> Any:
            tensors = {
                n: t.to(device) for n, t in vars(info).items() if isinstance(t, torch.Tensor)
            }
            return replace(info, **tensors)

        # `split` asks whether both are the same.
        queries = moved(self.q_seqinfo)
        same = self.k_seqinfo is self.q_seqinfo
        return replace(
            self, q_seqinfo=queries, k_seqinfo=queries if same else moved(self.k_seqinfo)
        )


@dataclass
class BlockDiagonalMask(_OfBlocks):
    """Sequences one after the other in a batch of 1: each sees itself."""

    _batch_sizes: Sequence[int] | None = None

    @classmethod
    def from_seqlens(
        cls,
        q_seqlen: Sequence[int],
        kv_seqlen: Sequence[int] | None = None,
        *,
        device: Device = None,
    ) -> Any:
        """Return the mask of sequences with so many queries and keys; as many keys as queries where none are told."""
        queries = _SeqLenInfo.from_seqlens(q_seqlen, device=device)
        if kv_seqlen is None or list(kv_seqlen) == list(q_seqlen):
            return cls(q_seqinfo=queries, k_seqinfo=queries)
        _as_many(q_seqlen, kv_seqlen)
        return cls(q_seqinfo=queries, k_seqinfo=_SeqLenInfo.from_seqlens(kv_seqlen, device=device))

    @classmethod
    def from_tensor_list(cls, tensors: Sequence[torch.Tensor]) -> tuple[Any, torch.Tensor]:
        """Return the mask for ``tensors``, each (B, length, …), and them as one, (1, total, …)."""
        mask, together, _, _ = cls.from_tensor_lists_qkv(tensors, tensors)
        return mask, together

    @classmethod
    def from_tensor_lists_qkv(
        cls,
        tensors_q: Sequence[torch.Tensor],
        tensors_k: Sequence[torch.Tensor],
        tensors_v: Sequence[torch.Tensor] | None = None,
    ) -> tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return the mask for lists of queries, keys and values, and each list as one tensor."""
        for others in (tensors_k, tensors_v or tensors_k):
            if [x.size(0) for x in others] != [x.size(0) for x in tensors_q]:
                raise ValueError("the lists of tensors differ in their number or batch sizes")
        lengths = [
            [x.size(1) for x in tensors for _ in range(x.size(0))]
            for tensors in (tensors_q, tensors_k)
        ]
        mask = cls.from_seqlens(*lengths, device=tensors_q[0].device)
        mask._batch_sizes = [x.size(0) for x in tensors_q]

        def together(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
            return torch.cat([x.reshape(1, -1, *x.shape[2:]) for x in tensors], dim=1)

        values = None if tensors_v is None else together(tensors_v)
        return mask, together(tensors_q), together(tensors_k), values

    def split_queries(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Return the sequences of ``tensor`` (1, queries, …)."""
        return self.q_seqinfo.split(tensor, self._batch_sizes)

    def split_kv(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Return the sequences of ``tensor`` (1, keys, …)."""
        return self.k_seqinfo.split(tensor, self._batch_sizes)

    def split(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Return the sequences of ``tensor`` where queries and keys have the same lengths."""
        if self.q_seqinfo is not self.k_seqinfo:
            raise ValueError("queries and keys have other lengths: split_queries, split_kv")
        return self.q_seqinfo.split(tensor, self._batch_sizes)

    def make_causal(self) -> BlockDiagonalCausalMask:
        """Return the mask with each block causal from its first query and key."""
        return BlockDiagonalCausalMask(self.q_seqinfo, self.k_seqinfo, self._batch_sizes)

    def make_causal_from_bottomright(self) -> BlockDiagonalCausalFromBottomRightMask:
        """Return the mask with each block causal from its last query and key."""
        return BlockDiagonalCausalFromBottomRightMask(
            self.q_seqinfo, self.k_seqinfo, self._batch_sizes
        )

    def make_local_attention(self, window_size: int) -> BlockDiagonalCausalLocalAttentionMask:
        """Return the causal mask with a window of ``window_size`` keys."""
        return BlockDiagonalCausalLocalAttentionMask(
            self.q_seqinfo, self.k_seqinfo, self._batch_sizes, window_size
        )

    def make_local_attention_from_bottomright(
        self, window_size: int
    ) -> BlockDiagonalCausalLocalAttentionFromBottomRightMask:
        """Return the causal mask from the last query and key, with a window of ``window_size`` keys."""
        return BlockDiagonalCausalLocalAttentionFromBottomRightMask(
            self.q_seqinfo, self.k_seqinfo, self._batch_sizes, window_size
        )


@dataclass
class BlockDiagonalCausalMask(BlockDiagonalMask):
    """:class:`BlockDiagonalMask`, each block causal from its first query and key."""

    @property
    def window(self) -> tuple[int, int]:
        return -1, 0


@dataclass
class BlockDiagonalCausalFromBottomRightMask(BlockDiagonalMask):
    """:class:`BlockDiagonalMask`, each block causal from its last query and key; no block has fewer keys than queries."""

    from_last: ClassVar[bool] = True

    def __post_init__(self) -> None:
        of_queries, of_keys = self.q_seqinfo.intervals(), self.k_seqinfo.intervals()
        for number, ((a, b), (c, d)) in enumerate(zip(of_queries, of_keys, strict=True)):
            if d - c < b - a:
                raise ValueError(f"block {number} has {b - a} queries and only {d - c} keys")

    @property
    def window(self) -> tuple[int, int]:
        return -1, 0


@dataclass
class BlockDiagonalCausalLocalAttentionMask(_Windowed, BlockDiagonalCausalMask):
    """:class:`BlockDiagonalCausalMask` with a window of ``_window_size`` keys, the query's own among them."""

    _window_size: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for (a, b), (c, d) in zip(
            self.q_seqinfo.intervals(), self.k_seqinfo.intervals(), strict=True
        ):
            if b - a - self._window_size >= d - c:
                raise RuntimeError(
                    f"of {b - a} queries the last see none of {d - c} keys in a window of {self._window_size}"
                )


@dataclass
class BlockDiagonalCausalLocalAttentionFromBottomRightMask(
    _Windowed, BlockDiagonalCausalFromBottomRightMask
):
    """:class:`BlockDiagonalCausalFromBottomRightMask` with a window of ``_window_size`` keys."""

    _window_size: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        BlockDiagonalCausalFromBottomRightMask.__post_init__(self)


@dataclass
class BlockDiagonalPaddedKeysMask(_OfBlocks):
    """Sequences of queries one after the other, and keys in places of one size, of which only the first are used."""

    k_seqinfo: _PaddedSeqLenInfo
    from_last: ClassVar[bool] = True

    @classmethod
    def from_seqlens(
        cls,
        q_seqlen: Sequence[int],
        kv_padding: int,
        kv_seqlen: Sequence[int],
        causal_diagonal: Any = None,
        *,
        device: Device = None,
    ) -> Any:
        """Return the mask of sequences with so many queries and keys; each has a place for ``kv_padding`` keys."""
        return cls(**_padded(q_seqlen, kv_padding, kv_seqlen, device))

    def make_local_attention(
        self, window_left: int, window_right: int
    ) -> BlockDiagonalLocalAttentionPaddedKeysMask:
        """Return the mask with a window around each query's place."""
        return BlockDiagonalLocalAttentionPaddedKeysMask(
            self.q_seqinfo, self.k_seqinfo, window_left, window_right
        )


@dataclass
class BlockDiagonalCausalWithOffsetPaddedKeysMask(BlockDiagonalPaddedKeysMask):
    """:class:`BlockDiagonalPaddedKeysMask`, each block causal from its last query and key."""

    causal_diagonal: Any = None

    @property
    def window(self) -> tuple[int, int]:
        return -1, 0


@dataclass
class BlockDiagonalLocalAttentionPaddedKeysMask(BlockDiagonalPaddedKeysMask):
    """:class:`BlockDiagonalPaddedKeysMask` with a window around each query's place."""

    window_left: int
    window_right: int

    def __post_init__(self) -> None:
        LocalAttentionFromBottomRightMask(self.window_left, self.window_right)

    @classmethod
    def from_seqlens_local(
        cls,
        q_seqlen: Sequence[int],
        kv_padding: int,
        kv_seqlen: Sequence[int],
        window_left: int,
        window_right: int,
    ) -> Any:
        """Return the mask of sequences with so many queries and keys, and the window."""
        known = _padded(q_seqlen, kv_padding, kv_seqlen, None)
        return cls(**known, window_left=window_left, window_right=window_right)

    @property
    def window(self) -> tuple[int, int]:
        return self.window_left, self.window_right


@dataclass
class BlockDiagonalCausalLocalAttentionPaddedKeysMask(_Windowed, BlockDiagonalPaddedKeysMask):
    """:class:`BlockDiagonalCausalWithOffsetPaddedKeysMask` with a window of ``_window_size`` keys."""

    _window_size: int

    @classmethod
    def from_seqlens_local(
        cls, q_seqlen: Sequence[int], kv_padding: int, kv_seqlen: Sequence[int], window_size: int
    ) -> Any:
        """Return the mask of sequences with so many queries and keys, and the window."""
        return cls(**_padded(q_seqlen, kv_padding, kv_seqlen, None), _window_size=window_size)


def _padded(
    queries: Sequence[int], padding: int, keys: Sequence[int], device: Device
) -> dict[str, Any]:
    _as_many(queries, keys)
    return {
        "q_seqinfo": _SeqLenInfo.from_seqlens(queries, device=device),
        "k_seqinfo": _PaddedSeqLenInfo.from_seqlens_padded(keys, padding, device=device),
    }


def _as_many(queries: Sequence[int], keys: Sequence[int]) -> None:
    if len(queries) != len(keys):
        raise ValueError(f"{len(queries)} lengths of queries and {len(keys)} of keys were given")


def _numbers(lengths: Iterable[int]) -> list[int]:
    found = [int(length) for length in lengths]
    if not found or min(found) < 0:
        raise ValueError(f"the lengths of sequences are {found}; one at least is needed")
    return found


def _int32(numbers: list[int], device: Device) -> torch.Tensor:
    """Return the numbers on ``device``, by default on the one that CUDA's is here."""
    where = translate("cuda" if device is None else device)
    return torch.tensor(numbers, dtype=torch.int32, device=where)
