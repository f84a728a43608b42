"""Mixed precision where the program says cuda and the machine has none."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import threading
import warnings
from unittest import mock

import pytest
import torch
from torch import nn

from tdev_core.backend import Backend, current
from tdev_core.cuda import amp
from tdev_core.errors import DeviceWarning
from tdev_core.shims import install as shims

_SHIMS = (
    *(
        shims.Shim(
            "torch.amp.autocast_mode.autocast",
            f"__{name}__",
            factory=f"tdev_core.cuda.amp:autocast_{name}",
        )
        for name in ("init", "enter", "exit")
    ),
    shims.Shim(
        "torch.amp.grad_scaler.GradScaler",
        "__init__",
        factory="tdev_core.cuda.amp:grad_scaler_init",
    ),
)


@pytest.fixture(autouse=True)
def _shimmed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch.cuda.amp's classes are deprecated
        before = shims.installed()
        shims.install(_SHIMS)
        yield
        if not before:
            shims.uninstall()
        elif shims.installed() != before:
            # A test took them all away; tests that come later import tdev and rely on its list.
            importlib.import_module("tdev.shims").install()


def _product() -> torch.dtype:
    return (torch.ones(2, 2) @ torch.ones(2, 2)).dtype


_CONTEXTS = {
    "torch.autocast": lambda **kw: torch.autocast("cuda", **kw),
    "torch.amp.autocast": lambda **kw: torch.amp.autocast(device_type="cuda", **kw),
    "torch.cuda.amp.autocast": lambda **kw: torch.cuda.amp.autocast(**kw),
}


@pytest.fixture(params=_CONTEXTS)
def context(request):
    return _CONTEXTS[request.param]


def test_autocast_runs_in_float16_by_default(context):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # torch warns when it switches autocast off
        with context() as entered:
            assert _product() is torch.float16
            assert isinstance(entered, torch.autocast)
            assert amp.is_enabled() and amp.is_enabled("cuda") and amp.is_enabled("cpu")
            assert amp.get_gpu_dtype() is torch.float16
    assert _product() is torch.float32 and not amp.is_enabled()


def test_autocast_in_bfloat16(context):
    with context(dtype=torch.bfloat16):
        assert _product() is torch.bfloat16
        assert amp.get_gpu_dtype() is amp.get_dtype("cuda") is torch.bfloat16


def test_autocast_nests_and_is_disabled(context):
    with context(dtype=torch.bfloat16):
        with context(enabled=False):
            assert _product() is torch.float32 and not amp.is_enabled()
            with context(dtype=torch.float16):
                assert _product() is torch.float16
        assert _product() is torch.bfloat16


def test_autocast_as_a_decorator(context):
    @context(dtype=torch.bfloat16)
    def forward():
        return _product()

    assert forward() is torch.bfloat16 and _product() is torch.float32


def test_autocast_is_each_threads_own():
    seen = []
    with torch.autocast("cuda"):
        thread = threading.Thread(target=lambda: seen.append(_product()))
        thread.start()
        thread.join()
    assert seen == [torch.float32]


def test_autocast_for_the_cpu_itself_is_as_it_was():
    with torch.autocast("cpu"):
        assert _product() is torch.bfloat16
    with torch.cpu.amp.autocast(dtype=torch.float16):
        assert _product() is torch.float16


@pytest.mark.skipif(
    current() is not Backend.CPU, reason="of the CPU, which has both kinds of autocast"
)
def test_what_switches_cudas_autocast_off_leaves_the_cpus_on():
    """As Lightning has it on the CPU in ``bf16-mixed``, around a model that keeps a part of itself in full precision on CUDA."""
    x = torch.ones(2, 2)
    off = torch.autocast("cuda", enabled=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with off:
            assert (x @ x).dtype is torch.bfloat16
        assert (x @ x).dtype is torch.bfloat16
        with torch.autocast("cuda", dtype=torch.bfloat16):
            with off:
                assert (x @ x).dtype is torch.float32
            assert (x @ x).dtype is torch.bfloat16
        with off:
            assert (x @ x).dtype is torch.bfloat16


def test_an_index_in_the_device_type_is_ignored_as_on_cuda():
    with torch.autocast("cuda:0"):
        assert _product() is torch.float16
    assert torch.amp.GradScaler("cuda:0")._device == "cpu"


def test_autocast_refuses_what_torch_refuses():
    with pytest.raises(RuntimeError, match="unsupported"):
        torch.autocast("meta")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(torch.device("cuda"))
    with pytest.raises(TypeError):
        torch.autocast()


def test_autocast_keeps_its_class_signature_and_original():
    assert list(inspect.signature(torch.autocast).parameters) == [
        "device_type",
        "dtype",
        "enabled",
        "cache_enabled",
    ]
    assert isinstance(torch.cuda.amp.autocast(), torch.cuda.amp.autocast)

    class Mine(torch.autocast):
        pass

    with Mine("cuda"):
        assert _product() is torch.float16


def test_where_float16_is_missing_bfloat16_is_used_with_one_warning(monkeypatch):
    monkeypatch.setattr(amp, "supported_dtypes", lambda kind: [torch.bfloat16])
    with pytest.warns(DeviceWarning, match="no torch.float16; torch.bfloat16 is used") as caught:
        first = torch.autocast("cuda", dtype=torch.float16)
        second = torch.autocast("cuda")
    assert len(caught) == 1 and caught[0].filename == __file__
    with first, second:
        assert _product() is torch.bfloat16


def test_the_dtypes_of_a_device_of_ours_are_asked_of_its_module(monkeypatch):
    assert amp.supported_dtypes("cpu") == [torch.bfloat16, torch.float16]
    name = torch._C._get_privateuse1_backend_name()
    module = mock.Mock()
    module.get_amp_supported_dtype.return_value = [torch.bfloat16]
    monkeypatch.setattr(torch, name, module, raising=False)
    assert amp.supported_dtypes(name) == [torch.bfloat16]


def test_torch_compile_sees_torchs_autocast():
    def forward(x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return x @ x

    x = torch.randn(4, 4)
    compiled = torch.compile(forward, backend="eager", fullgraph=True)(x)
    assert compiled.dtype is torch.bfloat16 and torch.equal(compiled, forward(x))


def _train(scaler, context, steps=6):
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with context(dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(model(x).float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.amp.GradScaler("cuda"),
        torch.amp.GradScaler,
        torch.GradScaler,
        torch.cuda.amp.GradScaler,
    ],
)
def test_grad_scaler_scales_and_learns(make, context):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        scaler = make()
    assert scaler.is_enabled() and isinstance(scaler, torch.amp.GradScaler)
    losses = _train(scaler, context)
    assert losses[-1] < losses[0]
    assert scaler.get_scale() == 65536.0


def test_grad_scaler_skips_a_step_that_overflowed():
    scaler = torch.cuda.amp.GradScaler(init_scale=8.0)
    assert isinstance(scaler, torch.cuda.amp.GradScaler)
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler.scale(weight.sum() * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.item() == 1.0 and scaler.get_scale() == 4.0


def test_grad_scaler_state_dict_and_copies():
    scaler = torch.amp.GradScaler("cuda", init_scale=16.0, growth_interval=1)
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    state = scaler.state_dict()
    assert state["scale"] == 32.0
    other = torch.amp.GradScaler("cuda")
    other.load_state_dict(state)
    assert other.get_scale() == 32.0
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == 32.0
    assert copy.deepcopy(scaler).get_scale() == 32.0


def test_grad_scaler_disabled():
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    x = torch.ones(1)
    assert not scaler.is_enabled() and scaler.scale(x) is x and scaler.state_dict() == {}


@pytest.mark.parametrize("device_type", ["cuda", "cpu"])
def test_custom_fwd_and_bwd(device_type):
    seen = {}

    class Double(torch.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type=device_type, cast_inputs=torch.float32)
        def forward(ctx, x):
            seen["forward"] = (x.dtype, amp.is_enabled())
            return x * 2

        @staticmethod
        @amp.custom_bwd(device_type=device_type)
        def backward(ctx, grad):
            seen["backward"] = amp.is_enabled()
            return grad * 2

    x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        Double.apply(x).sum().backward()
    assert seen == {"forward": (torch.float32, False), "backward": False}
    assert x.grad.tolist() == [2, 2]


def test_custom_fwd_without_cast_remembers_autocast_for_the_backward():
    seen = []

    class Same(torch.autograd.Function):
        @staticmethod
        @amp.custom_fwd
        def forward(ctx, x):
            seen.append(amp.is_enabled())
            return x * 1

        @staticmethod
        @amp.custom_bwd
        def backward(ctx, grad):
            seen.append(amp.is_enabled())
            return grad

    x = torch.ones(1, requires_grad=True)
    with torch.autocast("cuda"):
        y = Same.apply(x)
    y.sum().backward()
    assert seen == [True, True]


def test_questions_and_settings():
    assert amp.is_autocast_available("cuda") and amp.is_autocast_available("xpu")
    assert amp.definitely_not_available() is False
    assert amp.get_gpu_dtype() is torch.float16  # CUDA's default, not the CPU's
    assert amp.get_dtype("cpu") is torch.bfloat16
    assert amp.get_dtype("cuda") is amp.get_dtype("cuda:0") is torch.float16
    assert amp.is_enabled() is amp.is_enabled("cuda") is False
    before = torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda")
    try:
        amp.set_gpu_dtype(torch.bfloat16)
        with torch.autocast("cuda"):
            assert _product() is torch.bfloat16
        amp.set_enabled(True)
        assert torch.is_autocast_enabled("cpu")
        amp.set_enabled("cuda", False)
        assert not torch.is_autocast_enabled("cpu")
        amp.set_dtype("cuda", torch.float16)
        assert amp.get_dtype("cuda") is torch.float16
        assert torch.get_autocast_dtype("cpu") is before[0]  # another library's default
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", before[0])
        torch.set_autocast_dtype("cuda", before[1])


def test_torchscript_and_torch_compile_know_the_questions():
    def forward(x):
        if amp.is_enabled():
            return x
        return x + 1

    x = torch.zeros(2)
    assert torch.jit.script(forward)(x).tolist() == [1, 1]
    compiled = torch.compile(forward, backend="eager", fullgraph=True)
    assert compiled(x).tolist() == [1, 1]
    with torch.autocast("cuda"):
        assert compiled(x).tolist() == [0, 0]


def test_uninstalling_gives_torchs_constructors_back():
    original = inspect.unwrap(torch.autocast.__init__)
    shims.uninstall()
    assert torch.autocast.__init__ is original
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available"):
            torch.autocast("cuda")
