"""Lists the words that make a file worth reading closely, and looks for them in a text.

:func:`may_concern` turns most of a tree away for the price of a read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePath

from tdev_core.ecosystem.device_table import named
from tdev_core.ecosystem.package_table import packages

# A file that mentions one of these is read closely; ``cuda`` alone is enough (a file may only hold
# `"cuda" in str(device)`), ``torch`` alone is not.
WORDS = (
    "cuda CUDA nccl NCCL nvidia-smi nvcc GradScaler autocast_gpu autocast_enabled custom_fwd "
    "custom_bwd fork_rng data_ptr init_process_group get_backend init_device_mesh "
    "default_tensor_type new_group cpp_extension @triton flex_attention sdpa_kernel varlen_attn "
    "emit_nvtx"
).split()
# Those with ``cuda`` in their names are found by it.
_PACKAGES = sorted({name.partition(".")[0] for name in packages() if "cuda" not in name})
# Two patterns, each with a word to start from, which `re` looks for many times faster than for
# one pattern of alternatives, and twenty times faster than for each package.
_IMPORTS = (
    rf"import[ \t]+(?:{'|'.join(_PACKAGES)})\b",
    rf"from[ \t]+(?:(?:{'|'.join(_PACKAGES)})\b|torch[ \t]+import[ \t]+\*)",
)
_PATCHES = r"""patch(?:\.\w+)*\(\s*["']?torch\b"""
# What a person types a device into, and objects that hold what was typed.
SETTINGS = (
    r"args?|opts?|options?|cfg|conf|config|configs|settings|hparams?|hps|flags|namespace|cli|kwargs"
)

# A part of an expression: `state["args"].device` holds what was typed.
# One of the arguments of a function, `args[0]`, is none.
_OF_SETTINGS = re.compile(rf"(?<![a-zA-Z0-9])(?:{SETTINGS})(?![a-zA-Z]|\[-?\d)", re.IGNORECASE)

_LAST_KEY = re.compile(r"\[[\"'](\w+)[\"']\]\Z")

SETTINGS_CLASS = re.compile(r"(?:Conf|Config|Configs|Settings|Args|Arguments|Options)\Z")
"""What ends the name of a class whose objects hold what was typed."""

_WORDS_OF_A_CLASS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake(name: str) -> str:
    """Return ``_big_engine`` of ``BigEngine``."""
    return f"_{_WORDS_OF_A_CLASS.sub('_', name).lower()}"


def is_of_settings(text: str) -> bool:
    """Tell whether an expression takes something out of what holds settings: not ``kwargs["input_ids"]``."""
    key = _LAST_KEY.search(text)
    if key is not None and TENSOR_WORD.search(key[1]):
        return False
    return _OF_SETTINGS.search(text) is not None


RUNTIMES = frozenset(named("name"))
"""Packages that are told a device by torch's name for it, and do not know every accelerator."""

LIBRARIES = frozenset(
    "transformers diffusers accelerate sentence_transformers timm open_clip clip whisper "
    "ultralytics torchvision torchaudio safetensors peft kornia lpips".split()
)
"""Packages that call torch by themselves, and take whatever device there is."""

MARKS = ("tdev: keep", "ignore-cuda", "noqa: CUDA")
"""What a comment says on a line that its owner wants left: ours, and what projects write themselves."""

CUT = "# tdev-cut-{}-{}"
"""The line after a piece of a text that is several: a cell of a notebook, a fence of a document."""
CUTS = re.compile(CUT.format(r"\d+", r"\d+"))

# The first character is a set of its own: `re` looks for that twice as fast as for a choice.
PROSE = re.compile(
    r"""["'#](?:(?<=#)[^\n\r]*"""
    r'|(?<=")""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|(?<=')''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|((?<=")[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|(?<=')[^'\\\n]*(?:\\.[^'\\\n]*)*'))",
    re.DOTALL,
)
"""Comments and what is in three quotes; of other strings group 1 is what follows the first quote."""
_LINE = re.compile(r"[^\r\n]+")


# What --annotate writes: words of the rules, and none of the program's.
NOTE = re.compile(r"# tdev: [a-z-]+: [^\r\n]*")


@lru_cache(maxsize=2)
def without_prose(text: str) -> str:
    """Return a text with spaces for its comments and for what is in three quotes: offsets stay."""
    return PROSE.sub(lambda found: found[0] if found[1] else _LINE.sub(_spaces, found[0]), text)


def _spaces(found: re.Match[str]) -> str:
    return " " * len(found[0])


OTHERS = re.compile(
    r"(?<![a-zA-Z])(?:mps|xpu|npu|hpu|mlu|musa|mtia|xla|tpu|hip_available|ipex|directml)(?![a-zA-Z])"
)
"""Words of other accelerators, by which a question chooses beside them: it stays then, and the word that it chose is a device's."""
SCALERS = frozenset({"torch.amp.GradScaler", "torch.GradScaler"})
"""The scaler of torch that is told its device; as a type it says nothing of CUDA."""
DEVICE_NAME = re.compile(r"(^|_)device$")
"""What a variable or an attribute that holds a device is called."""
# Words by which programs call tensors, and what holds them: their `.device` is a real one.
TENSOR_WORD = re.compile(
    r"(?:^|_)(?:tensors?|models?|modules?|net|network|unet|vae|encoders?|decoders?|transformer|layers?|"
    r"weights?|bias|params?|parameters?|buffers?|inputs?|outputs?|hidden|states|embeds?|embeddings?|encodings?|"
    r"latents?|logits?|masks?|ids|tokens?|labels?|targets?|images?|imgs?|pixels|samples?|noise|feats?|"
    r"features?|query|queries|keys?|values?|attn|attention|scores?|probs?|batch|loss|criterion|grads?|preds?|predictions?|"
    r"data|maps?|heatmaps?|tgts?|srcs?|gts?|confs?|seqs?|patch(?:es)?|volumes?|mel|wavs?|signals?|points?|pos|b?boxes|coords?|positions?|indices|index|grid|theta|freqs?|timesteps?|sigmas?|betas?|"
    r"alphas?|mean|std|var|scales?|audio|waveform|video|frames?|depth|rays?|mat|matrix|vecs?|vectors?|times|distances|"
    r"norms?|coefs?|coeffs?|counts?|priors?|accelerator|fabric|generator|gen|pipe|pipeline|rng|device_mesh|mesh|mixture|dist|distribution|"
    r"td|tds|tensordict|actions?|obs|observations?|rewards?|advantages?|"
    r"x|y|z|xs|ys|q|k|v|qkv|kv|h|w|u|t|out|emb|lat|mu|rho|eps|lengths?|lens|idxs?|(?-i:\b[A-Z](?:_\w+)?))\d*_?$",
    re.IGNORECASE,
)
_AS_TENSOR = (
    r"(?:shape|dtype|ndim|requires_grad|layout|data|grad|grad_fn|T|mT)\b|(?:size|dim|view|view_as|reshape|contiguous|numel|"
    r"stride|data_ptr|is_contiguous|element_size|unsqueeze|squeeze|permute|transpose|detach|new_\w+|"
    r"expand|flatten|float|half|bfloat16|clone|parameters|named_parameters|buffers|state_dict|"
    r"masked_fill\w*|requires_grad_|nelement|repeat|repeat_interleave|type_as|expand_as|clamp|argmax|cumsum|scatter_|gather|index_select|softmax|log_softmax|logsumexp|inverse|matmul|bmm|norm|nonzero|masked_select|index_add|to_sparse|unbind|untyped_storage|backward|cpu|numpy|min|max|amin|amax|sum|mean|any|all|abs|sqrt|argmin|argsort|topk)\("
)
# What is written, called or annotated of a tensor or a module, and of no settings.
_AS_MODULE = (
    r"\.(?:[a-z]\w*_|eval|register_buffer|load_state_dict|named_modules|get_input_embeddings)\("
    r"|\s*:\s*(?:torch\.)?Tensor\b"
)
# Functions of torch that compute with their first argument; others make a tensor of it, or ask what it is.
_OF_TENSORS = (
    r"torch(?<!\wtorch)\.(?!device\b|tensor\b|as\w+_?tensor\b|as_tensor\b|asarray\b|from_|save\b|load\b|is_|get_|set_|manual_"
    r"|compile\b|Generator\b|typename\b)(?:linalg\.|special\.|fft\.|nn\.functional\.)?[a-z]\w*\(\s*"
)
_OTHER_ARGUMENT = r"[^()=]*?(?<![\w.])"
"""What stands before a later argument of theirs that is given by its place."""
# Methods that compute with other tensors, or change one by others: `total.scatter_add_(0, index, x)`.
_IN_PLACE = r"\.(?:\w+_add_?|index_select|index_fill_?|gather|scatter_|index_copy_|add_|mul_|sub_|div_|copy_)\((?:[^()]|\([^()]*\))*?(?<![\w.])"
_IN_PLACE_SIGNS = ("_(", "_add(", "index_select(", "index_fill(", "gather(")
"""The ends of these methods, one of which each has."""


_ANNOTATED_DEVICE = re.compile(
    r"def(?<!\wdef)[ \t]+(\w+)[ \t]*\((?:[^()]|\([^()]*\))*\)\s*->\s*[\"']?(?:torch|th)\.device[\"']?\s*:"
)
_ANNOTATED_SEVERAL = re.compile(
    r"def(?<!\wdef)[ \t]+(\w+)[ \t]*\((?:[^()]|\([^()]*\))*\)\s*->\s*[Tt]uple\[((?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*)\]\s*:"
)
# Without which there is none of the two; to look for a signature takes a hundred times as long.
_RETURNS_A_DEVICE = re.compile(r"->\s*[\"']?(?:torch|th)\.device")
_RETURNS_SEVERAL = re.compile(r"->\s*[Tt]uple\[")
_IN_BRACKETS = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]")
_DEVICE_DEFINED = re.compile(r"def(?<!\wdef)[ \t]+(\w*device\w*)[ \t]*\(")
# All that it does is to ask a tensor: `def get_device(x): return str(x.device)`.
_ASKS_A_TENSOR = re.compile(
    r"def(?<!\wdef)[ \t]+(\w{0,40}device\w{0,40})[ \t]*\(\s*(\w+)[^()]*\)[^:\n]*:\s*(?:\"{3}(?:(?!\"{3}).)*\"{3}\s*)?"
    r"(?:if\s+isinstance\(\s*\2\s*,[^\n]*\n\s*)?return\s+(?:str\()?(?!self\b|cls\b)\2(?:\[0\])?\.device\b",
    re.DOTALL,
)


def give_devices(text: str) -> tuple[set[str], set[str]]:
    """Return the functions of a text that promise a ``torch.device``, and others whose name says that they do.

    ``function[2]`` promises one as the third of several.
    """
    promised: set[str] = set()
    if "device" in text and _RETURNS_A_DEVICE.search(text) is not None:
        promised.update(_ANNOTATED_DEVICE.findall(text))
    if "torch.device" in text and _RETURNS_SEVERAL.search(text) is not None:
        for name, several in _ANNOTATED_SEVERAL.findall(text):
            kinds = _IN_BRACKETS.sub("", several).rstrip(", \t\n").split(",")
            places = [at for at, kind in enumerate(kinds) if kind.strip() == "torch.device"]
            promised.update(f"{name}[{at}]" for at in places)
    if ".device" in text and "return" in text:
        promised |= {n for n, of in _ASKS_A_TENSOR.findall(text) if TENSOR_WORD.search(of)}
    defined = list(_DEVICE_DEFINED.finditer(text))
    promised |= {found[1] for found in defined if _makes_devices(text, found)}
    return promised, {found[1] for found in defined} - promised


_RETURNED = re.compile(r"^[ \t]+return\b[ \t]*([^\n]*)", re.MULTILINE)
_MADE = re.compile(r"(?:torch|th|tdev)\.device\(")


def _makes_devices(text: str, found: re.Match[str]) -> bool:
    """Tell whether a function returns nothing but a ``torch.device`` that it makes, or was given."""
    line = text.rfind("\n", 0, found.start()) + 1
    indent = found.start() - line
    end = re.compile(rf"^(?![ \t]{{{indent + 1}}})(?=[^\s#)])", re.MULTILINE).search(
        text, found.end()
    )
    body = text[found.end() : end.start() if end is not None else len(text)]
    given = re.match(r"\s*(?:self\s*,\s*)?(\w+)", body)
    returned = _RETURNED.findall(body)
    kept = given is not None and re.search(
        rf"isinstance\(\s*{given[1]}\s*,\s*torch\.device\s*\)", body
    )
    return bool(returned) and all(
        _MADE.match(each) or kept and given is not None and each.split("#")[0].strip() == given[1]
        for each in returned
    )


@lru_cache(maxsize=16)
def kept_by(marks: tuple[str, ...]) -> re.Pattern[str]:
    """Return what matches a comment with one of these marks, or of :data:`MARKS`: ``# noqa: E501, CUDA`` too."""
    words = []
    for mark in dict.fromkeys((*MARKS, *marks)):
        head, colon, last = mark.partition(":")
        parts = [re.escape(part) for part in head.split()]
        rest = r"\s+".join(map(re.escape, last.split()))
        list_before = r"[ \t]*(?:[\w-]+,[ \t]*)*" if head == "noqa" else r"[ \t]*"
        words.append(r"\s+".join(parts) + (f"[ \t]*:{list_before}{rest}" if colon else ""))
    return re.compile(rf"#[^#\n\r]*?(?<![\w-])(?:{'|'.join(words)})(?![\w-])")


def may_be_kept(text: str, marks: tuple[str, ...] = ()) -> bool:
    """Tell whether a text holds such a comment, or a string that looks like one."""
    firsts = ("tdev", "ignore-cuda", "noqa", *(mark.split()[0].rstrip(":") for mark in marks))
    return any(word in text for word in firsts) and kept_by(marks).search(text) is not None


def used_as_tensor(text: str, name: str) -> bool:
    """Tell whether a text asks of ``name`` what only a tensor, or a module, answers."""
    return any(_USED_AS_TENSOR.match(text, at + len(name)) for at in _places(text, name))


def used_as_a_tensor_alone(text: str, name: str) -> bool:
    """Tell whether a text asks of ``name`` what only a tensor answers, and no class that wraps some: ``x.backward(d).cpu()``."""
    return any(
        _USED_AS_TENSOR.match(text, at + len(name)) is not None
        and _OF_A_WRAPPER.match(text, at + len(name)) is None
        for at in _places(text, name)
    )


_OF_A_WRAPPER = re.compile(
    r"\.(?:cpu|numpy|backward|clone|float|half|parameters|named_parameters|buffers|state_dict)\("
)
# One pattern for all names: to make one for each takes longer than to look for it.
_USED_AS_TENSOR = re.compile(rf"\.(?:{_AS_TENSOR})|\[[^]\"'\[]*:[^]\"']*\]|\[\s*\.\.\.,")
_COMPUTED = re.compile(rf"{_OF_TENSORS}([\w.]+)\s*[,)]")


def _places(text: str, name: str) -> Iterator[int]:
    """Yield where a dotted name starts in a text, by its last characters at least."""
    at = text.find(name)
    while at >= 0:
        before = text[at - 1] if at else " "
        if not (before.isalnum() or before in "._"):
            yield at
        at = text.find(name, at + 1)


_IMPORTS_FROM = re.compile(r"^from[ \t]+[\w.]+[ \t]+import\b([^\n(]*(?:\([^)]*)?)", re.MULTILINE)
_RENAMES = re.compile(r"\b(\w+)\s+as\s+(\w+)")


@lru_cache(maxsize=64)
def renamed(text: str) -> Mapping[str, str]:
    """Return what the imports at a file's margin call otherwise, by its name there, where that is the only one: ``import mask as causal``."""
    if " as " not in text:
        return {}
    found = [
        (there, name)
        for line in _IMPORTS_FROM.findall(text)
        for there, name in _RENAMES.findall(line)
        if there != name
    ]
    return {
        name: there
        for there, name in found
        if re.search(
            rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b|^[ \t]*{name}[ \t]*[:=]",
            text,
            re.MULTILINE,
        )
        is None
        and sum(each == name for _, each in found) == 1
    }


# Wherever they stand, one below another in brackets or behind a backslash included.
# By the word, which `re` looks for many times faster than for what stands before it.
_TAKEN_FROM = re.compile(
    r"from(?<=\bfrom)[ \t]+([\w.]+)(?:\s|\\)+import\b[ \t]*(\((?:[^()#]+|#[^\n]*)*|(?:[^\n\\;#]+|\\\n)*)"
)
_MODULES_TAKEN = re.compile(r"import[ \t]+((?:[^\n\\;#]+|\\\n)+)")


@lru_cache(maxsize=64)
def imported_from(text: str) -> Mapping[str, frozenset[str]]:
    """Return which modules the imports of a text, at whatever place, take each name from; ``*`` for all names of one."""
    taken = [(found[1], found[2]) for found in _TAKEN_FROM.finditer(text)]
    for found in _MODULES_TAKEN.finditer(text):
        before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()].rstrip(" \t")
        if not before or before[-1] in ";:":
            taken.append(("", found[1]))
    brought: dict[str, set[str]] = {}
    for module, names in taken:
        for each in re.sub(r"#[^\n]*|[()\\]", " ", names).split(","):
            match each.split():
                case [there, "as", name]:
                    brought.setdefault(name, set()).add(module or there)
                case [there, *_]:
                    brought.setdefault(there.partition(".")[0], set()).add(module or there)
                case _:
                    pass
    return {name: frozenset(modules) for name, modules in brought.items()}


@lru_cache(maxsize=4)
def names_of_runtimes(source: str, own: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the names that a file imports from such packages, of which the program's ``own`` are none."""
    others = RUNTIMES - own
    return frozenset(
        name
        for name, modules in imported_from(source).items()
        if any(module.partition(".")[0] in others for module in modules)
    )


def computed_with(text: str, name: str) -> bool:
    """Tell whether a text gives ``name`` to a function of torch that computes with it, as the first argument."""
    return name in _computed_with(text)


@lru_cache(maxsize=64)
def _computed_with(text: str) -> frozenset[str]:
    return frozenset(_COMPUTED.findall(text))


def holds_tensors(text: str, name: str) -> bool:
    """Tell whether a dotted name is a tensor, a module or the like by its word, or by its use in ``text``."""
    if TENSOR_WORD.search(name.rpartition(".")[2]) or used_as_tensor(text, name):
        return True
    it = re.escape(name)
    # Each by itself, from a word that it starts with, `re` looks for that many times faster; and made only where it may be found.
    shown = [rf"{it}(?<![\w.]{it})(?:{_AS_MODULE})"]
    if "torch." in text:
        shown.append(rf"{_OF_TENSORS}(?:{_OTHER_ARGUMENT})?{it}\s*[,)]")
    if "Tensor" in text and "isinstance(" in text:
        shown.append(rf"isinstance(?<!\wisinstance)\(\s*{it}\s*,\s*\(?[^()]*\bTensor\b")
    if "is_tensor(" in text:
        shown.append(rf"is_tensor(?<!\wis_tensor)\(\s*{it}\s*\)")
    if any(sign in text for sign in _IN_PLACE_SIGNS):
        shown.append(rf"{_IN_PLACE}{it}\s*[,)]")
    if any(re.search(each, text) is not None for each in shown):
        return True
    counted = rf"(?<![\w.]){it}\s*(?:[-+/@]|\*(?!\*))\s*[\w(]|[\w)\]]\s*[-+/@]\s*{it}(?![\w.(])"
    return re.search(counted, without_prose(text)) is not None


# The text of a function says of a parameter that it is a `torch.device`: of any other, `x.type` would fail.
# Tried after each place where the name stands: to make a pattern for each name takes longer than to look for it.
_ASKED_OF_A_DEVICE = re.compile(r"\.(?:type|index)\b(?!\()")
_MAY_BE_A_STRING = re.compile(r"\s*(?:[!=]=|\bin\b|not\s+in\b)|\.(?:startswith|split|lower)\(")
_TAKE_A_STRING = ("isinstance(", "hasattr(", "getattr(", "str(")
_GIVEN_ANEW = re.compile(r"[ \t]+=[ \t]")
_DOCUMENTED = (
    r"^[ \t]*(?::param\s+)?`?{0}`?\s*[:(]\s*(?:an?\s+)?[:`~a-zA-Z]*?\btorch\.device\b`*([^\n]*)"
)


def shown_device(text: str, name: str) -> bool:
    """Tell whether a function's text shows that its parameter is a ``torch.device`` already.

    It asks for its ``type``, and nowhere what only a string answers; or its docstring says so.
    """
    if is_documented_device(text, name):
        return True
    if not asked_as_device(text, name):
        return False
    return not any(
        _GIVEN_ANEW.match(text, at + len(name))
        and not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t")
        for at in _places(text, name)
    )


def asked_as_device(text: str, name: str) -> bool:
    """Tell whether a text asks for the type of what it calls by a name, and nothing that only a string answers."""
    if f"{name}.type" not in text and f"{name}.index" not in text:
        return False
    ends = [at + len(name) for at in _places(text, name)]
    if not any(_ASKED_OF_A_DEVICE.match(text, end) for end in ends):
        return False
    for end in ends:
        if _MAY_BE_A_STRING.match(text, end) is not None:
            return False
        before = text[max(0, end - len(name) - _REACH) : end - len(name)].rstrip()
        following = text[end : end + 1]
        if before.endswith(_TAKE_A_STRING) and not (following.isalnum() or following == "_"):
            return False
    return True


_REACH = 80


def is_documented_device(text: str, name: str) -> bool:
    """Tell whether a docstring in a text says that a parameter is a ``torch.device``, and no word."""
    if "torch.device" not in text:
        return False
    said = re.search(_DOCUMENTED.format(re.escape(name)), text, re.MULTILINE)
    return said is not None and not re.search(r"\b(?:str|int)", said[1])


_BESIDE = r"(?:device|torch|cuda|accelerator|backend)"
_OF_MPS = re.compile(
    rf"\bbackends\.mps\b|\btorch\.mps\b|\btorch\.accelerator\.(?:current_accelerator|is_available)\b"
    rf"|{_BESIDE}[^\n]*[\"']mps(?::\d+)?[\"']|[\"']mps(?::\d+)?[\"'][^\n]*{_BESIDE}"
)
# A list that becomes the predicate asks for no accelerator by itself.
SHARED_LIST = re.compile(
    r"""(?<![\w\])])[\[({](?=[^\])}]*["']cuda["'])\s*(?:["'](?:cuda|mps)["']\s*,?\s*)*[\])}]"""
)


@lru_cache(maxsize=8)
def says_mps(code: str) -> bool:
    """Tell whether code asks for MPS or any accelerator, or makes a device of one, and not only in ``("cuda", "mps")``."""
    return (
        ("mps" in code or "torch.accelerator" in code)
        and _OF_MPS.search(code) is not None
        and _OF_MPS.search(SHARED_LIST.sub("", code)) is not None
    )


# A number of a GPU that a tensor or a module is moved to: `x.to(rank)`, `model.to(self.gpu_id)`, `x.to(0)`.
_ORDINAL = (
    r"(?:(?:[A-Za-z_]\w*\.)*\w*(?:(?:rank|RANK|gpu|GPU)|(?:device|dev|cuda|gpu|GPU|rank)_?(?:id|ID|idx|index|num))\d*"
    r"|int\([^()\n]*RANK[^()\n]*\)|\d+)"
)
ORDINAL = re.compile(_ORDINAL)
_ORDINAL_MOVES = rf"\.to\(\s*(?:device\s*=\s*)?{_ORDINAL}\s*[,)]"
ORDINAL_MOVES = re.compile(_ORDINAL_MOVES)
"""A move whose words alone say that it goes to a GPU by its number."""

OF_AMP = ("amp", "autocast", "GradScaler", "custom_fwd", "custom_bwd")
"""What is imported of ``torch.cuda.amp``, and that itself."""

MAKERS = re.compile(r"torch\.(?:rand|randn|zeros|ones|empty|full|eye)(?=\s*,)")
"""A function that is given to another one, which makes tensors by it: ``_create(torch.rand, *shape, **kwargs)``."""
_NAMED = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(_PACKAGES)})(?![A-Za-z])")
_IMPORT, _FROM = (re.compile(pattern) for pattern in _IMPORTS)
PATCHED = re.compile(_PATCHES)
"""A test that puts something else in the place of a name of torch's."""
_PATCHED_BYTES = re.compile(_PATCHES.encode())
_IMPORT_BYTES, _FROM_BYTES = (re.compile(pattern.encode()) for pattern in _IMPORTS)
_ORDINAL_MOVES_BYTES = re.compile(_ORDINAL_MOVES.encode())
DOUBLE = re.compile(r"\.double\(\)|\.to\(\s*(?:dtype[ \t]*=[ \t]*)?torch\.(?:float64|double)\s*\)")
"""Makes a tensor one of double precision, which MPS has not."""
MADE_DOUBLE = re.compile(r"\bdtype[ \t]*=[ \t]*torch\.(?:float64|double|complex128|cdouble)\b")
"""Makes a new one so, wherever that is."""
_DOUBLES = (b".double()", b"torch.float64)", b"torch.double)")
_MAY_MATTER = (b"device", b"load", b"pin_memory", b"jit", *_DOUBLES)
_WORDS_BYTES = [word.encode() for word in WORDS]


