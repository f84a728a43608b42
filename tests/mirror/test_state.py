"""State that is set through the mirror is torch's, and the other way round."""

from __future__ import annotations

import enum
import functools
import importlib
import operator
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import tdev
import torch

from tdev_core.backend import Backend, current
from tests.programs import run

FLAGS = [
    ("backends.cudnn.benchmark", True),
    ("backends.cudnn.deterministic", True),
    ("backends.cudnn.enabled", False),
    ("backends.cudnn.allow_tf32", False),
    ("backends.cuda.matmul.allow_tf32", True),
    ("backends.cuda.matmul.allow_fp16_reduced_precision_reduction", False),
    ("backends.mkldnn.enabled", False),
    ("backends.opt_einsum.strategy", "greedy"),
    ("_dynamo.config.cache_size_limit", 3),
    ("_inductor.config.max_autotune", True),
    ("utils.data.dataloader.default_collate", len),
    ("nn.functional.a_user_sets_this", 7),
]


class Kind(enum.Enum):
    """What a checkpoint may hold besides weights."""

    ONE = 1


def resolved(root: Any, dotted: str) -> tuple[Any, str]:
    home, _, leaf = dotted.rpartition(".")
    value = root
    for part in home.split("."):
        value = getattr(value, part)
    return value, leaf


@contextmanager
def kept(home: Any, leaf: str) -> Iterator[None]:
    missing = not hasattr(home, leaf)
    before = getattr(home, leaf, None)
    yield
    if missing:
        delattr(home, leaf)
    else:
        setattr(home, leaf, before)


@pytest.mark.parametrize(("dotted", "value"), FLAGS, ids=[name for name, _ in FLAGS])
def test_flags_set_through_the_mirror_are_torchs(dotted: str, value: object) -> None:
    importlib.import_module("torch._inductor.config")
    ours, leaf = resolved(tdev, dotted)
    theirs, _ = resolved(torch, dotted)
    with kept(theirs, leaf):
        setattr(ours, leaf, value)
        assert getattr(theirs, leaf) == value
        assert getattr(ours, leaf) == value
    assert getattr(ours, leaf, None) == getattr(theirs, leaf, None)


@pytest.mark.parametrize(("dotted", "value"), FLAGS, ids=[name for name, _ in FLAGS])
def test_flags_set_on_torch_are_seen_through_the_mirror(dotted: str, value: object) -> None:
    importlib.import_module("torch._inductor.config")
    ours, leaf = resolved(tdev, dotted)
    theirs, _ = resolved(torch, dotted)
    getattr(ours, leaf, None)  # so that nothing that was remembered hides the change
    with kept(theirs, leaf):
        setattr(theirs, leaf, value)
        assert getattr(ours, leaf) == value


@pytest.mark.parametrize(
    ("setter", "getter", "value"),
    [
        ("set_default_dtype", "get_default_dtype", torch.float64),
        ("set_num_threads", "get_num_threads", 1),
        ("use_deterministic_algorithms", "are_deterministic_algorithms_enabled", True),
        ("set_float32_matmul_precision", "get_float32_matmul_precision", "high"),
        ("set_grad_enabled", "is_grad_enabled", False),
        ("set_anomaly_enabled", "is_anomaly_enabled", True),
    ],
)
def test_settings_are_torchs(setter: str, getter: str, value: object) -> None:
    before = getattr(torch, getter)()
    try:
        getattr(tdev, setter)(value)
        assert getattr(torch, getter)() == value == getattr(tdev, getter)()
    finally:
        getattr(torch, setter)(before)


def test_the_default_device_is_translated_and_torchs() -> None:
    code = """
        import tdev, torch
        tdev.set_default_device("cuda")
        assert torch.get_default_device() == tdev.get_default_device() == tdev.zeros(0, device="cuda").device
        assert tdev.zeros(2).device == torch.zeros(2).device == tdev.get_default_device()
        tdev.set_default_device(None)
    """
    run(code)


def test_the_default_tensor_type_may_be_a_cuda_type() -> None:
    code = """
        import tdev as torch
        torch.set_default_tensor_type(torch.cuda.DoubleTensor)
        assert torch.zeros(2).dtype is torch.float64 and torch.zeros(2).device == torch.device("cuda", 0) or torch.zeros(2).device.type == torch.device_type()
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
        assert torch.zeros(2).dtype is torch.float32
        assert torch.cuda.FloatTensor(2, 3).shape == (2, 3)
        assert torch.cuda.LongTensor([1, 2]).tolist() == [1, 2]
        assert isinstance(torch.zeros(2).cuda(), torch.cuda.FloatTensor)
    """
    run(code)


