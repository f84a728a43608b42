"""Check numbers of heads of queries and keys, for every attention function alike."""

from __future__ import annotations

__all__ = ["check_heads"]


def check_heads(queries: int, keys: int, gqa: bool) -> None:
    """Refuse numbers of heads that cannot be matched.

    Args:
        queries: heads of the query.
        keys: heads of key and value.
        gqa: whether several query heads may share one key head (grouped-query attention).

    Raises:
        ValueError: the numbers differ without ``gqa``, or the query's is no multiple of the key's.
    """
    if not gqa and queries != keys:
        raise ValueError(
            f"query has {queries} heads, key and value have {keys}; without enable_gqa=True they "
            "need the same number of heads"
        )
    if queries % keys:
        raise ValueError(
            f"query has {queries} heads, which is no multiple of the {keys} of key and value"
        )
