"""What shims decide, part by part, also for backends that are not here."""

from __future__ import annotations

import types
import warnings
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import tdev  # noqa: F401  # what the module says of moves holds once the shims are installed
import torch

from tdev_core import devices
from tdev_core.backend import Backend, current
from tdev_core.devices import translate
from tdev_core.shims import (
    benchmarks,
    calls,
    distributed,
    generic,
    install,
    libraries,
    moved,
    moves,
    serialization,
    tensortypes,
)


def on(monkeypatch: pytest.MonkeyPatch, module: Any, backend: Backend) -> None:
    monkeypatch.setattr(module, "current", lambda: backend)


def test_a_constructors_device_is_translated_wherever_it_stands() -> None:
    def by_place(self: Any, size: int, device: Any = None, dtype: Any = None) -> tuple[Any, ...]:
        return self, size, device, dtype

    def by_name(self: Any, size: int, *, device: Any = None) -> tuple[Any, ...]:
        return self, size, device

    there = translate("cuda")
    one, other = generic.by_signature(by_place), generic.by_signature(by_name)
    assert one("self", 1, "cuda", "cuda") == ("self", 1, there, "cuda")
    assert one("self", 1, device="cuda") == ("self", 1, there, None)
    assert one("cuda", "cuda") == ("cuda", "cuda", None, None)
    assert other("self", 1, device="cuda") == ("self", 1, there)
    assert other("self", "cuda") == ("self", "cuda", None)


def test_a_default_that_names_cuda_is_translated_where_it_counts() -> None:
    def by_place(self: Any, size: int, device: str = "cuda", dtype: Any = None) -> tuple[Any, ...]:
        return self, size, device, dtype

    def by_name(self: Any, size: int, *, device: str = "cuda") -> tuple[Any, ...]:
        return self, size, device

    there = translate("cuda")
    one, other = generic.by_signature(by_place), generic.by_signature(by_name)
    assert one("self", 1) == one("self", 1, "cuda") == ("self", 1, there, None)
    assert one("self", 1, dtype=3) == ("self", 1, there, 3)
    assert one("self", 1, "meta", 3) == ("self", 1, torch.device("meta"), 3)
    assert one("self", 1, device="meta") == ("self", 1, torch.device("meta"), None)
    assert other("self", 1) == ("self", 1, there)
    assert other("self", 1, device="meta") == ("self", 1, torch.device("meta"))


def test_devices_may_stand_by_place_and_by_name_in_one_function() -> None:
    both = generic.translating(
        lambda self, device, *, output_device="none": (device, output_device),
        (("device", 0), ("output_device", None)),
    )
    there = translate("cuda")
    assert both("self", "cuda") == (there, "none")
    assert both("self", "cuda", output_device="cuda") == (there, there)


def test_what_others_have_replaced_keeps_nothing_else_from_being_restored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Owner:
        def first(self, device: Any) -> Any:
            return device

        def second(self, device: Any) -> Any:
            return device

        def third(self, device: Any) -> Any:
            return device

    monkeypatch.setattr(install, "_installed", [])
    monkeypatch.setattr(install, "_waiting", {})
    monkeypatch.setattr(install, "wanted", lambda: True)
    monkeypatch.setattr(install.safetensors_files, "uninstall", lambda: None)
    monkeypatch.setattr(install.moved, "uninstall", lambda: None)
    monkeypatch.setitem(globals(), "Owner", Owner)
    before = dict(vars(Owner))
    names = ("first", "second", "third")
    for name in (*names, "first"):  # the second time nothing happens
        install.add(install.Shim(f"{__name__}.Owner", name, (("device", 0),)))
    assert install.installed() == tuple(f"{__name__}.Owner.{name}" for name in names)
    assert Owner().first("cuda") == Owner().third("cuda") == translate("cuda")
    theirs = lambda self, device: "theirs"  # noqa: E731
    Owner.second = theirs  # type: ignore[method-assign]
    install.uninstall()
    assert vars(Owner)["first"] is before["first"] and vars(Owner)["third"] is before["third"]
    assert vars(Owner)["second"] is theirs and install.installed() == ()


