"""Private parts of torch: which file uses which, and what a program meets where one is gone.

A part that goes must cost what stands on it and nothing else: ``import tdev`` and the rest work, with one line that
says what does not. What no device of ours can be made without ends the program with one paragraph instead, on those
backends alone.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

import tdev_core
from tdev_core import errors
from tdev_core.errors import InternalsWarning
from tdev_core.internals import relying_on
from tdev_core.shims import calls
from tests.forkserver import COMPILER, environment, python
from tests.ground.private_parts import private_parts

ANYWHERE = {
    ".__closure__": "of Python's data model",
    ".__code__": "of Python's data model",
    "._cdata": "tells C++ objects apart; torch's own Python code does it so",
    "._getframe": "documented, for CPython",
    "._schema": "of an operator, the only way to its arguments",
    "torch._ops": "the class of torch.ops.aten.add.Tensor has no other name",
    "torch.utils._pytree": "torch.utils.pytree is not in every torch that a mirror imports on",
    # operators, whose names are stored in files and stay
    "._local_scalar_dense": "an operator",
    "._neg_view": "an operator",
    "._nested_view_from_buffer": "an operator",
    "._scaled_dot_product_attention_math": "an operator",
    "._sparse_compressed_tensor_unsafe": "an operator",
    "._sparse_coo_tensor_with_dims_and_tensors": "an operator",
    "._to_copy": "an operator",
}
"""What any file may use, and why."""

LISTED: dict[str, tuple[str, str]] = {
    "accelerators/cpu/autocast.py": (
        "the thread's dispatch set, as torch's own regions and C++ guards keep it; asked for in a region",
        "._dispatch_tls_is_dispatch_key_included ._dispatch_tls_set_dispatch_key_excluded ._dispatch_tls_set_dispatch_key_included",
    ),
    "accelerators/instances.py": ("what a build has, asked when a stream is pickled", "._has_cuda"),
    "accelerators/mlx/collectives/connected.py": (
        "a work of our own for a collective; asked for in init_process_group",
        "._create_work_from_future ._device_types ._distributed_c10d",
    ),
    "accelerators/mlx/collectives/host_copies.py": ("the class of a script object", "._type"),
    "accelerators/mlx/attention.py": (
        "the switches of sdpa_kernel, which scaled_dot_product_attention reads in C++",
        "._get_cudnn_sdp_enabled ._get_flash_sdp_enabled ._get_math_sdp_enabled ._get_mem_efficient_sdp_enabled",
    ),
    "accelerators/mlx/sharding.py": ("DTensor's table of operators without a strategy", "._custom_op_handlers ._op_dispatcher"),
    "accelerators/mlx/compiler/backend.py": (
        "the backend 'mlx' of torch.compile, as torch's own backends are made; asked for when it compiles",
        "torch._dynamo torch._functorch",
    ),
    "accelerators/mlx/compiler/joint.py": ("of that backend", "torch._decomp torch._functorch"),
    "accelerators/mlx/dispatch/derive.py": (
        "which in-place operators there are; only import makes torch.ops tell",
        "._jit_get_schemas_for_operator",
    ),
    "accelerators/mlx/dispatch/fallback.py": ("registered by torch_api under this name", "._cpu"),
    "accelerators/privateuse/compiling.py": ("Inductor's door; guarded", "torch._dynamo"),
    "accelerators/privateuse/coalescing.py": (
        "whether a group's library joins calls; asked for where a program joins some",
        "._get_backend",
    ),
    "accelerators/privateuse/process_group.py": (
        "gloo for a device of ours; asked for at a collective",
        "._device_types ._get_backend ._register_backend ._type",
    ),
    "accelerators/privateuse/storages.py": ("replaced where torch has it", "._write_file"),
    "accelerators/privateuse/torch_api.py": (
        "the one file that makes devices; looked at before use, refused in one paragraph",
        "._ExcludeDispatchKeyGuard ._HIGHER_ORDER_OP_DEFAULT_FALLTHROUGH_DISPATCH_KEYS ._acc ._autograd ._construct_storage_from_data_pointer ._dispatch_get_all_op_names "
        "._dispatch_has_kernel_for_dispatch_key ._from_dlpack ._functorch "
        "._generate_storage_methods_for_privateuse1_backend ._get_privateuse1_backend_name ._higher_order_ops ._len_torch_dispatch_stack "
        "._op_dk ._register_device_module ._set_conj ._set_multithreading_enabled ._set_neg ._setup_privateuseone_for_python_backend "
        "._storage_Use_Count ._swap_data_ptr_",
    ),
    "accelerators/privateuse/tracing.py": ("an operator of TorchScript's graphs; asked for while tracing", "._convolution"),
    "accelerators/drawing.py": ("torch's mode of operators; a random draw is seen by it", "torch.utils._python_dispatch"),
    "accelerators/sim/determinism.py": ("torch's words; asked for at an operator that is refused", "torch._prims_common"),
    "accelerators/sim/lowering.py": ("of a typed storage, without its warning", "._untyped_storage"),
    "accelerators/sim/sanitizing.py": ("torch's sanitizer, if a program imports it", "._handle_kernel_launch"),
    "attention/flex.py": (
        "indexing by tensors under vmap, and torch's own checks of the arguments; asked for at a call",
        "._LARGE_SPARSE_BLOCK_SIZE ._sliced_mask_mod_error ._validate_embed_dim ._validate_no_nested_tensors"
        " ._validate_sdpa_input torch._dynamo",
    ),
    "codemod/engine/analysis/parsing.py": ("of LibCST: how it writes a tree", "._codegen ._codegen_impl ._parenthesize"),
    "codemod/jobs/worker.py": ("Python's documented way to end without cleaning up", "._exit"),
    "compiler/compile.py": ("torch.compiler.list_backends has no list of all", "torch._dynamo"),
    "compiler/dynamo.py": ("teaches torch.compile; guarded", "._FrameAction ._FrameExecStrategy torch._C"),
    "compiler/dynamo_calls.py": (
        "teaches torch.compile; guarded", "._type_dispatch_impl ._type_handlers torch._dynamo",
    ),
    "compiler/dynamo_devices.py": ("teaches torch.compile; guarded", "torch._dynamo"),
    "compiler/dynamo_shims.py": ("teaches torch.compile; guarded by install", "torch._dynamo"),
    "compiler/dynamo_streams.py": ("teaches torch.compile; guarded", "torch._dynamo"),
    "compiler/exported.py": ("a shim's factory; guarded by install", "torch.fx.graph_module._CodeOnlyModule"),
    "compiler/jit.py": ("graphs of scripts: asked for at a call", "._c ._get_method ._jit_pass_inline ._method_names"),
    "cuda/backends.py": ("the enums that torch.backends.cuda hands out", "._BlasBackend ._BlasBackends ._LinalgBackend"),
    "cuda/bindings.py": (
        "the parser of what Tensor.to takes, which it stands for; asked for where a program calls it", "._nn ._parse_to"
    ),
    "cuda/gds.py": ("of a typed storage, without its warning", "._untyped_storage"),
    "cuda/graphs/callables.py": ("refuses modules with hooks, as torch does", "._backward_hooks ._forward_hooks ._forward_pre_hooks"),
    "cuda/graphs/cuda_graph.py": ("a type, for annotations", "._POOL_HANDLE"),
    "cuda/graphs/recording.py": (
        "replays operators below autograd; asked for at a capture",
        "._AutoDispatchBelowAutograd ._DisableAutocast torch.utils._python_dispatch",
    ),
    "cuda/memory/cycles.py": (
        "torch's own search for cycles and its pictures of them; asked for when a program watches for them",
        "._frames_fmt torch.cuda._memory_viz torch.utils.viz._cycles",
    ),
    "cuda/memory/history.py": (
        "sees allocations in a dispatch mode, with torch's own tracebacks; asked for when history is recorded; torch's own pictures of it",
        "._augment_memory_snapshot_stack_traces ._functorch ._get_current_dispatch_mode_stack ._profiler ._python_dispatch ._utils "
        "torch.cuda._memory_viz torch.utils._python_dispatch",
    ),
    "cuda/rng.py": ("mps has no public name for its generator", "._get_default_mps_generator"),
    "distributed/context_parallel.py": (
        "torch's ring of pieces, and what puts attention in a function's place; guarded, all asked for at its import",
        "._ContextParallel ._replaced_functions ._templated_ring_attention ._templated_ring_attention_backward",
    ),
    "distributed/parallel.py": (
        "DataParallel's own protocol, on one device",
        "._buffers ._pytree ._replicate_for_data_parallel torch.nn.parallel.replicate._replicatable_module",
    ),
    "distributed/sync_batch_norm.py": (
        "the base class that torch documents for subclasses", "._BatchNorm ._check_non_zero_input_channels",
    ),
    "measure/places.py": (
        "which node of autograd runs; asked while the command diff records",
        "._current_autograd_node ._get_sequence_nr ._sequence_nr",
    ),
    "measure/planning/footprint.py": (
        "a tensor without numbers, and what another is made of; the command alone imports it",
        "torch._subclasses torch.utils._python_dispatch",
    ),
    "measure/planning/planner.py": (
        "ends a planned program, as os documents it; how torch's tensors without numbers are formatted",
        "._exit torch._subclasses",
    ),
    "measure/planning/shapes.py": (
        "shapes without numbers are torch's fake tensors, which have no public name; the command alone imports it",
        "torch._guards torch._subclasses torch.utils._python_dispatch",
    ),
    "measure/planning/traffic.py": (
        "the group that a collective names; the command alone imports it",
        "._resolve_process_group ._type",
    ),
    "measure/planning/world.py": (
        "torch's group that carries nothing, what DDP reads off the device; but the first guarded",
        "torch.testing._internal",
    ),
    "measure/compiled_graphs.py": (
        "the graphs that torch's compiler makes, between aot_autograd and Inductor; asked for by `diff --compiled`",
        "._call_impl ._compiled_call_impl ._dynamo torch._functorch torch._inductor",
    ),
    "measure/recording.py": (
        "the mode that sees operators, which torch's documentation names by this path; of the same command",
        "torch.utils._python_dispatch",
    ),
    "shims/distributed.py": (
        "the parts of a model whose static graph is asked for late; asked for at that call",
        "._build_debug_param_to_name_mapping ._build_params_for_reducer ._remove_autograd_hooks",
    ),
    "measure/monitoring.py": ("whether a profiler records; where it is gone, ranges are made all the same", "._is_profiler_enabled"),
    "measure/parts.py": (
        "what waits for a loader's batches, which has no public name; of the monitor alone",
        "._BaseDataLoaderIter",
    ),
    "measure/tuning/fingerprint.py": (
        "the mode that sees operators, which torch's documentation names by this path; of the command tune",
        "torch.utils._python_dispatch",
    ),
    "measure/tuning/stepping.py": ("Python's documented way to end without cleaning up", "._exit"),
    "shims/libraries.py": (
        "whether an operator has a kernel for the CPU; asked for when a program registers one for CUDA",
        "._dispatch_has_kernel_for_dispatch_key",
    ),
    "shims/loading.py": ("pins what a loader gives; asked for at a call", "torch.utils.data._utils"),
    "shims/tensortypes.py": ("the default device that torch keeps", "._GLOBAL_DEVICE_CONTEXT ._typed_storage"),
    "torchscript.py": (
        "the one file that knows TorchScript's tables; guarded",
        "._get_script_class ._python_cu ._script_classes torch.jit._builtins torch.jit._state",
    ),
    "packages/apex/amp.py": (
        "the base class of batch norms, which torch documents for subclasses; a module's own tables; a name of apex's",
        "._BatchNorm ._amp_stash ._buffers",
    ),
    "packages/apex/parallel/__init__.py": ("base classes that torch documents for subclasses", "._BatchNorm ._InstanceNorm"),
    "packages/interpreter/bfloat16.py": (
        "Triton's interpreter, no part of torch: how it names roundings and atomics, and reaches memory", "._interpreter ._ir"
    ),
    "packages/interpreter/float8.py": ("Triton's interpreter: how it names roundings", "._ir"),
    "packages/interpreter/releases.py": ("Triton's interpreter: whether it has a product and a sum in one", "._interpreter"),
    "packages/interpreter/truth.py": ("Triton's interpreter: whether it has chains of comparisons", "._InterpreterComparison"),
}  # fmt: skip
"""Each further use: the file, why it does without a public name and what guards it, the parts."""


def test_private_parts_are_used_where_they_are_listed_and_nowhere_else() -> None:
    used = private_parts(Path(tdev_core.__file__).parent)
    found = {path.partition("/")[2]: parts - set(ANYWHERE) for path, parts in used.items()}
    listed = {path: set(parts.split()) for path, (_, parts) in LISTED.items()}
    assert {path: parts for path, parts in found.items() if parts} == listed
    assert set(ANYWHERE) <= set[str]().union(*used.values()), "listed and used nowhere"


def test_a_new_use_is_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "uses.py").write_text(
        "import torch._lazy.config\nfrom torch.jit import _state, script\nfrom torch import nn\n"
        "x = nn._reduction\ny = getattr(torch, '_VF')\nx._mine = 1\nprint(x._mine, f.__code__, torch.__dict__)\n"
    )
    assert private_parts(package) == {
        "package/uses.py": {"torch._lazy", "torch.jit._state", "._reduction", "._VF", ".__code__"}
    }


def test_what_fails_inside_is_told_once_and_what_follows_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(errors, "_warned", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            with relying_on("torch._part", "A thing does not work"):
                raise KeyError("x")
    (told,) = caught
    assert told.category is InternalsWarning
    assert "has no torch._part" in str(told.message) and "(KeyError: 'x'). A thing does not" in str(
        told.message
    )
    with pytest.raises(KeyboardInterrupt), relying_on("torch._part", "…"):
        raise KeyboardInterrupt


@dataclass(frozen=True)
class Broken:
    """A part that is taken away before tdev is imported, and what must be told of it; nothing where it is only passed over.

    ``after`` gives torch back what it cannot do without itself, once tdev has been imported.
    """

    how: str
    told: str
    backends: tuple[str, ...] = ("cpu", "sim", "mlx")
    after: str = ""


_FOR_TORCH_ALONE = """
import sys
import torch.jit._builtins as b
register = b._register_builtin
def for_torch_alone(*given):
    if sys._getframe(1).f_globals["__name__"].startswith("tdev"):
        raise TypeError("takes one argument more")
    register(*given)
