"""Reads off a file's bytes which of its functions and classes go on naming CUDA, with ``--target accelerator``.

What they give to others of the tree, and take from them, stays with them. The answer is coarse: a unit goes
on naming CUDA where its text does once the names that have a generic spelling are taken out.
"""

from __future__ import annotations

import re

# What has a generic spelling in most places, or may stay beside it.
_SPELT = re.compile(
    rb"\btorch\.cuda\.(?:is_available|device_count|synchronize|empty_cache|current_device|OutOfMemoryError)\b"
    rb"|\.cuda\(\)|\(\s*[\"']cuda(?::\d)?[\"']\s*\)|\bdevice\s*=\s*[\"']cuda[\"']"
    rb"|[\"']cuda(?::\d)?[\"']\s+if\s|\belse\s+[\"']cuda(?::\d)?[\"']"
    # What does nothing elsewhere.
    rb"|\btorch\.cuda\.manual_seed(?:_all)?\b|\bcudnn\.\w+\s*=(?!=)|\btorch\.backends\.cuda\.matmul\.allow_"
)
_SAID = re.compile(rb"#[^\n]*|\"{3}.*?\"{3}|'{3}.*?'{3}", re.DOTALL)
_NAMED = re.compile(rb"cuda|nccl|nvidia", re.IGNORECASE)
BUILT_ON = (
    *(
        "aiter",
        "awq",
        "auto_gptq",
        "deepspeed",
        "dgl",
        "fbgemm_gpu",
        "ffcv",
        "gemlite",
        "gsplat",
        "horovod",
    ),
    *("isaacgym", "isaaclab", "kaolin", "mjlab", "MinkowskiEngine", "mslk", "nerfacc", "nunchaku"),
    *("pytorch_quantization", "ring_flash_attn", "rmm", "sglang", "spconv", "vllm", "warp"),
)
"""Packages that hold torch's tensors on CUDA and the CPU alone."""
_BUILT_ON = re.compile(
    rf"(?:\A|\n)(?:import|from)[ \t]+({'|'.join(BUILT_ON)}|nvalchemi\w*)\b".encode()
)
_UNIT = re.compile(rb"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", re.MULTILINE)
_MARGIN = re.compile(rb"^[^\s#)\]}]", re.MULTILINE)
_IMPORT = re.compile(
    rb"^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]*(\([^)]*\)|[^\n#;\\]*)", re.MULTILINE
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_GPU = re.compile(rb"\b(?!n_|num_)[a-z]\w*_gpus?\b|\bgpu_(?:is_)?availabl\w*\b")


def staying(raw: bytes) -> tuple[set[bytes], set[bytes], set[bytes]]:
    """Return the units of a text that go on naming CUDA, the imported names in them, and their switches for a GPU."""
    if _NAMED.search(raw) is None:
        return set(), set(), set()
    left = _SPELT.sub(b"", _SAID.sub(b"", raw))
    if _NAMED.search(left) is None:
        return set(), set(), set()
    imported: set[bytes] = set()
    for found in _IMPORT.finditer(left):
        imported.update(_WORD.findall(found[1]))
    units: set[bytes] = set()
    used: set[bytes] = set()
    switches: set[bytes] = set()
    outside = []
    at = 0

    def take(text: bytes) -> bool:
        if _NAMED.search(text) is None:
            return False
        used.update(_WORD.findall(text))
        switches.update(_GPU.findall(text))
        return True

    for found in _UNIT.finditer(left):
        if found.start() < at:
            continue
        margin = _MARGIN.search(left, found.end())
        end = margin.start() if margin is not None else len(left)
        outside.append(left[at : found.start()])
        at = end
        if take(left[found.start() : end]):
            units.add(found[1])
    outside.append(left[at:])
    take(_IMPORT.sub(b"", b"".join(outside)))
    return units, used & imported, switches


def built_on(raw: bytes) -> set[str]:
    """Return the packages that a file cannot do without and that hold tensors on CUDA and the CPU alone."""
    return {name.decode() for name in _BUILT_ON.findall(raw)}