def test_shims_are_wanted_where_cuda_is_not_native(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, flag in (("1", True), ("0", False)):
        monkeypatch.setenv("TDEV_SHIMS", text)
        for backend in Backend:
            on(monkeypatch, install, backend)
            assert install.wanted() is (flag and backend is not Backend.CUDA)


def test_a_replacement_is_of_the_kind_of_what_it_replaces() -> None:
    class Owner:
        @classmethod
        def made(cls, device: Any = None) -> Any:
            """A docstring."""
            return cls, device

        @staticmethod
        def plain(device: Any = None) -> Any:
            return device

    for name, kind, expected in (
        ("made", classmethod, (Owner, translate("cuda"))),
        ("plain", staticmethod, translate("cuda")),
    ):
        shim = install.Shim(__name__ + ".Owner", name, (("device", 0),))
        before = vars(Owner)[name]
        after = install._replacement(shim, Owner, before)
        assert isinstance(after, kind)
        setattr(Owner, name, after)
        assert getattr(Owner, name)("cuda") == expected
        for attribute in ("__doc__", "__name__", "__qualname__", "__module__", "__annotations__"):
            found = getattr(getattr(Owner, name), attribute)
            assert found == getattr(before.__func__, attribute)


def test_the_module_in_c_can_be_switched_off_and_is_of_this_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = calls._module.__wrapped__
    monkeypatch.setenv("TDEV_C_CALLS", "0")
    assert module() is None
    monkeypatch.setenv("TDEV_C_CALLS", "1")
    monkeypatch.setattr(calls, "_locked", lambda: False)
    assert module() is None
    monkeypatch.setattr(calls, "_locked", lambda: True)
    found = module()
    if found is None:
        pytest.skip("the module was not compiled here")
    monkeypatch.setattr(calls, "SOURCE", mock.Mock(read_bytes=lambda: b"another", name="_calls.c"))
    from tdev_core import errors

    monkeypatch.setattr(errors, "_warned", set())
    with pytest.warns(RuntimeWarning, match="compiled from another"):
        assert module() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert module() is None  # told once
    monkeypatch.setattr(calls, "SOURCE", mock.Mock(read_bytes=mock.Mock(side_effect=OSError)))
    assert module() is found


def test_marks_of_the_dead_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, dead = torch.ones(1), torch.ones(1)
    monkeypatch.setattr(moved, "marks", {})
    moved.mark(kept)
    moved.mark(dead)
    key = id(dead)
    del dead
    assert set(moved.marks) == {id(kept), key}
    moved._sweep()
    assert set(moved.marks) == {id(kept)} and moved.is_marked(kept)
    moved.mark_all([kept], False)
    assert not moved.marks


def test_many_live_marks_are_not_looked_through_at_each_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sweeps, sweep = [], moved._sweep
    monkeypatch.setattr(moved, "marks", {})
    monkeypatch.setattr(moved, "_sweep_at", [moved._FEWEST_SWEPT])
    monkeypatch.setattr(moved, "_sweep", lambda: sweeps.append(len(moved.marks)) or sweep())
    live = [moved.mark(torch.empty(0)) for _ in range(3000)]
    assert len(sweeps) <= 2 and len(moved.marks) == len(live)


@pytest.mark.skipif(current() is not Backend.CPU, reason="elsewhere a module is where it is")
def test_a_module_that_changes_its_dtype_stays_where_it_was_moved() -> None:
    model = torch.nn.Linear(2, 2).cuda()
    for change in (
        lambda: model.to(torch.float64),
        lambda: model.to(dtype=torch.float32),
        lambda: model.to(memory_format=torch.preserve_format),
        model.double,
    ):
        change()
        assert model.weight.device is devices.THERE and moved.is_marked(model.bias)
    assert not moved.is_marked(model.cpu().weight)


@pytest.mark.skipif(current() is not Backend.CPU, reason="what a copy is on the CPU backend")
def test_a_move_copies_wherever_the_program_says_not_to() -> None:
    """CUDA would have copied as well: ``copy`` asks for one more than that."""
    x, y = torch.ones(3), torch.ones(1).cuda()
    moves_: list[Any] = [
        lambda: x.to("cuda", torch.float32, False, False),
        lambda: x.to("cuda", torch.float32, False, copy=False),
        lambda: x.to("cuda", torch.float32, copy=False),
        lambda: x.to("cuda", copy=False),
        lambda: x.to(device="cuda", copy=False),
        lambda: x.to(y, False, False),
        lambda: x.to(y, False, copy=False),
        lambda: x.to(y, copy=False),
        lambda: x.cuda("cuda", True),
        lambda: x.cuda(None, True),
    ]
    for move in moves_:
        made = move()
        assert made.data_ptr() != x.data_ptr() and made.tolist() == [1, 1, 1]
        assert made.device is devices.THERE and moved.is_marked(made)


def test_on_mps_a_wide_tensor_goes_where_no_device_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is a move to a type, or to where another tensor is: nothing is narrowed, and none fails."""
    monkeypatch.setattr(moves.mps, "lacks_wide_types", lambda: True)
    to = moves.tensor_to(torch._C.TensorBase.to)  # as it is without the module in C
    wide = torch.ones(2, dtype=torch.float64)
    assert to(wide, dtype=torch.float32).dtype is torch.float32
    assert to(wide, tensor=torch.ones(1, dtype=torch.float16)).dtype is torch.float16
    assert to(wide, copy=True).dtype is torch.float64


def test_a_packed_sequence_goes_to_the_device_that_is_named() -> None:
    cuda = moves.packed_cuda(lambda self: None)
    asked = mock.Mock()
    for args, kwargs, expected in (
        ((), {}, mock.call(device="cuda")),
        ((), {"non_blocking": True}, mock.call(device="cuda", non_blocking=True)),
        (("cuda:1",), {}, mock.call("cuda:1")),
        ((), {"device": "cuda:1"}, mock.call(device="cuda:1")),
    ):
        cuda(asked, *args, **kwargs)
        assert asked.to.mock_calls.pop() == expected


def test_a_storage_goes_as_it_was_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "translate", lambda device: f"translated {device}")
    storage, cuda = mock.Mock(), moves.storage_cuda(lambda self: None)
    for args, device, waits in (((), "cuda", False), ((1, True), "1", True)):
        cuda(storage, *args)
        expected = mock.call.to(device=f"translated {device}", non_blocking=waits)
        assert storage.mock_calls.pop() == expected


def test_the_default_device_is_torchs_too() -> None:
    try:
        moved.set_default_device("meta")
        assert torch.get_default_device() == moved.get_default_device() == torch.device("meta")
        moved.set_default_device("cuda")
        assert moved.get_default_device() == translate("cuda")
        assert (moved.get_default_device() is devices.THERE) is (current() is Backend.CPU)
    finally:
        moved.set_default_device(None)


@pytest.mark.skipif(current() is not Backend.CPU, reason="what a copy is on the CPU backend")
def test_a_capsules_tensor_is_copied_unless_that_is_refused() -> None:
    source = torch.ones(3)
    for copy, shares in ((None, not devices.moves_copy()), (True, False), (False, True)):
        made = moved.from_dlpack(source, "cuda", copy)
        assert (made.data_ptr() == source.data_ptr()) is shares
    assert moved.from_dlpack(source, "cpu", None).data_ptr() == source.data_ptr()


def test_who_has_left_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, meta = torch.ones(1), torch.ones(1, device="meta")
    for there in (True, False):
        monkeypatch.setattr(moves.backend, "is_accelerator", lambda there=there: there)
        assert moves._left_accelerator(torch.device("cpu")) is there
        assert moves._left_accelerator(cpu) is there
        assert moves._left_accelerator(torch.device("meta")) is False
        assert moves._left_accelerator(meta) is False
    monkeypatch.setattr(moves.backend, "is_accelerator", lambda: True)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert moves._left_accelerator(cpu) is False


def test_types_have_the_names_by_which_they_are_found() -> None:
    found = 0
    for name, value in vars(tensortypes).items():
        if isinstance(
            value, (tensortypes.TensorType, tensortypes.SparseTensorType, tensortypes.StorageType)
        ):
            assert value.__name__ == name.removeprefix("Sparse")
            found += 1
    assert found > 30


def test_sparse_types_make_tensors_on_the_device_that_is_named() -> None:
    places = []
    with mock.patch.object(torch, "sparse_coo_tensor", lambda *_, **named: places.append(named)):
        with mock.patch.object(tensortypes, "device_of_index", lambda index: f"place {index}"):
            tensortypes.SparseFloatTensor(2, 3)
            tensortypes.SparseFloatTensor(torch.ones(1), torch.ones(1), device=0)
    assert places == [{"dtype": torch.float32, "device": "place 0"}] * 2


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_storage_types_make_storages_on_the_device_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tensortypes, "device_of_index", lambda index: torch.device("meta"))
    for given, size in (((3,), 3), (([1.0, 2.0],), 2), ((), 0)):
        made = tensortypes.DoubleStorage(*given, device=0)
        assert made.device.type == "meta" and made.size() == size and made.dtype is torch.float64
    for other in (torch.zeros(2), torch.zeros(2, dtype=torch.float64)):
        assert not isinstance(other._typed_storage(), tensortypes.LongStorage)


def test_a_legacy_constructor_goes_where_the_default_type_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new = tensortypes.legacy_constructor(lambda cls, *args, **kwargs: torch.ones(2))
    monkeypatch.setattr(tensortypes, "device_of_index", lambda _: torch.device("meta"))
    x = torch.ones(1)
    for there, args, kwargs, kind in (
        (True, (2,), {}, "meta"),
        (True, (), {}, "meta"),
        (True, (x,), {}, "cpu"),
        (True, (2,), {"device": "cpu"}, "cpu"),
        (False, (2,), {}, "cpu"),
        (False, (), {}, "cpu"),
    ):
        monkeypatch.setattr(tensortypes, "_legacy_there", there)
        assert new(torch.Tensor, *args, **kwargs).device.type == kind


def test_a_device_in_a_file_is_the_active_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, serialization, Backend.CUDA)  # a type that every build of torch knows
    assert serialization.device("cuda", None) == torch.device("cuda")
    assert serialization.device("cuda", 1) == torch.device("cuda", 1)


def test_storages_of_ours_are_restored_and_others_where_it_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serialization, "_by_tag", lambda storage, tag: f"restored from {tag}")
    for tag, ours in (("sim:1", True), ("mlx", True), ("cuda:0", False), ("cpu", False)):
        assert serialization._restore(None, tag) == (f"restored from {tag}" if ours else None)
        token = serialization._translating.set(True)
        try:
            assert serialization._restore(None, tag) == f"restored from {tag}"
        finally:
            serialization._translating.reset(token)
    with mock.patch.object(serialization, "register") as register:
        with serialization.translated_tags():
            assert serialization._translating.get() is True
        register.assert_called_once_with()
    assert serialization._translating.get() is False


def test_kernels_for_cuda_are_at_the_key_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, prefix in libraries._KEYS.items():
        for backend in (Backend.SIM, Backend.MLX):
            on(monkeypatch, libraries, backend)
            assert libraries._translated("aten::add.Tensor", key) == f"{prefix}PrivateUse1"
        on(monkeypatch, libraries, Backend.MPS)
        assert libraries._translated("aten::add.Tensor", key) == key
    on(monkeypatch, libraries, Backend.CPU)
    for named in ("add.Tensor", "aten::add.Tensor", torch.ops.aten.add.Tensor):
        operator = libraries._qualified("aten", named)
        assert libraries._translated(operator, "CUDA") == "CUDA"  # the CPU has one
    assert libraries._translated("aten::is_not_defined_yet", "CUDA") == "CPU"
    library = torch.library.Library("tdev_parts", "DEF")
    library.define("plain(Tensor x) -> Tensor")
    assert libraries._translated("tdev_parts::plain", "CUDA") == "CPU"


def test_torchs_own_kernels_are_those_that_no_decorator_registers() -> None:
    def frame(*names: str) -> Any:
        found = None
        for name in reversed(names):
            found = SimpleNamespace(f_globals={"__name__": name}, f_back=found)
        return found

    for names, torchs in (
        (("torch._meta_registrations",), True),
        (("torch.library",), False),
        (("torch._library.custom_ops",), False),
        (("program",), False),
        (("tdev_core.metrics.counters", "torch._decomp"), True),
        (("tdev_core.metrics.counters", "program"), False),
    ):
        assert libraries._is_torchs(frame(*names)) is torchs
    assert isinstance(libraries._translated, types.FunctionType)


def test_a_timer_waits_where_there_is_a_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    init = benchmarks.timer_waiting(lambda self, *args, **kwargs: made.append(kwargs))
    for backend in Backend:
        on(monkeypatch, benchmarks, backend)
        waits = backend in (Backend.MLX, Backend.SIM)
        for args, named, clock in (
            (("stmt",), {}, benchmarks._clock if waits else None),
            (("stmt", "setup", "global"), {}, benchmarks._clock if waits else None),
            (("stmt", "setup", "global", "timer"), {}, None),
            (("stmt",), {"timer": "mine"}, "mine"),
        ):
            init(None, *args, **named)
            assert made.pop().get("timer") == clock


def test_distributed_data_parallel_has_one_device_of_this_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[tuple[Any, ...]] = []
    init = distributed.ddp_init(lambda self, module, ids, output: given.append((ids, output)))
    monkeypatch.setattr(distributed, "is_own_cpu", lambda _: False)
    monkeypatch.setattr(distributed, "translate", lambda device: f"translated {device}")
    for ids, output, expected in (
        (None, None, (None, "translated None")),
        ([], 0, (None, "translated 0")),
        ([3], 3, (["translated 3"], "translated 3")),
        ([0, 1], 0, ([0, 1], 0)),  # torch refuses it in its own words
    ):
        model = torch.nn.Module()
        model.process_group = None  # type: ignore[assignment]  # stands in for DDP
        init(model, None, ids, output)
        assert given.pop() == expected


def test_where_a_sharded_model_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "is_own_cpu", lambda device: device == "its own")
    monkeypatch.setattr(distributed, "translate", lambda device: f"translated {device}")
    for backend in (Backend.CPU, Backend.SIM):
        on(monkeypatch, distributed, backend)
        assert distributed._fsdp_device("its own") == torch.device("cpu")
        assert distributed._fsdp_device("cuda") == "translated cuda"
    assert distributed._fsdp_device(None) == "translated None"
    on(monkeypatch, distributed, Backend.CPU)
    assert distributed._fsdp_device(None) == torch.device("cpu")


def test_data_parallel_moves_a_module_to_its_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    init = distributed.data_parallel_init(lambda self: None)
    monkeypatch.setattr(distributed, "translate", lambda _: torch.device("meta"))
    monkeypatch.setattr(distributed, "device_index", lambda device: 7)
    for backend, count, ids, kept, moved_there in (
        (Backend.SIM, 1, [0], [], True),
        (Backend.SIM, 2, [0], [0], True),
        (Backend.SIM, 2, [0, 1], [0, 1], False),
        (Backend.CPU, 1, [0], [], False),
    ):
        on(monkeypatch, distributed, backend)
        monkeypatch.setattr(distributed.device_selection, "device_count", lambda n=count: n)
        monkeypatch.setattr(distributed.parallel, "device_indices", lambda _, found=ids: found)
        self: Any = torch.nn.DataParallel.__new__(torch.nn.DataParallel)
        module = torch.nn.Linear(2, 2)
        init(self, module, None, "cuda:7")
        assert (self.device_ids, self.dim, self.src_device_obj) == (kept, 0, torch.device("meta"))
        assert self.output_device == (7 if count > 1 else 0) and self.module is module
        assert module.weight.is_meta is moved_there


def test_data_parallel_moves_inputs_to_its_one_device() -> None:
    forward = distributed.data_parallel_forward(lambda self, *args, **kwargs: (args, kwargs))
    x = torch.ones(1)
    for device, ids, moves_them in (
        (torch.device("meta"), [], True),
        (torch.device("meta"), [0, 1], False),
        (torch.device("cpu"), [], False),
        (None, [], False),
    ):
        self = SimpleNamespace(src_device_obj=device, device_ids=ids)
        (one,), named = forward(self, x, other=[x])
        assert one.is_meta is named["other"][0].is_meta is moves_them
        assert moves_them or one is x
    assert forward(SimpleNamespace(device_ids=[]), x) == ((x,), {})


def test_a_mesh_has_the_backends_of_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    init = distributed.mesh_init(lambda self, *args, **kwargs: given.append((args, kwargs)))
    monkeypatch.setattr(distributed, "mesh_device_type", lambda kind: f"here {kind}")
    monkeypatch.setattr(distributed, "mesh_override", lambda value: f"here {value}")
    remembered = mock.Mock()
    monkeypatch.setattr(distributed, "remember_mesh", remembered)
    mesh: Any = object()
    init(mesh, "cuda", [0], mesh_dim_names=("dp",))
    assert given.pop() == (("here cuda", [0]), {"mesh_dim_names": ("dp",)})
    remembered.assert_not_called()
    init(mesh, "cuda", [0], backend_override=("nccl", None))
    assert given.pop() == (("here cuda", [0]), {"backend_override": ("here nccl", "here None")})
    remembered.assert_called_once_with(mesh, {0: "nccl", 1: None})


def test_what_a_move_means_is_learnt_where_nothing_else_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The module in C asks nobody for what stands here."""
    monkeypatch.setattr(calls, "kinds", lambda: object())
    target = translate("cuda:0")
    targets = moves._Targets()
    targets.learn("cuda:0", torch.device("meta"))  # not what it always means
    assert targets.accelerator == {}
    targets.learn("cuda:0", target)
    assert targets.accelerator == {"cuda:0": target} and targets.all["cuda:0"] is target
    compiling = moves._Targets()
    with mock.patch.object(torch.compiler, "is_compiling", lambda: True):
        compiling.learn("cuda:0", target)
    assert compiling.accelerator == {}