b._register_builtin = for_torch_alone
"""
"""torch's operators are registered by it too."""

_BEFORE_WRAPPERS = ("cpu", "sim", "mlx") if calls.kinds() else ()
"""Where something in C stands before the wrappers, of which the compiler has to be told."""

BROKEN = {
    "frames": Broken(
        "import torch._C._dynamo; del torch._C._dynamo.eval_frame.set_code_exec_strategy",
        "torch._C._dynamo.eval_frame",
    ),
    "frames, in another shape": Broken(
        "import torch._C._dynamo; torch._C._dynamo.eval_frame._FrameAction = None",
        "torch._C._dynamo.eval_frame",
    ),
    "builtins of scripts": Broken(_FOR_TORCH_ALONE, "torch.jit._builtins"),
    "classes of scripts": Broken("import torch.jit._state as m; del m._script_classes", "torch.jit._state"),
    "type of a generator": Broken("del torch._C._GeneratorType", "torch.jit._state"),
    "functions of scripts": Broken("del torch._C.CompilationUnit.get_functions", "torch.jit._state._python_cu"),
    "tables of the compiler": Broken(
        "from types import MappingProxyType; from torch._dynamo.variables import builder as m\n"
        "m.SourcelessBuilder._type_handlers = MappingProxyType(m.SourcelessBuilder._type_handlers)",
        "torch._dynamo (calls)", _BEFORE_WRAPPERS,
    ),
    "a table made anew each time": Broken(
        "from torch._dynamo.variables import builder as m; f = m.VariableBuilder._type_dispatch_impl\n"
        "m.VariableBuilder._type_dispatch_impl = staticmethod(lambda trace_numpy: dict(f(trace_numpy)))",
        "torch._dynamo (calls)", _BEFORE_WRAPPERS,
    ),
    "current device of the compiler": Broken(
        "from torch._dynamo.variables import torch as m; del m.constant_fold_functions_need_guards",
        "torch._dynamo (devices)", ("sim",),
    ),
    "streams of the compiler": Broken("import torch._dynamo.variables.streams as m; del m.StreamVariable.call_method", ""),
    "builtins of the compiler": Broken("import torch._dynamo.variables.builtin as m; del m.BuiltinVariable.call_isinstance", ""),
    "code of graph modules": Broken(
        "import torch.fx.graph_module as g; code_only = g._CodeOnlyModule; del g._CodeOnlyModule",
        "torch.fx._symbolic_trace.Tracer.trace", after="g._CodeOnlyModule = code_only",
    ),
    "recomputation": Broken(
        "import torch._prims.rng_prims as m; m.run_and_save_rng_state.python_key_table = {}",
        "torch._prims.rng_prims", ("sim", "mlx"),
    ),
    "recomputation, kernels": Broken(
        "import torch._prims.rng_prims as m; del m.run_with_rng_state", "torch._prims.rng_prims", ("sim", "mlx")
    ),
    "Inductor": Broken(
        "import torch._inductor.compile_fx as m; del m.compile_fx", "torch._inductor.compile_fx.compile_fx", ("sim", "mlx")
    ),
    "seeding": Broken("del torch.random._seed_custom_device", ""),
    "kinds of tensors": Broken("del torch._tensor_classes", "", ("sim", "mlx")),
    "layout of capsules": Broken(
        "from tdev_core.accelerators.mlx.storage import capsules; capsules._POINTER *= 2", "PyCapsule", ("mlx",)
    ),
}  # fmt: skip

