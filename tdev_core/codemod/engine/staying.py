"""Reads off a file's bytes which of its functions and classes go on naming CUDA, with ``--target accelerator``.

What they give to others of the tree, and take from them, stays with them. The answer is coarse: a unit goes
on naming CUDA where its text does once the names that have a generic spelling are taken out.
"""

from __future__ import annotations

import ast
import re
import warnings

from tdev_core.ecosystem.device_table import named

# What has a generic spelling in most places, or may stay beside it.
_SPELT = re.compile(
    rb"\btorch\.cuda\.(?:is_available|device_count|synchronize|empty_cache|current_device|set_device|OutOfMemoryError)\b"
    rb"|\btorch\.cuda\.(?:reset_)?(?:peak_|max_)?memory_(?:allocated|reserved|stats|cached)\b|\btorch\.cuda\.amp\b"
    rb"|\b(?:autocast|GradScaler)\(\s*(?:device_type\s*=\s*)?[\"']cuda[\"']"
    rb"|\.cuda\((?:non_blocking=\w+)?\)|\(\s*[\"']cuda(?::\d)?[\"']\s*\)|\bdevice\s*=\s*[\"']cuda[\"']"
    rb"|[\"']cuda(?::\d)?[\"']\s+if\s|\belse\s+[\"']cuda(?::\d)?[\"']"
    # What does nothing elsewhere.
    rb"|\btorch\.cuda\.manual_seed(?:_all)?\b|\bcudnn\.\w+\s*=(?!=)|\btorch\.backends\.cuda\.matmul\.allow_"
)
_SAID = re.compile(rb"#[^\n]*|\"{3}.*?\"{3}|'{3}.*?'{3}", re.DOTALL)
# In code: not in a variable's name, nor in a message.
_NAMED = re.compile(
    rb"\btorch\.cuda\b|(?<![\w.])cuda\.[a-z]|\.cuda\(|\)\.cuda\b|[\"']cuda[\"':]|\bis_cuda\b|(?i:nccl|nvml|nvidia|cupy)"
    rb"|(?<![\w.])(?:[\w.]+\.)?(?!(?:use|has|have|is|no)_)\w+_cuda\w*\(|\bdef[ \t]+\w*cuda\w*\(|\bclass[ \t]+\w*(?i:cuda)\w*"
)
BUILT_ON = named("tensors", "program")
"""Packages that hold torch's tensors on CUDA and the CPU alone, or run a program there."""
_BUILT_ON = re.compile(rf"(?:\A|\n)(?:import|from)[ \t]+({'|'.join(BUILT_ON)})\b".encode())
_UNIT = re.compile(rb"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", re.MULTILINE)
_MARGIN = re.compile(rb"^[^\s#)\]}]", re.MULTILINE)
_IMPORT = re.compile(
    rb"^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]*(\([^)]*\)|[^\n#;\\]*)", re.MULTILINE
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
DOUBLE = re.compile(r"\btorch\.(?:double|float64|complex128)\b|\w\.double\(\)")
OTHERS = re.compile(
    r"(?<![A-Za-z])(?:mps|xpu|npu|hpu|xla|tpu|mlu|musa|mtia|rocm|directml|mlx)(?![A-Za-z])", re.I
)
# The process group has a backend, which decides about the devices of its tensors.
GROUP = re.compile(
    r"\b(?:dist|distributed|c10d)\.\w+|\b(?:DistributedDataParallel|FullyShardedDataParallel|DDP|FSDP2?)\b"
    r"|\b(?:fully_shard|init_device_mesh|DeviceMesh|nprocs|tensor_parallel|local_rank|world_size)\b"
)
KERNELS = re.compile(
    r"xformers|flash_?attn|flash_attention_2|(?<!\w)triton(?!\w)|pyg_lib"
    r"|(?<![\w.])_C\.\w|\._C[\"']|\btorch\.ops\.(?!aten\b|prims?\b)",
    re.I,
)
_OF_TORCH = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+torch\b|^[ \t]*import\b.*,[ \t]*torch\b", re.MULTILINE
)
_GPU = re.compile(
    rb"\b(?!n_|num_)[a-z]\w*_gpus?\b|\bgpu_(?:is_)?availabl\w*\b|\b(?:use|no|with)_cuda\b(?!\s*\()"
)


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


# With the spelt names out: what a tensor is made or moved by, but for a keyword's value, which may be a default.
_TAKES = re.compile(
    rb"\.cuda\(|\btorch\.cuda\.(?:\w+Tensor|\w*Stream|CUDAGraph|graph)\b|\b(?:assert|raise)\b[^\n]*\bis_cuda\b"
    rb"|(?<![=!\[ ] )(?<![\[=])[\"']cuda(?::\d)?[\"'](?![ \t]*[:\]])"
    rb"|(?<![\w.])(?:[\w.]+\.)?(?!(?:use|has|have|is|no)_)\w+_cuda\w*\(|\bdef[ \t]+\w*cuda\w*\("
)
_AS_KEYWORD = re.compile(rb"\b\w+(?:[ \t]*:[ \t]*[\w.\[\]| ]+)?[ \t]*=[ \t]*[\"']cuda(?::\d)?[\"']")


# A field, or an answer, that is annotated as a stream becomes torch's own in a first run, and must hold nobody until a second.
_AS_ANNOTATION = re.compile(
    rb"^[ \t]+\w+[ \t]*:[ \t]*torch\.cuda\.(?:Stream|Event)[ \t]*(?=\r?$|#)|->[ \t]*torch\.cuda\.(?:Stream|Event)[ \t]*:",
    re.MULTILINE,
)


def takes_to_cuda(text: str) -> bool:
    """Tell whether a function or class takes tensors to CUDA where nothing has a generic spelling."""
    left = _SPELT.sub(b"", _SAID.sub(b"", text.encode("utf-8", "replace")))
    return _TAKES.search(_AS_ANNOTATION.sub(b"", _AS_KEYWORD.sub(b"", left))) is not None


_MESSAGE = re.compile(
    rb"[\"'][^\"'\n]* [^\"'\n]*\b(?i:cuda|nvidia)\b|[\"'][^\"'\n]*\b(?i:cuda|nvidia)\b[^\"'\n]* "
)


def names_cuda(text: str) -> bool:
    """Tell whether the code of a text, and not only its prose, names CUDA."""
    return _NAMED.search(_SAID.sub(b"", text.encode("utf-8", "replace"))) is not None


def imports_torch(raw: bytes) -> bool:
    """Tell whether a file has a name for torch's accelerator."""
    return _OF_TORCH.search(raw) is not None


def may_change(text: str) -> bool:
    """Tell whether a function or class that names CUDA may be one that names it no more: all of it has a generic spelling."""
    code = _SAID.sub(b"", text.encode("utf-8", "replace"))
    left = _SPELT.sub(b"", code)
    if _NAMED.search(left) is not None or _MESSAGE.search(left) is not None:
        return False
    said = left.decode("utf-8", "replace")
    return not any(sign.search(said) for sign in (OTHERS, GROUP, KERNELS))


def moves_by_cuda_alone(raw: bytes) -> set[str]:
    """Return the classes of a file that are no torch's and have a method ``cuda`` and none ``to``."""
    if b"def cuda(" not in raw:
        return set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(raw)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef) and not node.bases:
            methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            if "cuda" in methods and methods.isdisjoint(("to", "__getattr__")):
                found.add(node.name)
    return found


def built_on(raw: bytes) -> set[str]:
    """Return the packages that a file cannot do without and that hold tensors on CUDA and the CPU alone."""
    return {name.decode() for name in _BUILT_ON.findall(raw)}
