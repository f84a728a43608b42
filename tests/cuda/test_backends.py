"""``torch.backends`` on hosts without CUDA: the whole reference, and a user's notebook about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import tdev
import torch

from tdev_core.backend import Backend, current
from tdev_core.cuda import backends, fft_plans
from tdev_core.errors import DeviceWarning, _warned
from tdev_core.mirror.suggest import NoSuchName, similar, suggestion
from tdev_core.release import torch_release

pytestmark = pytest.mark.skipif(
    current() is Backend.CUDA, reason="with CUDA every one of these is torch's own"
)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    """Preferences and one-time warnings do not pass from test to test."""
    backends._preferred.clear()
    backends._workspace.clear()
    _warned.clear()
    yield
    backends._preferred.clear()
    backends._workspace.clear()


# -- every name of the reference ----------------------------------------------------------------

REFERENCE = """
cpu.get_cpu_capability cuda.is_built cuda.matmul.allow_tf32
cuda.matmul.allow_fp16_reduced_precision_reduction
cuda.matmul.allow_bf16_reduced_precision_reduction cuda.cufft_plan_cache
cuda.cufft_plan_cache.size cuda.cufft_plan_cache.max_size cuda.cufft_plan_cache.clear
cuda.preferred_blas_library cuda.preferred_rocm_fa_library cuda.preferred_linalg_library
cuda.SDPAParams cuda.flash_sdp_enabled cuda.enable_mem_efficient_sdp
cuda.mem_efficient_sdp_enabled cuda.enable_flash_sdp cuda.math_sdp_enabled cuda.enable_math_sdp
cuda.fp16_bf16_reduction_math_sdp_allowed cuda.allow_fp16_bf16_reduction_math_sdp
cuda.cudnn_sdp_enabled cuda.enable_cudnn_sdp cuda.is_flash_attention_available
cuda.can_use_flash_attention cuda.can_use_efficient_attention cuda.can_use_cudnn_attention
cuda.sdp_kernel cudnn.version cudnn.is_available cudnn.enabled cudnn.allow_tf32
cudnn.deterministic cudnn.benchmark cudnn.benchmark_limit cudnn.rnn cusparselt.version
cusparselt.is_available mha.get_fastpath_enabled mha.set_fastpath_enabled mps.is_available
mps.is_built mkl.is_available mkl.verbose mkldnn.is_available mkldnn.verbose
nnpack.is_available nnpack.flags nnpack.set_flags openmp.is_available quantized xnnpack kleidiai
opt_einsum.is_available opt_einsum.get_opt_einsum opt_einsum.enabled opt_einsum.strategy
xeon.run_cpu
""".split()


def reach(dotted: str) -> Any:
    """``tdev.backends.`` and the rest, the way a program gets there."""
    import importlib

    value: Any = tdev.backends
    path = "tdev.backends"
    for part in dotted.split("."):
        path += f".{part}"
        if not hasattr(value, part):
            importlib.import_module(path)
        value = getattr(value, part)
    return value


def test_the_reference_is_whole() -> None:
    assert len(set(REFERENCE)) == 58


@pytest.mark.parametrize("dotted", REFERENCE)
def test_name_of_the_reference(dotted: str) -> None:
    value = reach(dotted)
    name = dotted.rpartition(".")[2]
    if name.startswith(("is_", "can_", "get_")) or name in ("version",) or "_enabled" in name:
        query(name, value)


def query(name: str, function: Callable[..., Any]) -> None:
    """Call what asks and changes nothing: no "not compiled with" from any of them."""
    if name.startswith("can_use"):
        tensor = torch.randn(2, 4, 8, 16)
        params = tdev.backends.cuda.SDPAParams(tensor, tensor, tensor, None, 0.0, False, False)
        assert function(params) is False and function(params, debug=True) is False
    elif name != "set_fastpath_enabled":
        assert function() is None or isinstance(function(), (bool, str, int)) or name[:3] == "get"


# -- flags are torch's --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "flag", "value"),
    [
        ("cudnn", "benchmark", True),
        ("cudnn", "deterministic", True),
        ("cudnn", "enabled", False),
        ("cudnn", "allow_tf32", False),
        ("cudnn", "benchmark_limit", 5),
        ("cuda.matmul", "allow_tf32", True),
        ("cuda.matmul", "allow_fp16_reduced_precision_reduction", False),
        ("cuda.matmul", "allow_bf16_reduced_precision_reduction", False),
        ("mkldnn", "deterministic", True),
        ("quantized", "engine", "fbgemm"),
        ("opt_einsum", "strategy", "greedy"),
    ],
)
def test_flag_is_torchs(owner: str, flag: str, value: object) -> None:
    mirrored, own = reach(owner), torch.backends
    for part in owner.split("."):
        own = getattr(own, part)
    before = getattr(own, flag)
    assert before != value
    try:
        setattr(mirrored, flag, value)
        assert getattr(own, flag) == value and getattr(mirrored, flag) == value
    finally:
        setattr(own, flag, before)
    assert getattr(mirrored, flag) == before


@pytest.mark.parametrize("kernel", ["flash", "mem_efficient", "math", "cudnn"])
def test_sdp_flags_read_back(kernel: str) -> None:
    cuda = tdev.backends.cuda
    enable = getattr(cuda, f"enable_{kernel}_sdp")
    enabled = getattr(torch.backends.cuda, f"{kernel}_sdp_enabled")
    try:
        enable(False)
        assert enabled() is False and getattr(cuda, f"{kernel}_sdp_enabled")() is False
    finally:
        enable(True)
    assert enabled() is True


def test_reduced_precision_of_the_math_kernel() -> None:
    cuda = tdev.backends.cuda
    assert cuda.fp16_bf16_reduction_math_sdp_allowed() is False
    try:
        cuda.allow_fp16_bf16_reduction_math_sdp(True)
        assert torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed() is True
    finally:
        cuda.allow_fp16_bf16_reduction_math_sdp(False)


def test_contexts_do_their_work_and_restore() -> None:
    with tdev.backends.cudnn.flags(enabled=False, benchmark=True):
        assert (torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark) == (False, True)
    assert (torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark) == (True, False)
    with tdev.backends.nnpack.flags(enabled=False):
        assert torch._C._get_nnpack_enabled() is False
    assert torch._C._get_nnpack_enabled() is True
    assert tdev.backends.nnpack.set_flags(True) == (True,)
    with (
        tdev.backends.mkl.verbose(tdev.backends.mkl.VERBOSE_OFF),
        tdev.backends.mkldnn.verbose(tdev.backends.mkldnn.VERBOSE_OFF),
    ):
        assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).sum() == 8


def test_fast_path_of_attention_layers() -> None:
    try:
        tdev.backends.mha.set_fastpath_enabled(False)
        assert torch.backends.mha.get_fastpath_enabled() is False
    finally:
        tdev.backends.mha.set_fastpath_enabled(True)


@pytest.mark.skipif(torch_release < (2, 12), reason="torch 2.12 is the first that has it")
def test_python_native_is_torchs_own_module() -> None:
    native = tdev.backends.python_native
    assert native is torch.backends.python_native
    assert set(native.all_dsls) >= set(native.available_dsls)
    with native.triton.disabled():
        assert native.is_dsl_disabled("triton")
    assert not native.is_dsl_disabled("triton")


def test_xeon_launcher_is_there() -> None:
    from tdev.backends.xeon import run_cpu

    assert callable(run_cpu.main) and run_cpu.create_args


# -- what a CPU build of torch refuses ----------------------------------------------------------


def test_fft_plan_cache_of_a_device() -> None:
    cache = tdev.backends.cuda.cufft_plan_cache[0]
    assert (cache.size, cache.max_size) == (0, 4096)
    assert cache is tdev.backends.cuda.cufft_plan_cache["cuda:0"]
    cache.max_size = 10
    try:
        assert tdev.backends.cuda.cufft_plan_cache.max_size == 10
        tdev.backends.cuda.cufft_plan_cache.max_size = 11
        assert cache.max_size == 11
    finally:
        cache.max_size = 4096
    torch.fft.fft(torch.ones(8))
    assert cache.clear() is None and cache.size == 0


def test_fft_plan_cache_refuses_what_torch_refuses() -> None:
    cache = tdev.backends.cuda.cufft_plan_cache[0]
    with pytest.raises(RuntimeError, match="read-only"):
        cache.size = 3
    with pytest.raises(RuntimeError, match="non-negative"):
        cache.max_size = -1
    with pytest.raises(TypeError, match="must be int, not bool"):
        cache.max_size = True
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = tdev.backends.cuda.cufft_plan_cache.no_such_name
    for index in (fft_plans._device_count(), -1):
        with pytest.raises(RuntimeError, match=f"device with index {index}"):
            tdev.backends.cuda.cufft_plan_cache[index]


@pytest.mark.parametrize(
    ("function", "library", "kept"),
    [
        ("preferred_linalg_library", "cusolver", torch._C._LinalgBackend.Cusolver),
        ("preferred_linalg_library", "magma", torch._C._LinalgBackend.Magma),
        (
            "preferred_linalg_library",
            torch._C._LinalgBackend.Magma,
            torch._C._LinalgBackend.Magma,
        ),
        ("preferred_blas_library", "cublaslt", torch._C._BlasBackend.Cublaslt),
        ("preferred_blas_library", "hipblaslt", torch._C._BlasBackend.Cublaslt),
    ],
)
def test_preference_is_kept_with_one_warning(function: str, library: Any, kept: Any) -> None:
    prefer = getattr(tdev.backends.cuda, function)
    built = torch.backends.cuda.is_built()  # then the libraries are here, and torch does not refuse
    with nullcontext() if built else pytest.warns(DeviceWarning, match="has no effect"):
        assert prefer(library) == kept
    assert prefer(library) == kept and prefer() == kept  # and no second warning
    chosen = prefer("default")
    assert chosen != kept and chosen == prefer() == getattr(torch.backends.cuda, function)()


@pytest.mark.parametrize("function", ["preferred_linalg_library", "preferred_blas_library"])
@pytest.mark.parametrize("library", ["nonsense", 3])
def test_preference_that_torch_does_not_know(function: str, library: Any) -> None:
    with pytest.raises(RuntimeError, match="Unknown input value"):
        getattr(tdev.backends.cuda, function)(library)


def test_rocm_preference_is_torchs() -> None:
    prefer = tdev.backends.cuda.preferred_rocm_fa_library
    assert prefer is torch.backends.cuda.preferred_rocm_fa_library
    assert prefer("ck") == torch._C._ROCmFABackend.Ck
    assert prefer("default") == torch._C._ROCmFABackend.Default


@pytest.mark.skipif(torch_release < (2, 13), reason="torch 2.13 is the first that has them")
def test_workspaces_are_what_was_set() -> None:
    cuda = tdev.backends.cuda
    assert (cuda.cublas_workspace_size(), cuda.cublaslt_workspace_size()) == (0, 0)
    assert cuda.cublas_workspace_size(1024) == 1024 == cuda.blas_workspace_size()
    assert cuda.blas_workspace_size(2048, "cublaslt") == 2048 == cuda.cublaslt_workspace_size()
    with pytest.raises(RuntimeError, match="non-negative"):
        cuda.cublas_workspace_size(-1)
    with pytest.raises(RuntimeError, match="CK backend"):
        cuda.blas_workspace_size(backend="ck")
    with pytest.raises(RuntimeError, match="Unknown backend string"):
        cuda.blas_workspace_size(backend="nonsense")


def test_cudnn_rnn() -> None:
    rnn = tdev.backends.cudnn.rnn
    modes = ("RNN_RELU", "RNN_TANH", "LSTM", "GRU")
    assert [rnn.get_cudnn_mode(mode) for mode in modes] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="Unknown mode: CNN"):
        rnn.get_cudnn_mode("CNN")
    state: dict[str, Any] = {}
    assert rnn.init_dropout_state(0.5, True, 1, state) is None
    assert state["desc_0"].get() is None


@pytest.mark.parametrize(
    ("release", "newer"), [("", False), ("13.6", False), ("14.0.1", True), ("15.1", True)]
)
def test_macos_release(release: str, newer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.mac_ver", lambda: (release, ("", "", ""), ""))
    assert backends.is_macos_or_newer(14, 0) is newer


@pytest.mark.skipif(torch.backends.mps.is_built(), reason="torch answers itself on macOS")
def test_another_system_is_no_macos() -> None:
    assert tdev.backends.mps.is_macos_or_newer(10, 0) is False
    assert tdev.backends.mps.is_macos13_or_newer() is False


# -- the notebook -------------------------------------------------------------------------------


def test_notebook_availability(capsys: pytest.CaptureFixture[str]) -> None:
    """The first cell prints what there is."""
    found = tdev.backends
    print(found.cpu, found.cuda.is_built())
    print(found.cudnn.enabled, found.cudnn.is_available(), found.cudnn.version())
    print(found.cusparselt, found.mha)
    print(found.mps.is_built() if hasattr(found, "mps") else "no mps")
    print(found.mkl, found.mkldnn.enabled, found.nnpack, found.openmp)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(str(torch.backends.cuda.is_built()))
    there = torch.backends.cudnn.is_available()  # in a build for CUDA cuDNN is there without a GPU
    assert lines[1] == f"True {there} {torch.backends.cudnn.version()}"
    assert there is torch.backends.cuda.is_built()


def test_notebook_tf32() -> None:
    """The second cell switches TF32 off and on where there is a CUDA device."""
    assert tdev.backends.cpu.get_cpu_capability() == torch.backends.cpu.get_cpu_capability()
    matmul, before = tdev.backends.cuda.matmul, torch.backends.cuda.matmul.allow_tf32
    try:
        for allowed in (False, True):
            matmul.allow_tf32 = allowed
            assert torch.backends.cuda.matmul.allow_tf32 is allowed
    finally:
        matmul.allow_tf32 = before


def test_notebook_attention() -> None:
    """The remaining cells ask about scaled dot product attention and run it under ``sdp_kernel``."""
    cuda = tdev.backends.cuda
    tensor = torch.randn(1, 2, 4, 8)
    assert cuda.flash_sdp_enabled() and cuda.math_sdp_enabled() and cuda.cudnn_sdp_enabled()
    assert cuda.is_flash_attention_available() is torch.backends.cuda.is_flash_attention_available()
    plain = torch.nn.functional.scaled_dot_product_attention(tensor, tensor, tensor)
    with pytest.warns(FutureWarning, match="sdp_kernel"), cuda.sdp_kernel(enable_flash=False):
        assert not torch.backends.cuda.flash_sdp_enabled()
        found = tdev.nn.functional.scaled_dot_product_attention(tensor, tensor, tensor)
    assert torch.allclose(found, plain, atol=1e-6) and torch.backends.cuda.flash_sdp_enabled()


WRONG = {
    "fp16_reduction_math_sdp_allowed": ["fp16_bf16_reduction_math_sdp_allowed"],
    "can_flash_attention": ["can_use_flash_attention"],
    "mem_efficient_sdp": ["enable_mem_efficient_sdp", "mem_efficient_sdp_enabled"],
}


@pytest.mark.parametrize("name", WRONG)
def test_notebook_names_that_are_wrong(name: str) -> None:
    """Torch says only that they are not there; the mirror says what is."""
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
        getattr(tdev.backends.cuda, name)
    message = str(NoSuchName(torch.backends.cuda, name))
    assert message.startswith(f"module 'torch.backends.cuda' has no attribute '{name}'")
    assert all(f"'{right}'" in message for right in WRONG[name])


def test_a_name_that_torch_has_dropped_says_what_answers_now() -> None:
    with pytest.raises(AttributeError, match="torch no longer has it.*torch.export.export answers"):
        tdev.export.export_for_training  # noqa: B018  # read for its error
    assert not hasattr(tdev.mtia, "classproperty")
    assert "torch.cuda.classproperty answers" in str(NoSuchName(torch.mtia, "classproperty"))


def test_what_is_available_is_built() -> None:
    """torch's own answers keep to it, and the backend that is announced does."""
    assert tdev.backends.cuda.is_built() is (
        tdev.cuda.is_available() or torch.backends.cuda.is_built()
    )
    assert tdev.backends.cuda.is_built() or not tdev.cuda.is_available()


@pytest.mark.parametrize("name", WRONG)
def test_the_right_name_comes_first(name: str) -> None:
    assert similar(name, dir(torch.backends.cuda))[: len(WRONG[name])] == WRONG[name]


def test_no_suggestion_where_nothing_is_similar() -> None:
    assert suggestion("xyzzy", dir(torch.backends.cuda)) == ""
    assert suggestion("_is_build", ["_is_built"]) == ""  # private names are nobody's intention


def test_semi_structured_sparsity_is_refused_by_name() -> None:
    with pytest.raises(tdev.UnsupportedError, match="to_sparse_semi_structured.*keep the dense"):
        tdev.sparse.to_sparse_semi_structured(torch.ones(128, 128, dtype=torch.float16))