REST = """
assert tdev.__version__ == torch.__version__
x = tdev.ones(2, 3, device="cuda", requires_grad=True)
(x * 2).sum().backward()
assert x.grad.tolist() == [[2.0] * 3] * 2 and x.grad.device == x.device
assert tdev.device("cuda").type == tdev.device_type()
with tdev.autocast("cuda", dtype=tdev.bfloat16):
    assert (x @ x.t()).dtype is tdev.bfloat16
scripted = tdev.jit.script(tdev.nn.Linear(3, 2))
assert scripted(tdev.ones(1, 3)).shape == (1, 2)
seen = tdev.compile(lambda x: (x + tdev.ones(3, device="cuda")).relu(), backend="aot_eager")(x.detach())
assert seen.tolist() == [[2.0] * 3] * 2
import torch._prims.rng_prims, torch._inductor.compile_fx
tdev.shims.uninstall()
print("works")
"""


def _run(how: str, backend: str, after: str = "") -> tuple[int, str, str]:
    env = environment(TDEV_BACKEND=backend, TDEV_NATIVE="0", TDEV_SIM_DEVICES="2")
    code = f"import torch\n{how}\nimport tdev\n{after}\n{REST}"
    done = python("-c", code, env=env, preload=COMPILER)
    return done.returncode, done.stdout, done.stderr


