"""Tests that decide about code which only CUDA can run keep meaning CUDA."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.analysis.cudas import ASKS_OR_MOVES
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.handing_on import gives_settings, takes_besides
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.rules.architecture import asks_for_nvidias, asks_for_the_build
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.early_exits import after_early_exit
from tdev_core.codemod.engine.rules.handed_on import who_hands_settings_on
from tdev_core.codemod.engine.rules.in_double import crosses_doubles, is_made_double
from tdev_core.codemod.engine.rules.kernels_beside import (
    beside_a_flag,
    is_about_a_kernel,
    is_named,
    prepares_for_a_kernel,
)
from tdev_core.codemod.engine.rules.other_runtimes import (
    device_choice,
    handed_to_a_runtime,
    holder_of,
    names_of_another_framework,
    told_to_ray,
    why_its_user_needs_it,
    without_messages,
)
from tdev_core.codemod.engine.staying import DOUBLE
from tdev_core.codemod.engine.survey import GUARDED, is_for_tests
from tdev_core.codemod.engine.vocabulary import DEVICE_NAME, NOTE

# `scatter(data, [device])`, which copies to CUDA's devices alone where it is torch's or MMCV's.
_SCATTERS = re.compile(r"(?<![\w.])((?:\w+\.)*)scatter\(\s*\w+,\s*\[")
_HAS_SCATTER = re.compile(r"(?:torch|tdev|mmcv|mmengine)\b")
_GPU_PACKAGES = (
    r"\b(?:onnxruntime|paddlepaddle|tensorflow|faiss|mxnet)[-_]gpu\b"
    # faiss' own GPU, which is NVIDIA's or AMD's
    r"|\bfaiss\.(?:StandardGpuResources|Gpu\w+|index_cpu_to_(?:all_)?gpus?\w*|get_num_gpus)\b"
)
_NVIDIA = r"\bnvidia[-_]smi\b|\bnvcc\b|(?i:nvlink)|\bnvml[A-Z]"
# A package's name, alone or in that of a flag (`_TRITON_AVAILABLE`).
_PACKAGE = rf"(?i:(?<![a-z])(?:{GUARDED})(?![a-z])|(?-i:\bHAS_(?:BNB|Q_GALORE)\b|\b_?(?:CUEQ?|OEQ|FLASHTP)_AVAILABLE\b)|(?<![a-z])vllm(?![a-z])|(?<![a-z])fused_?(?:adam|lamb|layer_?norm|rms_?norm)\w*|replace_with_kernel_inject)"
_CUDA_ONLY = re.compile(
    rf"{_PACKAGE}|(?i:(?<![a-z])flash(?![a-z]))"
    # which torch has without its gradient on MPS
    r"|(?i:(?<![a-z])flex_?att)"
    r"|\b(load_inline|cpp_extension)\b|\bimport \w*_cuda|\b_C\.|\b\w*_ext\.|torch\.ops\.|CUDAExecutionProvider"
    rf"|{_NVIDIA}|{_GPU_PACKAGES}|(?i:\btensorrt)"
    # the device of a tensor that ONNX Runtime is told by its address
    r"|\bbind_(?:in|out)put\((?:[^()]|\([^()]*\))*[\"']cuda[\"']"
    # what a process takes from another one by CUDA's own handles
    r"|\b_(?:share|new_shared)_cuda_?\b"
    # products that only CUDA has, or takes in this way
    r"|\btorch\._(?:scaled|int|grouped|weight)\w*mm\b|\bout_dtype="
    # a function of the program's own about cuDNN: `with _cudnn_disabled():`
    r"|(?<![.\w])\w*(?i:cudnn)\w*\("
    # what a module of attention takes of CUDA's kernels, beside what it takes anywhere else
    r"|\bself\.cuda_(?:config|backends)\b"
    # what is asked for because CUDA's kernels differ from run to run
    r"|\bare_deterministic_algorithms_enabled\b|\b\w*deterministic\w*\s+and\s+[\w.]+\.(?:type|is_cuda)\b"
    # the number of a GPU, as packages beside torch are told it, which count CUDA's alone
    r"|\bcuda_device[ \t]*=[ \t]*(?:-?\d|[\w.]+\.index\b)"
    # CUDA graphs of the program's own, without which it runs as well
    r"|\bcuda_graphs?_\w+|\buse_cuda_graphs?(?:_\w+)?\b|\b\w*_cudagraphs?\b"
    # a device as Paddle or TensorFlow calls it, and torch none: `f"gpu:{index}"`
    r"|\bdevice\w*[ \t]*=[ \t]*[fF]?[\"']gpu:[\d{]"
    # what is an error wherever it is reached, and today is reached on CUDA alone
    r"|\bcuda\.device\(\s*\)"
    # a chain of arms for the machines of NVIDIA's and AMD's, and none for another's: `elif is_nvidia_system():`
    r"|\belif[ \t]+(?:\w+\.)*is_(?:nvidia|rocm)\w*\("
    # a class or a flag of the program's own: `CUDAHashMap(`, `WITH_CUDA_HASH_MAP`
    r"|(?<![.\w])_?(?:CUDA|Cuda)(?!Graph\b)[A-Z]\w*(?:\.\w+)?\(|\b(?:WITH|HAS|HAVE)_CUDA_\w"
)
# A function that says it is CUDA's, but not `use_cuda()` or `to_cuda()`.
_CALLED_CUDAS = re.compile(rf"\b(?!{ASKS_OR_MOVES})(\w*_cuda(?:_\w+)?)(?:\.\w+)*\(")
_MOVED = re.compile(r"\.(?:to|cuda)\(")


# What is asked for by a variable or a function of this name has been written for CUDA.
KERNEL_NAME = re.compile(
    r"(?i:kernel(?!_?(?:size|width|dim))|triton|fl(?:ash|ex)_?att|cupy|cucim|xformers|load_in_[48]bit)|\b(?:use|has)_cp\b"
)
# Kernels of the program's own: compiled, or imported as an extension.
_EXTENSION = re.compile(
    r"\bCUDAExtension\b|\bload_inline\b|\bcpp_extension\b|\bimport \w+_cuda\b|\.cu[\"']"
)
# What torch was built with: None where that is not CUDA. Not what is only told of it, `f"CUDA {torch.version.cuda}"`.
_BUILD = re.compile(r"(?<!\{torch\.)\bversion\.(?:cuda|hip)\b")
# Functions of torch's core that no other build has, nor tdev a mirror of.
_OF_A_BUILD = re.compile(r"\btorch\._C\._cuda_\w+")
_PACKAGES = re.compile(_PACKAGE)
# NVIDIA's products, in what a choice by the architecture says: `print("A100 detected, using flash attention")`.
_PRODUCTS = re.compile(r"\b(?:[AHV]100|B200|GH200)\b")
_ASKS_ARCHITECTURE = re.compile(r"\bcuda\.(?:get_device_capability|get_arch_list)\b")
_PROFILED = re.compile(r"\bProfilerActivity\.CUDA\b|\b(?:self_)?cuda_(?:time_total|memory_usage)\b")
# What CUDA graphs need, and torch.compile's.
_GRAPHS = re.compile(r"\bcudagraph_\w+|\bcudagraph_trees\b")
# NVIDIA's management library, and what a function says of itself.
_NVML = re.compile(r"(?i:\bnvml|pynvml)")
_SAYS_NVML = re.compile(r"(?i:nvml)|\bnvidia-smi\b|\bNVIDIA\b")
_NVIDIA_ITSELF = re.compile(r"\bNVIDIA\b")
# What torch counts by itself may be likened to what NVIDIA's tool prints: `"""Close to the output of nvidia-smi."""`
_COUNTED_BY_TORCH = re.compile(
    r"\bcuda\.(?:max_)?(?:memory|get_device_properties|mem_get_info|reset_\w*stats)"
)
_LIKENED = re.compile(r"\bnvidia-smi\b")
_OTHER_VENDORS = re.compile(r"\b(?:MPS|Apple|AMD|ROCm|Intel|XPU|TPU)\b")
# Other programs that only know NVIDIA's devices.
_RUNTIME = re.compile(
    rf"CUDAExecutionProvider|[\"']flash_attention_\d[\"']|{_NVIDIA}|{_GPU_PACKAGES}"
)
_ATTENTION = re.compile(r"\battn_(?:backend|implementation)\b|(?i:(?<![a-z])flex_?att)")
# NVIDIA's loader of data, and the word that it takes for a device.
_DALI = re.compile(r"(?i:(?<![a-z])dali(?![a-z]))")
_GPU = re.compile(r"[\"']gpu[\"']")
# By a module that is nothing without it; what is tried may be absent.
_HOROVOD = re.compile(r"^(?:import|from)[ \t]+horovod\b", re.MULTILINE)
_ASKS_HOROVOD = re.compile(r"horovod|\bhvd\b", re.IGNORECASE)
_FAULTS = re.compile(r"\bcudnn\s+(?:error|bug|crash|fault|issue|incompatib)", re.IGNORECASE)
"""What comments and messages say of faults that only CUDA's library has."""
# Which torch turns off elsewhere, with a warning.
_FULL_AUTOCAST = re.compile(r"\bautocast\((?:[^()]|\([^()]*\))*\bdtype\s*=\s*\w+\.float32\b")
_WIDE = r"\bdtype\s*=\s*torch\.(?:float64|double|complex128|cdouble)\b"
_THERE = r"\bdevice\s*=\s*[\"']cuda"
# What CUDA's device is asked for by name and MPS refuses: `torch.tensor(1, dtype=torch.float64, device="cuda")`.
_DOUBLES_THERE = re.compile(rf"{_WIDE}[^()]*{_THERE}|{_THERE}[^()]*{_WIDE}")
# What is used decides, and no word of the text.
_NO_WORDS = re.compile(r"(?!)")
_SAID = re.compile(
    r"#.*\b(?:cuda[- ]only|only\s+(?:\w+\s+)?cuda)\b|#.*\bnccl\b|#.*\bnvidia\b|#.*\bcuda kernel"
    r"|#.*\btriton\b|#.*\bcuda graphs?\b|#.*\bonly\b[^.]{0,120}\b(?:on|is|for)\s+(?:a\s+)?cuda\b|#.*\bnot\s+(?:yet\s+)?(?:support|implement)\w*\b.*\bcuda\b",
    re.IGNORECASE,
)
# What works with faiss or ONNX Runtime by its name, which run on CUDA or the CPU.
_OF_ANOTHER = re.compile(r"faiss|onnx", re.IGNORECASE)
# What a call is told that checks an answer: `check(x.is_cuda, "FP16 requires CUDA")`.
_CHECKED = re.compile(r"[\"'][^\"'\n]*\b(?:requir|need|only|must)\w*[^\"'\n]*\bCUDA\b")


