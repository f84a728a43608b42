"""Names what a value may be, and lists which of torch's names give a tensor."""

from __future__ import annotations

import re
from enum import Enum, auto


class Kind(Enum):
    """One thing that a value may be."""

    CUDA = auto()
    """A string that names CUDA: ``"cuda"``, ``"cuda:1"``, ``f"cuda:{rank}"``."""
    OTHER = auto()
    """A constant that does not: ``"cpu"``, ``"meta"``, ``"mps"``, a number, a dict, a lambda."""
    DEVICE = auto()
    """A ``torch.device`` that is usable here: a tensor's own, or one that tdev made."""
    INDEX = auto()
    """A bare device index."""
    TYPED = auto()
    """The device attribute of an object that holds what a person typed (``args.device``)."""
    NONE = auto()
    TENSOR = auto()
    UNKNOWN = auto()


Kinds = frozenset[Kind]
UNKNOWN: Kinds = frozenset({Kind.UNKNOWN})
MAY_BE_CUDA: Kinds = frozenset({Kind.CUDA, Kind.INDEX, Kind.TYPED, Kind.UNKNOWN})

TENSOR_METHODS = frozenset(
    "to cuda cpu float half double bfloat16 long int bool clone detach contiguous view reshape "
    "permute transpose unsqueeze squeeze expand repeat flatten sum mean max_values abs exp log "
    "sqrt pow add mul div sub matmul softmax sigmoid tanh relu requires_grad_ type pin_memory "
    "new_zeros new_ones new_full new_empty new_tensor t flip gather index_select masked_fill "
    "zero_ fill_ normal_ uniform_ copy_ add_ mul_ div_ sub_ clamp argmax argsort".split()
)
TENSOR_ATTRIBUTES = frozenset({"data", "grad", "T", "mT", "H"})
# Lower-case functions of torch's own namespace that do not return a tensor.
NOT_TENSORS = re.compile(
    r"torch\.(is_\w+|get_\w+|set_\w+|use_\w+|compile|load|save|device|no_grad|enable_grad|"
    r"manual_seed|seed|initial_seed|inference_mode|autocast|typename|finfo|iinfo|dtype|split|"
    r"chunk|unbind|broadcast_tensors|meshgrid|where|topk|sort|max|min|svd|qr|eig|lu|unique|"
    r"numel|equal|allclose|result_type|can_cast|promote_types|vmap|cond|from_file|tensor_split|"
    r"[a-z0-9_]*_(available|enabled|size|shapes)|float\d*|int\d*|uint\d*|bfloat16|half|double|"
    r"long|short|bool|complex\d*|strided|layout|memory_format|Size|import_ir_module|fork|wait)$"
)