def _told(text: str) -> list[str]:
    """Parts that a program was told of, each with the sentence around it checked."""
    lines = [line for line in text.splitlines() if "InternalsWarning: " in line]
    for line in lines:
        assert " as this version of tdev knows it (" in line and "; everything else works." in line
    return sorted(line.partition(" has no ")[2].partition(" as this version")[0] for line in lines)


def _backends() -> list[str]:
    return ["cpu", "sim", *(["mlx"] if find_spec("mlx") else [])]


@pytest.mark.parametrize("backend", _backends())
def test_with_all_parts_there_nothing_is_told(backend: str) -> None:
    status, printed, told = _run("", backend)
    assert (status, printed) == (0, "works\n"), told
    assert not _told(told)


@pytest.mark.parametrize("backend", _backends())
def test_all_parts_that_are_gone_at_once_cost_what_stands_on_them_alone(backend: str) -> None:
    gone = {broken.told: broken for broken in BROKEN.values() if backend in broken.backends}
    how = "\n".join(broken.how for broken in gone.values())
    after = "\n".join(broken.after for broken in gone.values())
    status, printed, told = _run(how, backend, after)
    assert (status, printed) == (0, "works\n"), told[-3000:]
    assert _told(told) == sorted(filter(None, gone))


CASES = [
    (name, backend)
    for name in BROKEN
    for backend in BROKEN[name].backends
    if backend in _backends()
]


