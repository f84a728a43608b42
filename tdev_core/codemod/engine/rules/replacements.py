"""Tells what torch has for a name of a package for CUDA, as exactly as its arguments allow.

Sources: the signatures of flash-attn 2.8, and apex/normalization, apex/optimizers, apex/parallel and docs/source/amp.rst of the
repository NVIDIA/apex; torch's own documentation for what is named instead.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["REPLACEMENTS", "replacements"]

_AMP = (
    "`with torch.autocast(device.type, torch.float16):` around the forward pass, `scaler = torch.amp.GradScaler(device.type)`, and "
    "`scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()`"
)
_ATTENTION = (
    "`torch.nn.functional.scaled_dot_product_attention({0}.transpose(1, 2), dropout_p=dropout_p, scale=softmax_scale, "
    "is_causal=causal, enable_gqa=True).transpose(1, 2).contiguous()`, where a causal query is as long as its key (elsewhere "
    "attn_mask=causal_lower_right(q.shape[1], k.shape[1]) of torch.nn.attention.bias), and without window, softcap and alibi"
)

REPLACEMENTS: dict[str, str] = {
    "apex.amp": _AMP,
    "apex.normalization.FusedLayerNorm": "`torch.nn.LayerNorm` with the same arguments but memory_efficient",
    "apex.normalization.FusedRMSNorm": "`torch.nn.RMSNorm` with the same arguments but memory_efficient, and eps=1e-5 by default",
    "apex.optimizers.FusedAdam": "`torch.optim.AdamW` (`torch.optim.Adam` for adam_w_mode=False) with keywords, and weight_decay=0 by default",
    "apex.parallel.DistributedDataParallel": "`torch.nn.parallel.DistributedDataParallel(module, broadcast_buffers=False)`",
    "apex.parallel.SyncBatchNorm": "`torch.nn.SyncBatchNorm`",
    "apex.parallel.convert_syncbn_model": "`torch.nn.SyncBatchNorm.convert_sync_batchnorm`",
    "flash_attn.flash_attn_func": _ATTENTION.format("q.transpose(1, 2), k.transpose(1, 2), v"),
    "flash_attn.flash_attn_kvpacked_func": _ATTENTION.format(
        "q.transpose(1, 2), kv[:, :, 0].transpose(1, 2), kv[:, :, 1]"
    ),
    "flash_attn.flash_attn_qkvpacked_func": _ATTENTION.format(
        "qkv[:, :, 0].transpose(1, 2), qkv[:, :, 1].transpose(1, 2), qkv[:, :, 2]"
    ),
}
"""What torch has instead, by the dotted name of the package's."""


def replacements(module: str, names: Iterable[str]) -> str:
    """Return what torch has for what ``from module import names`` binds, in words; empty where that is not known of all."""
    module = "flash_attn" if module == "flash_attn.flash_attn_interface" else module
    if module == "apex.amp":
        return REPLACEMENTS[module]
    found = {name: REPLACEMENTS.get(f"{module}.{name}", "") for name in names}
    if not found or not all(found.values()):
        return ""
    return "; ".join(f"for {name} {instead}" for name, instead in found.items())