def availability_guards(file: File, node: cst.CSTNode) -> str | None:
    """Name what is decided by asking whether there is CUDA, if that is written for CUDA alone."""
    if guards_cuda_only(file, node, _EXTENSION):
        return "kernels written for CUDA"
    if guards_cuda_only(file, node, _BUILD):
        return "what torch was built with"
    if guards_cuda_only(file, node, _OF_A_BUILD):
        return "what torch has in builds for CUDA alone"
    by_architecture = asks_for_the_build(file, node) is not None
    if by_architecture or guards_a_product(file, node) or _guards_nvidias(file, node):
        return "what is decided by the build or the architecture"
    if guards_cuda_only(file, node, _GRAPHS) or _opens_only(file, node, _SWITCHES_GRAPHS):
        return "CUDA graphs"
    if guards_cuda_only(file, node, _PROFILED) and not _moves_besides(file, node):
        return "what CUDA's own profiler sees"
    if not file.options.program and _opens_what_mps_refuses(file, node):
        return "the sensors of a GPU and what else tdev refuses on MPS"
    if not file.options.program and _makes_doubles_there(file, node):
        return "tensors in double precision by CUDA's name, which MPS has not"
    if not file.options.program and _tells_of_what_is_given(file, node):
        return "what is told of the device that a function was given, which may be the CPU"
    if _asks_for_what_was_saved(file, node):
        return "whether a device that was saved is here"
    if not file.options.program and _opens_only(file, node, _OF_TRAINER):
        return "what transformers' Trainer makes of CUDA's devices, which it counts itself"
    if _sets_cudnn(file, node):
        return "settings of CUDA's libraries"
    if works_with_nvml(file, node):
        return "what only knows NVIDIA's devices"
    if guards_cuda_only(file, node, _PACKAGES):
        return "packages that exist for CUDA only"
    if _is_told_of_an_engine(file, node):
        return "what is told of an engine of TensorRT's"
    if (package := _beside_a_package(file, node)) is not None:
        return f"{package}, which is asked for with CUDA"
    if guards_cuda_only(file, node, _NO_WORDS):
        return "kernels written for CUDA"
    if guards_cuda_only(file, node, _RUNTIME) or _kept_for(file, node, _RUNTIME):
        return "what only knows NVIDIA's devices"
    if "out of memory" in file.tree.source and _guards_a_handler(file, node):
        return "what asks an error for the words of CUDA's allocator"
    if guards_cuda_only(file, node, _ATTENTION):
        return "which attention is taken, and CUDA has more of them"
    if guards_cuda_only(file, node, _FAULTS) or _is_said_above(file, node, _FAULTS):
        return "what goes wrong with cuDNN alone"
    if names_of_another_framework(file, node):
        return "the device of another framework, which does not know every accelerator"
    if (runtime := handed_to_a_runtime(file, node)) is not None:
        return f"the device of {runtime}, which does not know every accelerator"
    if _is_for_horovod(file, node):
        return "what works with Horovod, which knows CUDA and the CPU alone"
    if told_to_ray(file, node):
        return "what Ray or NNI is told, which do not count every accelerator"
    if _kept_for(file, node, _DALI):
        if _GPU.search(file.tree.line_text(file.tree.position(file.tree.span(node)[0])[0])):
            return "what DALI, which only knows NVIDIA's devices, is told"
    if _is_kept_for_another(file, node):
        return "what another library is told, which knows CUDA and the CPU alone"
    if _is_given_to_cudas(file, node):
        return "what torch takes for CUDA alone"
    if _is_said_to_need_cuda(file, node):
        return "what is said to need CUDA"
    if guards_tf32(file, node):
        return "a number format of NVIDIA's"
    if _opens_only(file, node, _REVERTS):
        return "layers that wait for other processes, which torch has for CUDA"
    if _is_only_for_pinning(file, node):
        return "page-locked memory, which torch has for CUDA"
    if _is_one_elsewhere(file, node):
        return "a number of devices that is 1 wherever they are not CUDA's"
    return why_the_choice_stays(file, node)


