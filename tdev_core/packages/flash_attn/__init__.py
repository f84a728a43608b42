"""Stand in for ``flash_attn``: its attention functions, ``bert_padding`` and rotary embedding, on every device.

float32 and float64 are taken, too, which the kernels refuse.
"""

from __future__ import annotations

from tdev_core.packages.flash_attn.flash_attn_interface import (
    flash_attn_func,
    flash_attn_kvpacked_func,
    flash_attn_qkvpacked_func,
    flash_attn_varlen_func,
    flash_attn_varlen_kvpacked_func,
    flash_attn_varlen_qkvpacked_func,
)
from tdev_core.packages.lacking import attributes_of, version_of

__all__ = [
    "flash_attn_func",
    "flash_attn_kvpacked_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func",
]

# Programs compare it with a release from which on a parameter is there.
__version__ = version_of("flash_attn")
__getattr__ = attributes_of(__name__)