@pytest.mark.deep
@pytest.mark.parametrize(("name", "backend"), CASES)
def test_a_part_that_is_gone_costs_what_stands_on_it_alone(name: str, backend: str) -> None:
    broken = BROKEN[name]
    status, printed, told = _run(broken.how, backend, broken.after)
    assert (status, printed) == (0, "works\n"), told[-3000:]
    assert _told(told) == [broken.told][: len(broken.told)]


NEEDED = {
    "experimental device": "del torch._C._acc",
    "hooks in another shape": "torch._C._acc.PrivateUse1Hooks = type('Hooks', (), {})",
    "kernels without dispatch": "del torch.ops.aten.as_strided.default._op_dk",
    "storages": "torch._C._construct_storage_from_data_pointer = lambda address, device, n: torch.UntypedStorage(n)",
    "registration": "import torch.utils.backend_registration as m; del m._setup_privateuseone_for_python_backend",
    "registration in another shape": (
        "import torch.utils.backend_registration as m; m._setup_privateuseone_for_python_backend = lambda name: None"
    ),
}


@pytest.mark.parametrize("how", NEEDED.values(), ids=NEEDED.keys())
def test_without_what_a_device_is_made_of_it_is_refused_in_one_paragraph(how: str) -> None:
    status, printed, told = _run(how, "sim")
    assert (status, printed) == (2, ""), told[-3000:]
    assert told.startswith("tdev: the devices 'sim' and 'mlx' stand on experimental parts of torch")
    assert told.count("\n") == 1 and "Set TDEV_BACKEND=cpu" in told


def test_the_cpu_backend_needs_none_of_it() -> None:
    status, printed, told = _run(
        ";".join(how for how in NEEDED.values() if how.startswith("del")), "cpu"
    )
    # Autocast written for CUDA alone stands on it there, and says so.
    assert (status, printed, _told(told)) == (0, "works\n", ["torch._C"]), told
