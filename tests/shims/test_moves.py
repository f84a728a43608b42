"""Methods and constructors that take a device, in every form programs write them (CPU backend)."""

from __future__ import annotations

import copy
import pickle

import pytest
import tdev
import torch
from torch import nn

from tdev_core.backend import Backend, current
from tests.programs import run

pytestmark = pytest.mark.skipif(current() is not Backend.CPU, reason="what moves mean on the CPU")
CPU = torch.device("cpu")


class TestTranslatedMovesCopy:
    @pytest.mark.parametrize(
        "move",
        [
            lambda x: x.cuda(),
            lambda x: x.cuda(0),
            lambda x: x.cuda(device="cuda:0", non_blocking=True),
            lambda x: x.to("cuda"),
            lambda x: x.to("cuda", non_blocking=True),
            lambda x: x.to("cuda", torch.float32),
            lambda x: x.to("cuda", torch.float32, True),
            lambda x: x.to("cuda", torch.float32, True, False),
            lambda x: x.to(0),
            lambda x: x.to(device="cuda"),
            lambda x: x.to(device="mps"),
            lambda x: x.to(torch.device("cuda", 0)),
            lambda x: x.xpu(),
            lambda x: x.type("torch.cuda.FloatTensor"),
            lambda x: x.type("torch.mps.FloatTensor"),
        ],
    )
    def test_in_place_work_does_not_reach_the_source(self, move: object) -> None:
        x = torch.ones(3)
        y = move(x)  # type: ignore[operator]
        y.zero_()
        assert x.tolist() == [1, 1, 1]
        assert y.device == CPU and y.dtype == torch.float32

    def test_a_leaf_that_requires_grad_stays_itself(self) -> None:
        w = torch.ones(2, requires_grad=True)
        assert w.cuda() is w
        assert w.to("cuda") is w

    def test_a_result_that_requires_grad_is_copied_and_stays_in_the_graph(self) -> None:
        w = torch.ones(2, requires_grad=True)
        y = (w * 2).cuda()
        y.sum().backward()
        assert w.grad is not None and w.grad.tolist() == [2, 2]

    @pytest.mark.parametrize(
        "move",
        [
            lambda x: x.to("cpu"),
            lambda x: x.to(CPU),
            lambda x: x.cpu(),
            lambda x: x.to(torch.float32),
            lambda x: x.to(x),
            lambda x: x.to(device="cpu"),
        ],
    )
    def test_moves_that_name_the_cpu_are_torchs_own(self, move: object) -> None:
        x = torch.ones(3)
        assert move(x) is x  # type: ignore[operator]

    def test_strides_are_kept(self) -> None:
        x = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
        assert x.cuda().stride() == x.stride()

    def test_aliasing_can_be_asked_for(self) -> None:
        code = "import tdev as torch; x = torch.ones(2); assert x.cuda() is x and x.to('cuda') is x"
        run(code, TDEV_CPU_ALIAS="1")

    @pytest.mark.parametrize("bad", ["gpu", "/data/cuda_runs/m.pt", [], object], ids=repr)
    def test_what_is_no_device_gets_torchs_own_error(self, bad: object) -> None:
        with pytest.raises((TypeError, RuntimeError)) as ours:
            torch.ones(2).to(bad)  # type: ignore[call-overload]
        tdev.shims.uninstall()
        try:
            with pytest.raises(ours.type) as theirs:
                torch.ones(2).to(bad)  # type: ignore[call-overload]
        finally:
            tdev.shims.install()
        assert str(ours.value) == str(theirs.value)