# By MMEngine's function, and its kin, a model on the CPU gets plain layers, which do on any device.
_REVERTS = re.compile(
    r"\s*[\w.]+[ \t]*=[ \t]*(?:\w+\.)*revert_sync_?(?:batch_?)?norm\w*\([\w.]+\)\s*", re.IGNORECASE
)
# Switches for CUDA graphs, without which a program that has one runs as well. Each line can be divided in one way alone: with
# two, a row of them that ends otherwise would take twice as long by every line.
_SWITCHES_GRAPHS = re.compile(
    r"(?:\s*(?:\w+\.)*(?=\w*cuda_?graph)\w+[ \t]*=[ \t]*(?:True|False)\b(?:[ \t]*#[^\n]*(?![^\n]))?)+\s*"
)
# Those which keep transformers' Trainer from replicating a model on CUDA's devices.
_OF_TRAINER = re.compile(
    r"(?:\s*(?:\w+\.(?:is_parallelizable|model_parallel)[ \t]*=[^\n]*|#[^\n]*)(?:\n|\Z))+\s*\Z"
)


def _opens_only(file: File, node: cst.CSTNode, what: re.Pattern[str]) -> bool:
    """Tell whether all that a question opens is of a kind: ``if not is_available(): self.use_cuda_graphs = False``."""
    choice = next(
        (p for p in file.tree.ancestors(node) if isinstance(p, (cst.If, cst.BaseSuite))), None
    )
    if not isinstance(choice, cst.If) or choice.orelse is not None:
        return False
    return what.fullmatch(file.tree.text(choice.body)) is not None


MPS_REFUSES = frozenset(
    "clock_rate current_blas_handle current_solver_handle memory_usage power_draw temperature utilization".split()
)
"""The functions of ``torch.cuda`` that raise an error on MPS, whoever calls them."""
_REFUSED = re.compile(rf"\bcuda\.(?:{'|'.join(sorted(MPS_REFUSES))})\(")
_TRIES = re.compile(r"^[ \t]*try:", re.MULTILINE)