class TestPatch:
    """``unittest.mock.patch`` by a dotted tdev name."""

    def test_a_name_that_is_torchs_own_is_patched_in_torch(self) -> None:
        before = torch.relu
        with mock.patch("tdev.relu", return_value="patched"):
            assert tdev.relu(1) == "patched" == torch.relu(1)  # type: ignore[arg-type, comparison-overlap]
        assert tdev.relu is torch.relu is before

    def test_a_name_that_was_used_before(self) -> None:
        before = tdev.nn.functional.gelu
        with mock.patch("tdev.nn.functional.gelu") as fake:
            assert torch.nn.functional.gelu is fake
        assert torch.nn.functional.gelu is before is tdev.nn.functional.gelu

    def test_a_name_of_cuda_is_patched_in_both(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As on CUDA, where they are one function: what goes on asking torch sees what a test pretends."""
        ours, theirs = tdev.cuda.is_available, torch.cuda.is_available
        with mock.patch("tdev.cuda.is_available", return_value="patched"):
            assert tdev.cuda.is_available() == torch.cuda.is_available() == "patched"  # type: ignore[comparison-overlap]
            with mock.patch.object(tdev.cuda, "is_available", return_value="again"):
                assert tdev.cuda.is_available() == torch.cuda.is_available() == "again"
            assert tdev.cuda.is_available() == torch.cuda.is_available() == "patched"
        assert tdev.cuda.is_available is ours and torch.cuda.is_available is theirs
        monkeypatch.setattr(tdev.cuda, "device_count", lambda: tdev.cuda.memory.memory_allocated)
        monkeypatch.setattr("tdev.cuda.memory.memory_allocated", lambda device=None: 7)
        assert torch.cuda.device_count() == tdev.cuda.device_count()
        assert tdev.cuda.memory.memory_allocated() == torch.cuda.memory.memory_allocated() == 7
        monkeypatch.undo()
        assert torch.cuda.is_available is theirs and torch.cuda.memory.memory_allocated() != 7

    def test_every_function_of_cuda_is_put_back(self) -> None:
        """Also where the patch is the first to name one, which the mirror loads as it is asked for."""
        code = """
            import tdev, torch
            from unittest import mock
            names = [n for n in dir(tdev.cuda) if n.islower() and n[0] != "_" and callable(getattr(torch.cuda, n, None))]
            assert len(names) > 50
            for name in names:
                theirs = getattr(torch.cuda, name)
                with mock.patch(f"tdev.cuda.{name}") as fake:
                    assert getattr(torch.cuda, name) is fake is getattr(tdev.cuda, name), name
                assert getattr(torch.cuda, name) is theirs, name
                assert getattr(tdev.cuda, name) is not fake, name
                ours = getattr(tdev.cuda, name)
                with mock.patch(f"torch.cuda.{name}") as fake:
                    assert getattr(torch.cuda, name) is fake is getattr(tdev.cuda, name), name
                assert getattr(torch.cuda, name) is theirs, name
                assert getattr(tdev.cuda, name) is ours, name
        """
        run(code)

    def test_patches_of_both_beside_each_other(self) -> None:
        theirs = torch.cuda.is_available
        first, second = (mock.patch(f"{name}.cuda.is_available") for name in ("torch", "tdev"))
        for one, other, ended in (
            (first, second, (second, first)),
            (second, first, (first, second)),
        ):
            one.start()
            other.start()
            for each in ended:
                each.stop()
            assert torch.cuda.is_available is theirs

    def test_what_is_put_into_torch_cuda_stands_in_the_mirror(self) -> None:
        """However it gets there: the tests of a migrated package go on patching torch."""
        ours, theirs = tdev.cuda.is_available, torch.cuda.is_available
        with mock.patch("torch.cuda.is_available", return_value=True) as fake:
            assert tdev.cuda.is_available is fake
            with mock.patch.object(torch.cuda, "is_available", lambda: "again"):
                assert tdev.cuda.is_available() == "again"
            with mock.patch("tdev.cuda.is_available", lambda: "tdev's"):
                assert torch.cuda.is_available() == tdev.cuda.is_available() == "tdev's"
            assert tdev.cuda.is_available is fake is torch.cuda.is_available
        assert tdev.cuda.is_available is ours and torch.cuda.is_available is theirs
        with mock.patch.multiple(torch.cuda, device_count=lambda: 9, Stream="stream"):
            assert tdev.cuda.device_count() == 9 and tdev.cuda.Stream == "stream"
        assert tdev.cuda.device_count() < 9 and isinstance(tdev.cuda.Stream, type)
        before, at_home = tdev.version.cuda, current() is Backend.CUDA
        with mock.patch("torch.version.cuda", "12.8"):
            assert tdev.version.cuda == "12.8"
        assert tdev.version.cuda is before and bool(before) == at_home

    def test_what_stands_in_the_place_of_script_takes_what_it_likes(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """``torch.jit.script = lambda f, **k: f`` switches scripting off, in libraries too."""

        def plus(x: torch.Tensor) -> torch.Tensor:
            return x + 1

        monkeypatch.setattr("torch.jit.script", lambda f, **options: f)
        assert tdev.jit.script(plus) is plus is torch.jit.script(plus)

    def test_a_mock_of_load_that_wraps_tdevs(self, tmp_path: Path) -> None:
        """As a test has it in which ``torch`` is tdev: the string is torch's, the function is not."""
        torch.save({"w": torch.ones(2)}, tmp_path / "w.pt")
        with mock.patch("torch.load", wraps=tdev.load) as fake:
            assert tdev.load(tmp_path / "w.pt")["w"].tolist() == [1, 1]
            assert fake.call_count == 1
            assert torch.load(tmp_path / "w.pt")["w"].tolist() == [1, 1]
        assert tdev.load(tmp_path / "w.pt").keys() == {"w"}

    def test_a_patch_before_the_mirror_is_asked_for_the_first_time(self) -> None:
        code = """
            import sys
            from unittest import mock
            import tdev, torch
            import torch.cuda.nccl  # which the import system puts there
            for name in ("cuda", "version"):
                assert f"tdev.{name}" not in sys.modules, name
            with mock.patch("torch.cuda.device_count", lambda: 7), mock.patch("torch.version.cuda", "12.8"):
                assert tdev.cuda.device_count() == 7 and tdev.version.cuda == "12.8"
            home = tdev.device_type() == "cuda"
            assert tdev.cuda.device_count() < 7 and torch.version.cuda != "0.0"
            assert tdev.version.cuda == (torch.version.cuda if home else "0.0")
            # By hand, in a loop, by a helper, for good.
            for name, value in {"is_available": lambda: 3, "current_device": lambda: 4}.items():
                setattr(torch.cuda, name, value)
            assert (tdev.cuda.is_available(), tdev.cuda.current_device()) == (3, 4)
        """
        run(code)

    def test_what_torch_sets_itself_is_no_patch(self) -> None:
        """A library that uses a GPU beside the active backend has torch set the generators of that GPU."""
        code = """
            import tdev, torch
            if tdev.device_type() == "cuda":
                raise SystemExit  # where they are one
            ours, theirs = tdev.cuda.default_generators, torch.cuda.default_generators
            exec("torch.cuda.default_generators = ('of the GPU',)", {"__name__": "torch.cuda", "torch": torch})
            assert torch.cuda.default_generators == ("of the GPU",)
            assert tdev.cuda.default_generators == ours
            torch.cuda.default_generators = ("of a test",)
            assert tdev.cuda.default_generators == ("of a test",)
        """
        run(code)

    def test_the_modules_are_pickled_by_their_names(self) -> None:
        torchs = (torch.cuda, torch.version) if current() is not Backend.CUDA else ()
        for module in (*torchs, tdev.cuda, tdev):  # torch's own cannot be, as ever
            assert pickle.loads(pickle.dumps(module)) is module

    def test_a_fake_may_call_what_it_stands_for(self) -> None:
        ours = tdev.cuda.device_count
        with mock.patch("tdev.cuda.device_count", side_effect=lambda: ours() + 1):
            assert tdev.cuda.device_count() == torch.cuda.device_count() == ours() + 1

    def test_a_factory(self) -> None:
        ours = tdev.zeros
        with mock.patch.object(tdev, "zeros", return_value="patched"):
            assert tdev.zeros(2) == "patched"  # type: ignore[comparison-overlap]
            if current() is not Backend.CUDA:  # where they are one
                assert torch.zeros(1).tolist() == [0]
        assert tdev.zeros is ours

    def test_who_loads_with_torch_gets_what_the_program_has_made_of_that(
        self, tmp_path: Path
    ) -> None:
        """The common cure for checkpoints that hold more than weights, in a program whose libraries load them."""
        torch.save({"kind": Kind.ONE}, tmp_path / "model.pt")
        ours, theirs = tdev.load, torch.load
        with pytest.raises(UnpicklingError):
            torch.load(tmp_path / "model.pt")
        tdev.load = functools.partial(tdev.load, weights_only=False)
        try:
            for module in (torch, tdev):
                assert module.load(tmp_path / "model.pt") == {"kind": Kind.ONE}
        finally:
            tdev.load = ours
        assert torch.load is theirs

    @pytest.mark.parametrize("given", [{}, {"device": "cuda"}])
    def test_a_factory_that_modules_call(self, given: dict[str, str]) -> None:
        """As who makes models without memory does: torch's own layers have to get it."""
        ours, theirs = tdev.empty, torch.empty
        made: list[tuple[int, ...]] = []

        def empty(*size: Any, **kwargs: Any) -> torch.Tensor:
            made.append(size)
            return ours(*size, **kwargs)

        tdev.empty = empty
        try:
            assert tdev.empty(2, **given).shape == (2,)
            assert torch.empty(3).shape == (3,)
            tdev.nn.Linear(4, 5)
        finally:
            tdev.empty = ours
        assert made == [(2,), (3,), ((5, 4),), (5,)]
        assert tdev.empty is ours and torch.empty is theirs

    def test_a_spy_counts_a_call_once(self, tmp_path: Path) -> None:
        """Whoever calls it by whichever name: it calls what it stands for, which calls torch's."""
        torch.save(torch.ones(2), tmp_path / "x.pt")
        for module in (tdev, torch):
            with mock.patch("tdev.load", wraps=tdev.load) as spy:
                assert module.load(tmp_path / "x.pt").tolist() == [1, 1]
            assert spy.call_count == 1

    def test_a_module(self) -> None:
        before = tdev.optim  # a mirror, with torch's module behind it
        with mock.patch("tdev.optim"):
            assert tdev.optim is not before
        assert tdev.optim is before
        assert torch.optim.__name__ == "torch.optim"

    def test_pytest_monkeypatch_and_deletion(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = torch.sigmoid
        monkeypatch.setattr(tdev, "sigmoid", "patched")
        monkeypatch.setattr("tdev.a_new_name", 1, raising=False)
        assert torch.sigmoid == "patched"  # type: ignore[comparison-overlap]
        assert torch.a_new_name == 1  # type: ignore[attr-defined]
        monkeypatch.undo()
        assert tdev.sigmoid is torch.sigmoid is before
        assert not hasattr(tdev, "a_new_name")
        monkeypatch.delattr(tdev, "sigmoid")
        assert not hasattr(torch, "sigmoid") and not hasattr(tdev, "sigmoid")
        monkeypatch.undo()
        assert tdev.sigmoid is torch.sigmoid is before


def test_a_mirror_is_found_where_its_torch_module_was_put() -> None:
    """Some files of a program say ``import tdev as torch`` and some ``import torch``: a module is a key in both."""
    pairs = [(tdev, torch), (tdev.nn, torch.nn), (tdev.cuda, torch.cuda), (tdev.amp, torch.amp)]
    for mirror, source in pairs:
        assert mirror is not source
        assert mirror == source and source == mirror and not mirror != source
        assert {source: 1}[mirror] == {mirror: 1}[source] == 1
        assert mirror in [source] and {mirror, source} == {source}
    assert tdev != torch.nn and torch.nn != tdev and tdev != tdev.nn and tdev != "torch"


def test_reloading_keeps_state_and_identity() -> None:
    code = """
        import importlib, tdev, torch
        import tdev.cuda, tdev.backends.cudnn
        tdev.backends.cudnn.benchmark = True
        shims = tdev.shims.installed()
        linear = torch.nn.Linear.__init__
        for module in (tdev, tdev.cuda, tdev):
            importlib.reload(module)
        assert tdev.backends.cudnn.benchmark is torch.backends.cudnn.benchmark is True
        assert tdev.shims.installed() == shims and torch.nn.Linear.__init__ is linear
        assert tdev.zeros(2, device="cuda").device == tdev.device("cuda", 0) or tdev.device_type() == "cpu"
        assert tdev.nn is torch.nn or tdev.nn.Linear is torch.nn.Linear
    """
    run(code)


@pytest.mark.parametrize("read_before", [False, True])
@pytest.mark.parametrize("name", ["sigmoid", "nn.functional.gelu", "nn.Linear", "linalg.norm"])
def test_what_a_program_puts_into_torch_for_a_while_is_seen_and_not_kept(
    name: str, read_before: bool
) -> None:
    def read(root: Any) -> Any:
        return operator.attrgetter(name)(root)

    owner, _, last = f"tdev.{name}".rpartition(".")
    mirror = type(
        importlib.import_module(owner)
    )  # what a mirror has read is a property of its class
    if read_before:
        read(tdev)
        assert mirror is ModuleType or isinstance(vars(mirror)[last], property)
    elif last in vars(mirror):
        delattr(mirror, last)
    before = read(torch)
    with mock.patch(f"torch.{name}", return_value="patched"):
        assert read(tdev) is read(torch) is not before and read(tdev)(1) == "patched"
    assert read(tdev) is read(torch) is before
    with mock.patch(f"torch.{name}", lambda x: "replaced"):
        assert read(tdev)(1) == "replaced"
    assert read(tdev) is before


def test_setting_what_is_set_already_keeps_no_copy() -> None:
    tdev.backends.cudnn.enabled = tdev.backends.cudnn.enabled
    with tdev.backends.cudnn.flags(enabled=not torch.backends.cudnn.enabled):
        assert tdev.backends.cudnn.enabled is torch.backends.cudnn.enabled
    tdev.sigmoid = torch.sigmoid
    with mock.patch("torch.sigmoid") as fake:
        assert tdev.sigmoid is fake