class TestModules:
    def test_modules_move_in_place_and_copy_nothing(self) -> None:
        layer = nn.Linear(2, 2)
        before = [parameter.data_ptr() for parameter in layer.parameters()]
        for moved in (
            layer.cuda(),
            layer.to("cuda"),
            layer.to("cuda", torch.float32),
            layer.cuda(0),
        ):
            assert moved is layer
        assert [parameter.data_ptr() for parameter in layer.parameters()] == before

    def test_dtype_changes_stay(self) -> None:
        assert nn.Linear(2, 2).to(torch.float64).weight.dtype == torch.float64
        assert nn.Linear(2, 2).to("cuda", torch.float64).weight.dtype == torch.float64

    @pytest.mark.parametrize(
        "make",
        [
            lambda: nn.Linear(2, 3, device="cuda"),
            lambda: nn.Linear(2, 3, True, "cuda"),
            lambda: nn.Conv2d(1, 2, 3, device="cuda:0"),
            lambda: nn.LSTM(2, 3, device="cuda"),
            lambda: nn.BatchNorm2d(3, device="cuda"),
            lambda: nn.MultiheadAttention(4, 2, device=torch.device("cuda")),
            lambda: nn.TransformerEncoderLayer(4, 2, device="cuda"),
            lambda: nn.LazyLinear(3, device="cuda"),
            lambda: nn.Embedding(3, 2, device=0),
        ],
    )
    def test_layers_are_built_on_the_active_device(self, make: object) -> None:
        layer = make()  # type: ignore[operator]
        assert {parameter.device for parameter in layer.parameters()} == {CPU}

    def test_subclasses_hand_their_device_on(self) -> None:
        class Mine(nn.Linear):
            def __init__(self, device: object) -> None:
                super().__init__(2, 2, device=device)

        assert Mine("cuda").weight.device == CPU

    def test_to_empty_and_packed_sequences(self) -> None:
        assert nn.Linear(2, 2, device="meta").to_empty(device="cuda").weight.device == CPU
        packed = nn.utils.rnn.pack_padded_sequence(torch.ones(2, 1, 1), [2])
        assert packed.cuda().data.device == CPU
        assert packed.to("cuda").data.device == CPU

    def test_pickled_and_copied_layers_are_torchs(self) -> None:
        layer = nn.Linear(2, 2, device="cuda")
        assert type(pickle.loads(pickle.dumps(layer))) is nn.Linear
        assert type(copy.deepcopy(layer)) is nn.Linear


class TestTensorMethods:
    def test_new_tensors(self) -> None:
        x = torch.ones(2)
        for made in (
            x.new_zeros(2, device="cuda"),
            x.new_ones((2,), device="cuda"),
            x.new_full((2,), 1.0, device="cuda"),
            x.new_empty(2, device="cuda"),
            x.new_empty_strided((2,), (1,), device="cuda"),
            x.new_tensor([1.0], device="cuda"),
        ):
            assert made.device == CPU

    def test_pinning_and_streams_do_not_crash(self) -> None:
        x = torch.ones(2)
        assert x.pin_memory() is x
        assert x.is_pinned() is False
        x.record_stream(tdev.cuda.current_stream())

    def test_storages(self) -> None:
        storage = torch.ones(2).untyped_storage()
        moved = storage.cuda()
        moved[0] = 7
        assert storage[0] != 7


class TestUninstall:
    def test_it_restores_the_very_objects(self) -> None:
        code = """
import torch
before = {(c, n): c.__dict__.get(n) for c in (torch.Tensor, torch.nn.Module, torch.nn.Linear)
          for n in ("to", "cuda", "__init__", "pin_memory")}
import tdev
assert tdev.shims.installed()
assert torch.nn.Linear.__init__ is not before[torch.nn.Linear, "__init__"]
tdev.shims.uninstall()
assert not tdev.shims.installed()
for (owner, name), value in before.items():
    assert owner.__dict__.get(name) is value, (owner, name)
try:
    torch.ones(2).cuda()
except (AssertionError, RuntimeError) as error:
    assert "CUDA" in str(error) or "NVIDIA" in str(error)  # without CUDA's code, or without a driver
else:
    raise SystemExit("still shimmed")
import torch.distributed.fsdp   # a module whose shims were waiting for it
assert not tdev.shims.installed()
tdev.shims.install(); tdev.shims.install()
assert torch.ones(2).cuda().device.type == "cpu"
"""
        run(code)

    def test_they_are_not_installed_when_unwanted(self) -> None:
        code = "import tdev; assert tdev.shims.installed() == ()"
        run(code, TDEV_SHIMS="0")

    def test_an_exception_inside_leaves_nothing_changed(self) -> None:
        installed = tdev.shims.installed()
        with pytest.raises(TypeError):
            torch.ones(2).to("cuda", nonsense=1)  # type: ignore[call-overload]
        with pytest.raises(TypeError):
            nn.Linear(2, device="cuda")  # type: ignore[call-arg]
        assert tdev.shims.installed() == installed
        assert torch.ones(2).cuda().device == CPU

    def test_torch_keeps_telling_the_truth(self) -> None:
        assert torch.cuda.is_available() is False
        assert torch.zeros.__module__ != "tdev"
        with pytest.raises((AssertionError, RuntimeError)):
            torch.zeros(2, device="cuda")
        assert tdev.zeros(2, device="cuda").device == CPU