def _opens_what_mps_refuses(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question opens what is an error on MPS, where nothing is called today, and nobody catches it."""
    if not guards_cuda_only(file, node, _REFUSED):
        return False
    home = enclosing_function(file, node)
    return home is None or _TRIES.search(file.tree.source, *file.tree.span(home)) is None


def _is_only_for_pinning(file: File, node: cst.CSTNode) -> bool:
    """Tell whether all that becomes of an answer is ``pin_memory=self.use_gpu``, as far as its file goes."""
    kept = next(
        (p for p in file.tree.ancestors(node) if isinstance(p, (cst.Assign, cst.BaseSuite))), None
    )
    if not isinstance(kept, cst.Assign) or "pin_memory" not in file.tree.source:
        return False
    target = kept.targets[0].target
    if not isinstance(target, (cst.Name, cst.Attribute)):
        return False
    name = re.escape(file.tree.text(target))
    uses = len(re.findall(rf"(?<![\w.]){name}\b(?![ \t]*=(?!=))", file.code))
    pins = len(re.findall(rf"\bpin_memory[ \t]*=[ \t]*{name}\b(?!\.)", file.code))
    return 0 < pins == uses


_OUT_OF_MEMORY = r"[\"'][^\"'\n]*CUDA (?:error: )?out of memory[^\"'\n]*[\"']\s+(?:not\s+)?in\b"


def _guards_a_handler(file: File, node: cst.CSTNode) -> bool:
    """Tell whether what a question opens goes on where an error says CUDA's words, by a function of the file, too: MPS says others."""
    return guards_cuda_only(file, node, _asks_for_the_words(file.code))


@lru_cache(maxsize=4)
def _asks_for_the_words(code: str) -> re.Pattern[str]:
    asks = re.compile(
        rf"^def[ \t]+(\w+)\((?:(?!^\S)[^\n]*\n)*?[^\n]*{_OUT_OF_MEMORY}", re.MULTILINE
    )
    names = "|".join(asks.findall(code))
    return re.compile(_OUT_OF_MEMORY + (rf"|(?<!def )\b(?:{names})\(" if names else ""))


_COUNT = r"(?:\w+\.)*cuda\.device_count\(\)"
_AT_LEAST_ONE = re.compile(rf"1\s+if\s+{_COUNT}\s*==\s*0\s+else\s+{_COUNT}|{_COUNT}\s+or\s+1\b")
_MORE_OF_CUDA = re.compile(r"\bcuda\.\w|[\"']cuda\b|\.cuda\(")


def _is_one_elsewhere(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a count is made at least 1 where it is asked, in a function that asks nothing else of CUDA's.

    One device is what every other backend of tdev's counts.
    """
    if file.options.style == "accelerator":
        return False  # that target has a reason of its own
    home = enclosing_function(file, node)
    statement = file.tree.text(file.tree.statement(node))
    if home is None or _AT_LEAST_ONE.search(statement) is None:
        return False
    rest = file.tree.source[slice(*file.tree.span(home))].replace(statement, "")
    if "%" in rest:
        return False  # the number of a device is reckoned with it
    return _MORE_OF_CUDA.search(_AT_LEAST_ONE.sub("", statement) + rest) is None


_NAMES_THE_DEVICE = re.compile(r"(?:torch\.)?cuda\.get_device_(?:name|properties)\(")
_OF_TENSORRT = re.compile(r"[\"'](?:tensorrt|trt)_\w+[\"']\s*:")


def _is_told_of_an_engine(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question opens the name of the device that an engine of TensorRT's was made on: ``{"gpu": …, "tensorrt_version": …}``."""
    choice = next(
        (p for p in file.tree.ancestors(node) if not isinstance(p, (cst.Call, cst.Attribute))), None
    )
    table = file.tree.parents.get(file.tree.parents[choice]) if choice is not None else None
    return (
        isinstance(choice, cst.IfExp)
        and isinstance(table, cst.Dict)
        and _NAMES_THE_DEVICE.match(file.tree.text(choice.body)) is not None
        and _OF_TENSORRT.search(file.tree.text(table)) is not None
    )


LIBRARIES = frozenset(
    "torch tdev numpy scipy sklearn pandas matplotlib PIL cv2 tqdm yaml omegaconf hydra einops wandb "
    "tensorboard tensorboardX torchvision torchaudio torchtext transformers datasets tokenizers "
    "accelerate diffusers peft timm safetensors sentencepiece tiktoken lightning pytorch_lightning "
    "torchmetrics rich loguru typer click pytest hypothesis huggingface_hub evaluate imageio skimage networkx "
    "requests psutil packaging typing_extensions setuptools absl gymnasium gym".split()
)
"""Libraries that run wherever torch does; what they are given is tdev's."""


def _needed_names(node: cst.BaseExpression) -> Iterator[str]:
    """Yield the names without which a condition is false."""
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.And):
        yield from _needed_names(node.left)
        yield from _needed_names(node.right)
    elif isinstance(node, cst.Name):
        yield node.value


def _beside_a_package(file: File, node: cst.CSTNode) -> str | None:
    """Return the package that a condition asks for with CUDA, by a flag that a ``try`` of its import sets.

    ``_HAS_KERNELS and torch.cuda.is_available()``, of what runs wherever torch does not.
    """
    flags: set[str] = set()
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.And):
            flags |= set(_needed_names(parent))
        elif not isinstance(parent, (cst.Call, cst.BooleanOperation)):
            break
    if not flags or "import" not in file.code or (python := file.python) is None:
        return None
    own = file.options.tree.modules if file.options.tree is not None else frozenset()
    for tried in python.statements:
        if not isinstance(tried, ast.Try):
            continue
        inside = list(ast.walk(ast.Module(tried.body, [])))
        set_there = {
            n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        if flags.isdisjoint(set_there):
            continue
        for each in inside:
            names = [a.name for a in each.names] if isinstance(each, ast.Import) else []
            if isinstance(each, ast.ImportFrom) and each.level == 0:
                names = [each.module or ""]
            for top in (name.partition(".")[0] for name in names):
                if top and top not in LIBRARIES | own | sys.stdlib_module_names:
                    return top
    return None


def why_the_choice_stays(file: File, node: cst.CSTNode) -> str | None:
    """Name what a device is chosen for by asking whether there is CUDA, where another accelerator would not do."""
    if _puts_a_number_behind(file, node):
        return "the number of a GPU, which a worker without one does not have"
    if _chooses_for_double(file, node):
        return "a device for double precision, which MPS has not"
    if holder := holder_of(file, node):
        return f"the device of {holder}, which knows CUDA and the CPU alone"
    if (taker := _is_handed_on(file, node)) is not None:
        return f"a word that {taker} hands to a package which calls torch itself"
    return why_its_user_needs_it(file, node)


def _is_handed_on(file: File, node: cst.CSTNode) -> str | None:
    """Name what hands the word that a question chooses for settings to a package beside the tree, which is nothing but CUDA's to it.

    Where other code of the files that read it asks for a device, all of them go to one: the word is then chosen anew, and told.
    """
    tree, choice = file.options.tree, device_choice(file, node)
    if tree is None or choice is None or takes_besides(file.code):
        return None
    if isinstance(file.tree.parents[choice], cst.Arg):
        apart = tree.handing.divided and gives_settings(file.code)
    else:
        apart = tree.handing.divided
    return None if apart else who_hands_settings_on(file, choice)


def _makes_doubles_there(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an ``if`` that asks for CUDA makes tensors in double precision by its name.

    Or a question adds that to a list of devices, in a program that has one of dtypes as well, and double among them.
    """
    around = file.tree.ancestors(node)
    choice = next(
        (each for each in around if isinstance(each, (cst.If, cst.BaseSmallStatement))), None
    )
    if isinstance(choice, cst.If):
        said = file.tree.text(choice.body)
        if _DOUBLES_THERE.search(said) is not None:
            return True
    else:
        said = file.tree.text(choice) if choice is not None else ""
    if _LISTS_CUDA.search(said) is None or file.python is None:
        return False
    return crosses_doubles(file.python.module, file.code)


# `devices.append("cuda")`, `["cpu", "cuda"]`, `devices += ["cuda"]`
_LISTS_CUDA = re.compile(
    r"\.(?:append|add|insert)\((?:\d+,\s*)?[\"']cuda\b|(?<![\w\])])\[(?:[^\[\]]*,)?\s*[\"']cuda\b[^\[\]]*\]"
)


def guards_tf32(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a test decides about TF32."""
    return guards_cuda_only(file, node, _TF32)


_MOVED = re.compile(r"\.cuda\(|[\"']cuda(?::\d+)?[\"']|\bdevice\b")


def _moves_besides(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the function around a question chooses a device as well: by a column of a table nothing is placed."""
    home = enclosing_function(file, node)
    return home is None or _MOVED.search(file.tree.text(home)) is not None


_TF32 = re.compile(r"(?i)tf32")
# What a choice gives, and what a program sets or moves in double precision, whatever it chooses.
_CHOSEN = re.compile(r"[\"']cuda(?::\d+)?[\"']\s*\)?\s*if\b")
_ALL_IN_DOUBLE = re.compile(
    r"\bset_default_dtype\(\s*torch\.(?:double|float64)|\bset_default_tensor_type\([^()]*Double"
    r"|\.to\((?=[^()]*\bdevice)[^()]*torch\.(?:float64|double)\b"
)
# What TorchServe tells a worker, which is None for one on the CPU: `"cuda:" + str(properties.get("gpu_id"))`.
_GPU_ID = re.compile(r":[\"']\s*\+\s*str\(\s*[\w.]+\.get\(\s*[\"']gpu_id[\"']")


def _puts_a_number_behind(file: File, node: cst.CSTNode) -> bool:
    home = enclosing_function(file, node)
    return home is not None and _GPU_ID.search(file.tree.text(home)) is not None


def _is_given_with_double(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a variable that keeps what is chosen is given in one line with double precision, or with NumPy's numbers of that.

    In a test it is enough that one function does both, and none that uses the variable takes anything to CUDA by another question:
    what runs on the CPU today would fail on MPS.
    """
    home = enclosing_function(file, node)
    span = file.tree.span(home) if home is not None else (0, len(file.tree.source))
    text = file.tree.source[slice(*span)]
    names = _chosen_names(file, node)
    if names and (scope := _scope(file, node)) is not None and is_made_double(scope, text, names):
        return True
    if (users := _names_of_users(file, node)) and file.python is not None:
        if is_made_double(file.python.module, file.code, users):
            return True
    for name in names:
        used = re.compile(rf"(?<![\w.]){name}\b(?![ \t]*=(?!=))")
        said = (line.partition("#")[0] for line in text.splitlines() if used.search(line))
        if any(DOUBLE.search(line) or _DOUBLE_BY_NAME.search(line) for line in said):
            return True
        if is_for_tests(PurePath(file.filename)):
            if any(used.search(each) for each in _that_make_doubles(text)):
                return not _is_asked_besides(file, node, span, used)
    return False


def _names_of_users(file: File, node: cst.CSTNode) -> list[str]:
    """Return what a file calls a device that its command line chooses where none is typed, or that one of its functions returns."""
    choice = device_choice(file, node)
    for parent in file.tree.ancestors(choice) if choice is not None else ():
        if isinstance(parent, cst.Call) and file.tree.text(parent.func).endswith(".add_argument"):
            option = _OPTION.search(file.tree.text(parent))
            holders = _PARSED.findall(file.code) if option is not None else []
            return [f"{name}.{option[1].replace('-', '_')}" for name in holders if option]
        if isinstance(parent, cst.FunctionDef):
            names = "|".join(map(re.escape, _chosen_names(file, node))) or r"\Z"
            gives = rf"\breturn\b(?:[^\n]*\n?[^\n]*[\"']cuda\b|[^\n]*\b(?:{names})\b)"
            if re.search(gives, file.tree.text(parent)) is None:
                return []
            called = rf"^[ \t]*((?:\w+\.)?\w+)[ \t]*=[ \t]*(?:\w+\.)?{parent.name.value}\("
            return re.findall(called, file.code, re.MULTILINE)
    return []


_OPTION = re.compile(r"[\"']--([\w-]+)[\"']")
_PARSED = re.compile(r"\b(\w+)(?:[ \t]*,[ \t]*\w+)?[ \t]*=[ \t]*[\w.]+\.parse_(?:known_)?args\(")


def _scope(file: File, node: cst.CSTNode) -> ast.AST | None:
    """Return the function around a question, or the module, in Python's own tree."""
    asked = file.python.at(file.tree.span(node)) if file.python is not None else None
    if file.python is None or asked is None:
        return None
    homes = (p for p in file.python.ancestors(asked) if isinstance(p, ast.FunctionDef))
    return next(homes, file.python.module)


def _is_asked_besides(file: File, node: cst.CSTNode, span: Span, used: re.Pattern[str]) -> bool:
    """Tell whether a function at a margin, or a class, that uses a variable goes to CUDA in another way as well.

    All that it has would go to the device that there is, but what lies where the variable says.
    """
    choice = device_choice(file, node)
    # What a flag opens goes with it.
    goes = _ASKS if choice is None else _GOES_TO_CUDA
    low, high = file.tree.span(choice or file.tree.statement(node))
    code = _DECORATED.sub("", file.code[span[0] : low] + file.code[high : span[1]])
    units = [unit for unit in _UNIT.split(code) if used.search(unit)]
    if any(goes.search(unit) for unit in units):
        return True
    others = "|".join(_ASKED_AT_A_MARGIN.findall(code))
    other = re.compile(rf"(?<![\w.])(?:{others})\b(?![ \t]*=(?!=))")
    return bool(others) and any(other.search(unit) for unit in units)


_ASKS = re.compile(r"\bcuda\.(?:is_available|device_count)\b")
_GOES_TO_CUDA = re.compile(rf"{_ASKS.pattern}|\.cuda\(|(?<![!=]=)(?<![!=]= )[\"']cuda\b")
_ASKED_AT_A_MARGIN = re.compile(rf"^(\w+)[ \t]*=[^\n]*{_ASKS.pattern}", re.MULTILINE)
# What decides whether a test runs at all.
_DECORATED = re.compile(r"^[ \t]*@[^\n]*", re.MULTILINE)


@lru_cache(maxsize=4)
def _that_make_doubles(text: str) -> tuple[str, ...]:
    """Return the functions at a margin, and the classes, in which something is made double that is not on the CPU by then."""
    return tuple(unit for unit in _UNIT.split(text)[1:] if any(map(_doubles, unit.splitlines())))


def _doubles(line: str) -> bool:
    said = line.partition("#")[0]
    if ".double()" not in said and DOUBLE.search(said) is None:
        return False
    return _ELSEWHERE.search(said) is None


_UNIT = re.compile(r"^(?=(?:async[ \t]+)?def\b|class\b)", re.MULTILINE)
# What is asked of a dtype, or lies on the CPU.
_ELSEWHERE = re.compile(r"\.dtype\b|\bcpu\b|\bnumpy\b|\b(?:np|scipy)\.|\bif\b")


def _chosen_names(file: File, node: cst.CSTNode) -> list[str]:
    """Return the variables that keep a device which a question chooses, by an expression or by an ``if``, or by a flag of the file's."""
    choice = device_choice(file, node)
    if isinstance(choice, cst.If):
        set_there = _SETS_A_NAME.match(without_messages(file.tree.text(choice.body)))
        return [set_there[1]] if set_there is not None else []
    kept = next((p for p in file.tree.ancestors(node) if isinstance(p, cst.Assign)), None)
    target = kept.targets[0].target if kept is not None else None
    if not isinstance(target, cst.Name):
        return []
    if choice is not None:
        return [target.value]
    return [each[1] or each[2] for each in _chosen_by(target.value).finditer(file.code)]


@lru_cache(maxsize=4)
def _chosen_by(flag: str) -> re.Pattern[str]:
    sets = r"\b(\w+)[ \t]*=[ \t]*(?:torch\.device\()?[\"']cuda(?::\d+)?[\"']"
    return re.compile(rf"{sets}\)?[ \t]+if[ \t]+{flag}\b|\bif[ \t]+{flag}[ \t]*:\s*{sets}")


# `Calculator(path, device=device, default_dtype="float64")`
_DOUBLE_BY_NAME = re.compile(r"dtype\s*=\s*[\"'](?:float64|double)[\"']")
_SETS_A_NAME = re.compile(r"\s*(\w+)[ \t]*=(?!=)")


_NEAR = 3
"""The lines around a choice in which the dtype that goes with it is named."""


@lru_cache(maxsize=4)
def _is_all_in_double(code: str) -> bool:
    return _ALL_IN_DOUBLE.search(code) is not None


def _chooses_for_double(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the device is chosen for what is computed in double precision: the CPU has it, and MPS has not.

    ``tkwargs = {"dtype": torch.double, "device": torch.device("cuda" if torch.cuda.is_available() else "cpu")}``.
    """
    statement = file.tree.statement(node)
    if file.options.style == "accelerator":
        return False  # that target has a reason of its own
    choice = device_choice(file, node)
    in_line = _CHOSEN.search(file.tree.text(statement)) is not None
    if not (in_line or isinstance(choice, cst.If) or _chosen_names(file, node)):
        return False
    if _is_all_in_double(file.code):
        return True
    if _is_given_with_double(file, node):
        return True
    if isinstance(choice, cst.If) or not in_line:
        return False
    first, last = (file.tree.position(at)[0] for at in file.tree.span(statement))
    rows = range(max(1, first - _NEAR), min(file.tree.line_count, last + _NEAR) + 1)
    return any(DOUBLE.search(file.tree.line_text(row).partition("#")[0]) for row in rows)


def _is_for_horovod(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question is asked for Horovod: by a module of its, or in the arm of a question about it."""
    if file.in_code(_HOROVOD, "horovod") is not None:
        return True
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.If) and below is parent.body:
            if _ASKS_HOROVOD.search(file.tree.text(parent.test)):
                return True
        below = parent
    return False


def _is_said_above(file: File, node: cst.CSTNode, pattern: re.Pattern[str]) -> bool:
    """Tell whether the comment above an ``if`` around a question says something."""
    return any(
        line.comment is not None and pattern.search(NOTE.sub("", line.comment.value))
        for parent in file.tree.ancestors(node)
        if isinstance(parent, cst.If)
        for line in parent.leading_lines
    )


_NEEDS = re.compile(r"\b(?:need|requir)\w*\s+(?:an?\s+)?cuda\b|\bcuda[- ]only\b", re.IGNORECASE)


def _is_said_to_need_cuda(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the comment above an ``if`` says so of its arm, or the message of an early exit of what follows.

    What an ``if`` sets instead is written above it, below that comment: ``reader = "cpu"``.
    """
    ancestors = file.tree.ancestors(node)
    choice = next((p for p in ancestors if isinstance(p, (cst.If, cst.BaseSmallStatement))), None)
    if not isinstance(choice, cst.If):
        return False
    said = _comment_above(choice)
    if after_early_exit(file, choice) is not None:
        said = file.tree.text(choice.body)
    elif (usual := _set_before(file, choice)) is not None:
        said = f"{_comment_above(usual)}\n{said}"
    return _NEEDS.search(NOTE.sub("", said)) is not None


def _comment_above(statement: cst.If | cst.SimpleStatementLine) -> str:
    """Return the comment above a statement, its lines as one."""
    lines = (line.comment.value for line in statement.leading_lines if line.comment is not None)
    return " ".join(NOTE.sub("", each).lstrip("# ") for each in lines)


def _set_before(file: File, choice: cst.If) -> cst.SimpleStatementLine | None:
    """Return the line right above an ``if`` that gives a variable what the ``if`` gives it otherwise."""
    block = file.tree.parents.get(choice)
    body = block.body if isinstance(block, (cst.IndentedBlock, cst.Module)) else ()
    at = next((number for number, each in enumerate(body) if each is choice), 0)
    match body[at - 1] if at else None:
        case (
            cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))])]
            ) as before
        ):
            pass
        case _:
            return None
    sets = re.compile(rf"^[ \t]*{name}[ \t]*=(?!=)", re.MULTILINE)
    return before if sets.search(file.tree.text(choice.body)) is not None else None


_TELLS = re.compile(
    r"\s*(?:[\w.]+(?:\[[^\]\n]*\])?[ \t]*=[ \t]*)?torch\.cuda\."
    r"(?:(?:max_)?memory_\w+|reset_\w+|get_device_(?:name|properties))\((?:device=)?(\w+)\)\s*"
)


def _tells_of_what_is_given(file: File, node: cst.CSTNode) -> bool:
    """Tell whether all that a question opens is told of a device that the function was given: ``memory_stats(device)``.

    That may be the CPU where there is another accelerator, which is an error that off CUDA nobody has met before.
    """
    choice, home = file.tree.parents[file.tree.parents[node]], enclosing_function(file, node)
    if not isinstance(choice, cst.If) or choice.orelse is not None or home is None:
        return False
    told = _TELLS.fullmatch(file.tree.text(choice.body))
    return told is not None and any(
        each.name.value == told[1]
        and DEVICE_NAME.search(told[1]) is not None
        and (each.annotation is None or "int" != file.tree.text(each.annotation.annotation))
        for each in (*home.params.params, *home.params.kwonly_params)
    )


_SAVED = re.compile(r"\.device\.type\s*!=\s*[\"']cpu[\"']")


def _asks_for_what_was_saved(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question is whether something that is not on the CPU can be there: ``not is_available() and x.device.type != "cpu"``."""
    denied = file.tree.parents[file.tree.parents[node]]
    beside = file.tree.parents.get(denied)
    return (
        isinstance(denied, cst.UnaryOperation)
        and isinstance(beside, cst.BooleanOperation)
        and _SAVED.search(file.tree.text(beside)) is not None
    )


def _guards_nvidias(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an architecture is asked for behind a question, in a function where that stays NVIDIA's.

    torch's own ``get_device_capability`` raises where there is no CUDA. So is a count of the devices that each are asked.
    """
    asks = guards_cuda_only(file, node, _ASKS_ARCHITECTURE) or _is_looped_over(file, node)
    return asks and asks_for_nvidias(file, node)


def _is_looped_over(file: File, node: cst.CSTNode) -> bool:
    """Tell whether each of the devices that are counted is asked for its architecture: ``for i in range(device_count()): …``."""
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.For, cst.CompFor)):
            each = parent.body if isinstance(parent, cst.For) else file.tree.parents[parent]
            return below is parent.iter and (
                _ASKS_ARCHITECTURE.search(file.tree.text(each)) is not None
            )
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
        below = parent
    return False


def guards_full_autocast(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a test opens an ``autocast`` to float32, which torch has for CUDA alone."""
    return guards_cuda_only(file, node, _FULL_AUTOCAST)


def guards_a_product(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question decides about one of NVIDIA's products: ``raise ValueError("needs an H100")``."""
    return guards_cuda_only(file, node, _PRODUCTS)


def guards_a_package(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question decides about a package for CUDA that nothing answers for."""
    return guards_cuda_only(file, node, _PACKAGES)


_CUDAS_CLASS = re.compile(r"(?:\w+\.)*_?(?:CUDA|Cuda|Cu)(?!Graph\b)[A-Z]\w*\Z")
_PROFILES = re.compile(r"\A(?:(?:\w+\.)*profiler\.)?profile\(")
# What torch refuses elsewhere: a library of CUDA's (`linalg.svd`), an optimizer's step in a graph.
_CUDAS_ARGUMENTS = frozenset({"driver", "capturable"})


def _is_given_to_cudas(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an answer goes to what is CUDA's: ``CuEquivarianceConfig(fusion=…)``, ``svd(x, driver=…)``."""
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        match parent:
            case cst.Call(func=func) if func is not below:
                return _CUDAS_CLASS.match(file.tree.text(func)) is not None
            case cst.Arg(keyword=cst.Name(value=name)) if name in _CUDAS_ARGUMENTS:
                return True
            case cst.Arg(keyword=cst.Name(value="use_cuda")):
                call = file.tree.parents[parent]
                # torch's, which sees CUDA's kernels alone; a program's own switch is called so, too.
                return (
                    isinstance(call, cst.Call)
                    and _PROFILES.search(file.tree.text(call)) is not None
                )
            case (
                cst.Call() | cst.Arg() | cst.BooleanOperation() | cst.UnaryOperation() | cst.IfExp()
            ):
                below = parent
            case _:
                return False
    return False


_CUDNNS = re.compile(r"(?:torch\.)?\bbackends\.cudnn\b")
_OF_CUDNN = re.compile(
    r"(?:\s*(?:[\w.]*\b(?:cudnn\.|backends\.cuda\.)[\w.]+[ \t]*=[^\n]*|#[^\n]*)(?:\n|\Z))+\s*\Z"
)

_OF_A_CONDITION = (cst.Call, cst.BooleanOperation, cst.Comparison)


def _sets_cudnn(file: File, node: cst.CSTNode) -> bool:
    """Tell whether all that a question opens are settings of CUDA's libraries, which do nothing elsewhere."""
    asked = file.tree.parents[node]
    choice = file.tree.parents.get(asked)
    if isinstance(choice, cst.BooleanOperation) and isinstance(choice.operator, cst.And):
        if _CUDNNS.search(file.tree.text(choice)) is not None:
            return True
    if isinstance(choice, cst.IfExp) and choice.test is asked:
        return _CUDNNS.match(file.tree.text(choice.body)) is not None
    # `is_available() and device_count() > 0`
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.If):
            sets = _OF_CUDNN.match(file.tree.text(parent.body)) is not None
            return below is parent.test and parent.orelse is None and sets
        if not isinstance(parent, _OF_A_CONDITION):
            return False
        below = parent
    return False


def _kept_for(file: File, node: cst.CSTNode, only: re.Pattern[str]) -> bool:
    """Tell whether an answer is kept in a variable of a function that has such code in it."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.Assign, cst.AnnAssign)):
            home = enclosing_function(file, parent)
            return home is not None and only.search(file.tree.text(home)) is not None
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite, cst.Arg)):
            return False
    return False


def guards_cuda_only(file: File, node: cst.CSTNode, only: re.Pattern[str] = _CUDA_ONLY) -> bool:
    """Tell whether a test decides about code that only CUDA can run: kernels, CUDA-only packages.

    An ``assert`` guards the function it stands in, an ``if`` that leaves the function what follows;
    ``HAS_TRITON and …`` is one question. An answer that is kept or returned decides about what its
    variable or its function is called for, and a comment on its line may say so.
    """
    tree = file.tree
    if only is _CUDA_ONLY and (works_with_nvml(file, node) or _is_given_to_cudas(file, node)):
        return True

    def found(*spans: Span) -> bool:
        if only in (_CUDA_ONLY, _NO_WORDS) and uses_cudas(file, *spans):
            return True
        texts = [file.unanswered(tree.source[low:high], chosen=True) for low, high in spans]
        if nvidias and any(nvidias & set(_CALLS.findall(t)) for t in texts):
            return True
        if only is _CUDA_ONLY and any(
            _scatters(file, text) or _calls_cudas(file, text) for text in texts
        ):
            return True
        return any(only.search(text) for text in texts)

    nvidias: frozenset[str] = frozenset()
    if file.options.tree is not None and only is _CUDA_ONLY:
        nvidias = file.options.tree.architectures
    elif file.options.tree is not None and only is _RUNTIME:
        nvidias = file.options.tree.run_nvidias

    below: cst.CSTNode = node
    for parent in tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.And):
            if found(tree.span(parent)) or only is _CUDA_ONLY and beside_a_flag(file, parent):
                return True
        if isinstance(parent, cst.Call) and isinstance(below, cst.Arg) and only is _CUDA_ONLY:
            others = (tree.text(arg) for arg in parent.args if arg is not below)
            if _OF_ANOTHER.search(tree.text(parent.func)) or any(map(_CHECKED.match, others)):
                return True
        if isinstance(parent, cst.WithItem) and only is _CUDA_ONLY and _said_beside(file, node):
            return True
        if isinstance(parent, cst.IfExp) and below is parent.test:
            if only is _CUDA_ONLY and (
                _said_beside(file, node)
                or _of_another(file, node)
                or _goes_to_another(file, parent)
            ):
                return True
            return found(tree.span(parent))
        if isinstance(parent, cst.If):
            if below is parent.test:
                if only is _CUDA_ONLY and _REFUSES.match(file.tree.text(parent.body)):
                    return True
                spans = list(_arms_of(file, parent))
                later = after_early_exit(file, parent)
                if later is not None and only is _CUDA_ONLY and _asks_for_cudnn(file, parent):
                    return True
                if later is not None:
                    spans.append(later)
                if only is _CUDA_ONLY and (
                    _said_beside(file, node) or _said_of_the_rest(file, parent)
                ):
                    return True
                if found(*spans):
                    return True
                return only is _CUDA_ONLY and (
                    _in_the_arm_of_one(file, parent)
                    or prepares_for_a_kernel(file, node, parent)
                    or later is not None
                    and is_about_a_kernel(file, parent)
                )
            return False
        if isinstance(parent, cst.MatchCase):
            return found(tree.span(parent.body))
        if isinstance(parent, cst.Assert):
            home = enclosing_function(file, parent)
            return home is not None and found(tree.span(home.body))
        if isinstance(parent, cst.BaseSmallStatement):
            if only in (
                _CUDA_ONLY,
                _PACKAGES,
                _RUNTIME,
                _NO_WORDS,
                _FAULTS,
                _PROFILED,
            ) and _opened_by_variable(file, parent, found):
                return True
            return only is _CUDA_ONLY and (
                KERNEL_NAME.search(_said_by(file, parent)) is not None
                or _answers_of_kernels(file, parent)
                or _said_beside(file, node)
                or isinstance(parent, (cst.Assign, cst.AnnAssign))
                and (_of_another(file, node) or _goes_to_another(file, parent))
                or _asked_with_a_kernel(file, parent)
            )
        below = parent
    return False


def uses_cudas(file: File, *spans: Span) -> bool:
    """Tell whether one of these parts of a file uses what only CUDA has."""
    cudas = file.cudas
    return cudas is not None and any(cudas.within(span) for span in spans)


def _calls_cudas(file: File, text: str) -> bool:
    """Tell whether a text calls a function that is called after CUDA, and is not seen to do no more than to move something there."""
    names = {found[1] for found in _CALLED_CUDAS.finditer(text)}
    for own in file.tree.of(cst.FunctionDef) if names else ():
        body = file.code[slice(*file.tree.span(own.body))]
        if own.name.value in names and _MOVED.search(body) and not _CUDA_ONLY.search(body):
            if not _CALLED_CUDAS.search(body):
                names.discard(own.name.value)
    return bool(names)


def _scatters(file: File, text: str) -> bool:
    """Tell whether a text copies to several devices by torch's or MMCV's ``scatter``, as the imports tell, and plots no points."""
    for found in _SCATTERS.finditer(text) if file.python is not None else ():
        name = f"{found[1]}scatter".partition(".")[0]
        if file.python is not None and _HAS_SCATTER.match(file.python.names[0].get(name, "")):
            return True
    return False


_CALLS = re.compile(r"\b(\w+)\(")
_WHERE = re.compile(r"(?:_|\.)type\s*[!=]=\s*[\"']cuda[\"']\Z")


def _in_the_arm_of_one(file: File, choice: cst.If) -> bool:
    """Tell whether an ``if`` stands in the arm of one that asks where another tensor lies, and stays."""
    outer = file.tree.parents.get(file.tree.parents[choice])
    if not isinstance(outer, cst.If) or not _asks_where(file, outer):
        return False
    return file.tree.parents[choice] is outer.body and guards_cuda_only(file, outer.test)


def _asks_where(file: File, choice: cst.If) -> bool:
    """Tell whether an ``if`` asks where a tensor lies, and nothing else."""
    test = choice.test
    return isinstance(test, cst.Comparison) and _WHERE.search(file.tree.text(test)) is not None


_CUDNN = re.compile(r"\bcudnn\.(?:enabled|is_available)\b|\bcudnn_\w+")


def _asks_for_cudnn(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the function around a question asks for cuDNN besides."""
    home = enclosing_function(file, node)
    return home is not None and _CUDNN.search(file.tree.text(home)) is not None


def works_with_nvml(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question stands where NVIDIA's management library is worked with.

    That is a function which says so in its name or docstring, or a ``try`` around the library's calls.
    """
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Try) and _NVML.search(file.unanswered(file.tree.text(parent))):
            return True
        if isinstance(parent, cst.FunctionDef):
            said = f"{parent.name.value} {parent.get_docstring() or ''}"
            if _OTHER_VENDORS.search(said) is not None:
                said = _NVIDIA_ITSELF.sub("", said)  # which is one of several there
            if _COUNTED_BY_TORCH.search(file.code[slice(*file.tree.span(parent.body))]) is not None:
                said = _LIKENED.sub("", said)
            return _SAYS_NVML.search(said) is not None
    return False


# What is refused because it lies on CUDA.
_REFUSES = re.compile(r"\s*raise\b[^\n]*(?:\n[^\n]*)?\bcuda\b", re.IGNORECASE)


def _said_beside(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a comment on the line, or right above or below it, says that what is asked for is CUDA's alone."""
    line = file.tree.position(file.tree.span(node)[1])[0]
    said = [file.tree.line_text(line)]
    for beside, step in ((line - 1, -1), (line + 1, 1)):
        near = []
        while 1 <= beside <= file.tree.line_count:
            text = file.tree.line_text(beside).strip()
            if not text.startswith("#"):
                break
            near.append(NOTE.sub("#", text))
            beside += step
        # A sentence goes on in the next line.
        said += [*near, re.sub(r"\s*#\s*", " ", " ".join(near[::step])).join(("#", ""))]
    return any(_SAID.search(NOTE.sub("", text)) for text in said)


_THE_REST = re.compile(r"#[^\n]*\bnon-?\s?cuda\b", re.IGNORECASE)


def _said_of_the_rest(file: File, choice: cst.If) -> bool:
    """Tell whether a comment in the other arm says that it is for what is not CUDA: ``# not supported on non-CUDA devices``."""
    rest = choice.orelse
    return (
        isinstance(rest, cst.Else)
        and _THE_REST.search(file.tree.source[slice(*file.tree.span(rest))]) is not None
    )


def _said_by(file: File, node: cst.CSTNode) -> str:
    """Return the names of the variables that keep an answer, and of the function that they stand in."""
    if isinstance(node, cst.Assign):
        names = [file.tree.text(target.target) for target in node.targets]
    elif isinstance(node, cst.AnnAssign):
        names = [file.tree.text(node.target)]
    elif isinstance(node, cst.Return):
        names = []
    else:
        return ""
    home = enclosing_function(file, node)
    return " ".join([*names, home.name.value if home is not None else ""])


_OF_SELF = re.compile(r"self\.\w+\Z")


def _opened_by_variable(
    file: File, node: cst.BaseSmallStatement, found: Callable[..., bool]
) -> bool:
    """Tell whether the variable that keeps an answer opens, in its function, what only CUDA can run."""
    target: cst.CSTNode | None = None
    if isinstance(node, cst.Assign):
        target = node.targets[0].target
    elif isinstance(node, cst.AnnAssign):
        target = node.target
    home: cst.CSTNode | None = enclosing_function(file, node)
    kinds: tuple[type[ast.AST], ...] = (ast.FunctionDef, ast.AsyncFunctionDef)
    name = file.tree.text(target) if target is not None else ""
    if _OF_SELF.match(name):  # which other methods ask
        home = next((p for p in file.tree.ancestors(node) if isinstance(p, cst.ClassDef)), None)
        kinds = (ast.ClassDef,)
    elif not isinstance(target, cst.Name):
        return False
    if home is None or target is None or not found(file.tree.span(home)):
        return False
    tree = file.python
    at = tree.at(file.tree.span(target)) if tree is not None else None
    around = tree.ancestors(at) if tree is not None and at is not None else iter(())
    body = next((p for p in around if isinstance(p, kinds)), None)
    for choice in ast.walk(body) if body is not None else ():
        if not isinstance(choice, (ast.If, ast.IfExp)):
            continue
        asks = choice.test
        if isinstance(asks, ast.UnaryOp) and isinstance(asks.op, ast.Not) and tree is not None:
            arm = choice.orelse if isinstance(choice, ast.If) else [choice.orelse]
            if is_named(asks.operand, name) and found(*map(tree.span, arm)):
                return True
        while isinstance(asks, ast.BoolOp) and isinstance(asks.op, ast.And):
            asks = next((v for v in asks.values if is_named(v, name)), asks.values[0])
        opened = choice.body if isinstance(choice, ast.If) else [choice.body]
        if tree is not None and is_named(asks, name) and found(*map(tree.span, opened)):
            return True
    return False


def _of_another(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question is asked by a class that is called after faiss or ONNX."""
    classes = (p for p in file.tree.ancestors(node) if isinstance(p, cst.ClassDef))
    return any(_OF_ANOTHER.search(each.name.value) for each in classes)


def _goes_to_another(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the variable that keeps an answer is given to a function of faiss or ONNX: ``faiss.Kmeans(gpu=on)``."""
    around = (node, *file.tree.ancestors(node))
    kept = next((p for p in around if isinstance(p, (cst.Assign, cst.BaseSuite))), None)
    home = enclosing_function(file, node)
    if not isinstance(kept, cst.Assign) or home is None:
        return False
    name = re.escape(file.tree.text(kept.targets[0].target))
    # A call of no concern to any rule is not in the tree.
    text = file.tree.source[slice(*file.tree.span(home))]
    return any(
        re.search(rf"(?<![\w.]){name}\b(?![ \t]*=(?!=))", given.group(1)) is not None
        for given in _CALL_OF_ANOTHER.finditer(text)
    )


def _is_kept_for_another(file: File, node: cst.CSTNode) -> bool:
    """Tell whether all that becomes of an answer is a variable that faiss or ONNX is told."""
    choice = file.tree.parents[file.tree.parents[node]]
    return isinstance(choice, (cst.Assign, cst.AnnAssign)) and _goes_to_another(file, choice)


_CALL_OF_ANOTHER = re.compile(r"(?i:\b(?:faiss|onnx\w*)\.[\w.]+)\(((?:[^()]|\([^()]*\))*)\)")
_NVIDIAS_KERNELS = re.compile(r"\b(?:cuDNN|cuBLAS\w*|CUTLASS|cuSPARSE\w*)\b", re.IGNORECASE)


def _answers_of_kernels(file: File, node: cst.BaseSmallStatement) -> bool:
    """Tell whether a question is returned by a function whose docstring says of which of NVIDIA's kernels it answers."""
    home = enclosing_function(file, node) if isinstance(node, cst.Return) else None
    return home is not None and _NVIDIAS_KERNELS.search(home.get_docstring() or "") is not None


def _asked_with_a_kernel(file: File, node: cst.BaseSmallStatement) -> bool:
    """Tell whether what keeps an answer is asked in one condition with a kernel: ``if kernel is None or no_cuda``."""
    target = node.targets[0].target if isinstance(node, cst.Assign) else None
    home = enclosing_function(file, node)
    if home is None or not isinstance(target, cst.Name):
        return False
    asked = re.compile(rf"^[ \t]*(?:el)?if\b[^\n]*\b{target.value}\b[^\n]*", re.MULTILINE)
    return any(KERNEL_NAME.search(found.group()) for found in asked.finditer(file.tree.text(home)))


def _arms_of(file: File, node: cst.If) -> Iterator[Span]:
    """Yield what an ``if`` asks for besides, and what stands in its arms.

    An ``elif`` after it is its other arm where both ask the same: ``if not x.is_cuda … elif x.is_cuda …``.
    """
    yield file.tree.span(node.test)
    yield file.tree.span(node.body)
    if isinstance(node.orelse, cst.Else):
        yield file.tree.span(node.orelse.body)
    elif isinstance(node.orelse, cst.If):
        if _ASKS_IS_CUDA.search(file.tree.text(node.orelse.test)):
            yield from _arms_of(file, node.orelse)


_ASKS_IS_CUDA = re.compile(r"\.is_cuda\b")