def signs(text: str) -> Iterator[int]:
    """Yield the offset of each word that :func:`mentions` looks for."""
    yield from (found.start() for found in PATCHED.finditer(text))
    yield from (found.start() for found in _NAMED.finditer(text))
    for word in (*WORDS, "import *"):
        yield from places(text, word)


def places(text: str, word: str) -> Iterator[int]:
    """Yield the offset of each place where a text has a word, by itself or in a longer one."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def mentions(text: str) -> bool:
    """Tell whether a text says anything that only code for CUDA says."""
    # Plain searches for words are many times faster than one pattern of alternatives.
    if any(word in text for word in WORDS):
        return True
    return (_IMPORT.search(text) or _FROM.search(text) or PATCHED.search(text)) is not None


# What is returned with a dtype is the device of tensors, not a name that somebody typed.
DEVICE_AND_DTYPE = re.compile(
    r"(?:(?:\w*_)?device[ \t]*,[ \t]*(?:\w*_)?dtype|(?:\w*_)?dtype[ \t]*,[ \t]*(?:\w*_)?device)[ \t]*="
    r"[ \t]*(?![\w.]*(?:parse|resolve|choose|select|pick|default))[\w.]*(?:device\w*_dtype|dtype\w*_device)\w*\("
)


def may_concern(raw: bytes) -> bool:
    """False when no rule could change or report this file; a cheap test on its bytes.

    A file that says nothing of CUDA is read closely if it may make a device out of a name or a
    number, load a checkpoint, have something compiled, or ask for page-locked memory.
    """
    # Most files that may concern a rule say so here; the long list is for the others.
    if b"torch" in raw:
        if any(word in raw for word in _MAY_MATTER) or _ORDINAL_MOVES_BYTES.search(raw):
            return True
    if any(word in raw for word in _WORDS_BYTES):
        return True
    found = _IMPORT_BYTES.search(raw) or _FROM_BYTES.search(raw) or _PATCHED_BYTES.search(raw)
    return found is not None


_TORCH_ELSEWHERE = re.compile(
    r"^[ \t]*from[ \t]+(?!(?:torch|tdev)\b)[.\w]+[ \t]+import[ \t]*(?:\*|(?:\([^)]*?|[^\n(#]*?)\btorch\b)",
    re.MULTILINE,
)
_TORCHS_NAME = re.compile(
    r"(?<![\w.])torch\.(?:cuda|device|nn|distributed|load|[a-z]*tensor|Tensor|ones|zeros|empty|arange)\b"
)


def names_of_module(written: str, folder: PurePath) -> Iterator[str]:
    """Yield what the module may be called that a file in ``folder`` imports as ``written``: its last name, and whole names."""
    named = written.lstrip(".")
    yield written.rpartition(".")[2]
    if named == written:
        yield written
        return
    up = len(written) - len(named) - 1
    parts = [*folder.parts[: len(folder.parts) - up], *filter(None, named.split("."))]
    yield from (".".join(parts[start:]) for start in range(len(parts) - 1))


def takes_torch_elsewhere(source: str) -> bool:
    """Tell whether a module of the tree gives a file the name ``torch``, by its name or by a star import."""
    if "torch" not in source:
        return False
    # From the start of each line that says it: a pattern that begins with that is tried at each letter.
    lines = (source.rfind("\n", 0, at) + 1 for at in places(source, "from"))
    if not any(_TORCH_ELSEWHERE.match(source, start) for start in lines):
        return False
    return _TORCHS_NAME.search(source) is not None or "torch as " in source
