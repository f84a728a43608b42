"""Device specifications: what each means on the active backend."""

from __future__ import annotations

import types
import warnings

import pytest
import torch

from tdev_core import devices
from tdev_core.backend import Backend, current
from tdev_core.devices import device_index, translate, translate_each, translate_type
from tdev_core.errors import DeviceWarning

HERE = torch.device(current().value)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test sees its own first translation, and its own first warning."""
    from tdev_core import errors

    monkeypatch.setattr(devices, "_known", {})
    monkeypatch.setattr(errors, "_warned", set())


@pytest.mark.parametrize(
    "spec",
    ["cuda", "mps", "xpu", "mtia", "mlx", torch.device("cuda"), torch.device("mps")],
    ids=str,
)
def test_accelerators_become_the_active_device(spec: object) -> None:
    assert translate(spec).type == HERE.type
    assert isinstance(translate(spec), torch.device)


@pytest.mark.parametrize(
    "spec", ["cpu", "meta", torch.device("cpu"), torch.device("meta")], ids=str
)
def test_cpu_and_meta_mean_themselves(spec: object) -> None:
    assert translate(spec) == torch.device(spec)  # type: ignore[call-overload]


@pytest.mark.skipif(current() is not Backend.CPU, reason="what an index becomes on the CPU")
class TestOnCpu:
    def test_index_zero_is_kept_without_a_warning(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert translate("cuda:0") == torch.device("cpu")
            assert translate(0) == torch.device("cpu")

    def test_a_missing_index_is_folded_with_one_warning(self) -> None:
        with pytest.warns(DeviceWarning, match="'cuda:3' does not exist here") as caught:
            assert translate("cuda:3") == torch.device("cpu")
            assert translate("cuda:3") == torch.device("cpu")
        assert len(caught) == 1

    @pytest.mark.parametrize(
        "call",
        [
            "torch.zeros(1, device='cuda:41')",  # each names one that no other has named
            "torch.device('cuda', 42)",
            "torch.zeros(1).to('cuda:43')",
            "torch.nn.Linear(1, 1).cuda(44)",
            "torch.cuda.set_device(45)",
        ],
    )
    def test_a_missing_index_is_reported_where_the_program_names_it(self, call: str) -> None:
        tdev = pytest.importorskip("tdev")
        with pytest.warns(DeviceWarning, match="does not exist here") as caught:
            exec(compile(call, "program.py", "exec"), {"torch": tdev, "__name__": "program"})
        assert [warning.filename for warning in caught] == ["program.py"]

    def test_device_index_takes_what_translation_gives(self) -> None:
        assert device_index(translate("cuda")) == 0
        assert device_index(None) == 0
        assert device_index("cuda") == 0

    def test_translation_is_idempotent(self) -> None:
        assert translate(translate("cuda")) is translate("cuda")


def test_an_answer_is_not_taken_for_another_specification() -> None:
    """Equal keys of a dictionary: ``True`` and ``1``, which means an index."""
    assert translate(torch.device("cpu")) == translate("cpu") == torch.device("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        translate(1)
        translate(0)
    assert translate(True) is True
    assert translate(False) is False


@pytest.mark.parametrize(
    "value",
    [None, True, False, "not a device", "/data/cuda_runs/m.pt", 1.5, [], {"cuda": 1}],
    ids=repr,
)
def test_what_is_no_device_is_handed_back(value: object) -> None:
    assert translate(value) is value


def test_the_predicate_answers_for_tensors_devices_and_strings() -> None:
    accelerated = current() is not Backend.CPU
    x = torch.ones(1, device=HERE)
    for what in (
        x,
        torch.nn.Parameter(x),
        x.device,
        "cuda",
        "cuda:0",
        HERE.type,
        torch.device("cuda"),
    ):
        assert devices.is_accelerator(what) is accelerated
    packed = torch.nn.utils.rnn.pack_sequence([x])  # has data on a device, and no device
    assert devices.is_accelerator(packed) is accelerated and devices.answers_cuda(packed)
    for what in (torch.ones(1), "cpu", torch.device("meta"), None, "nonsense"):
        assert devices.is_accelerator(what) is False


def test_asked_exactly_only_a_name_without_index_counts() -> None:
    accelerated = HERE.type != "cpu"
    for name in ("cuda", HERE.type):
        assert devices.is_accelerator(name, exact=True) is accelerated
    for what in ("cuda:0", "cuda:1", f"{HERE.type}:0", HERE, torch.device("cuda"), "cpu", None, 0):
        assert devices.is_accelerator(what, exact=True) is False


def test_a_demand_for_cuda_is_met_on_every_backend() -> None:
    """By the device that stands for CUDA, the CPU's own where that is the backend."""
    assert devices.answers_cuda()
    for what in (torch.ones(1, device=HERE), HERE, "cuda", "cuda:0"):
        assert devices.answers_cuda(what) is True
    assert devices.answers_cuda(torch.ones(1)) is (HERE.type == "cpu")
    for what in (torch.device("meta"), None, "nonsense"):
        assert devices.answers_cuda(what) is False
    assert devices.answers_cuda("cuda", exact=True) is True
    assert devices.answers_cuda("cuda:0", exact=True) is False
    assert devices.answers_cuda(types.SimpleNamespace(is_cuda=True)) is True


def test_on_cuda_a_question_is_the_comparison_that_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """``"mps" == "cuda"`` is false there, and what it replaces is all that was asked."""
    monkeypatch.setattr(devices, "current", lambda: Backend.CUDA)
    for ask in (devices.is_accelerator, devices.answers_cuda):
        for what in ("mps", "xpu", "mtia", "xpu:0", torch.device("mps"), torch.device("xpu", 0)):
            assert ask(what) is False
            assert ask(what, exact=True) is False
        for what in ("cuda", "cuda:1", torch.device("cuda"), torch.device("cuda", 1)):
            assert ask(what) is True
        assert ask("cuda", exact=True) is True


@pytest.mark.parametrize("name", ["cuda", "meta"])
def test_a_string_of_numpys_is_a_string(name: str) -> None:
    numpy = pytest.importorskip("numpy")
    for exact in (False, True):
        for ask in (devices.is_accelerator, devices.answers_cuda):
            assert ask(numpy.str_(name), exact=exact) is ask(name, exact=exact)


def test_a_bool_never_counts_as_an_index() -> None:
    translate(1)
    assert translate(True) is True


def test_types_stay_strings() -> None:
    assert translate_type("cuda") == HERE.type
    assert translate_type("cpu") == "cpu"
    assert translate_type(["cuda", "cpu"]) == [HERE.type, "cpu"]
    assert translate_type(None) is None


def test_lists_are_copied_not_changed() -> None:
    given = ["cuda", "cpu"]
    assert translate_each(given) == [HERE, torch.device("cpu")]
    assert given == ["cuda", "cpu"]
    assert translate_each(("cuda",)) == (HERE,)


@pytest.mark.parametrize("bad", [1.5, object()], ids=["float", "object"])
def test_device_index_refuses_what_is_no_device(bad: object) -> None:
    with pytest.raises(TypeError, match="expected a device"):
        device_index(bad)


def test_device_index_passes_torchs_word_on_bad_strings() -> None:
    with pytest.raises(RuntimeError, match="Invalid device string|Expected one of"):
        device_index("nonsense")


def test_what_names_an_accelerator_does_so_on_every_backend() -> None:
    for spec in (
        "cuda",
        "cuda:1",
        "mps:0",
        "sim",
        torch.device("cuda", 1),
        devices.THERE,
        devices.APART,
        0,
        3,
    ):
        assert devices.names_accelerator(spec) is True
    for spec in (
        "cpu",
        "cpu:0",
        "meta",
        "",
        torch.device("meta"),
        torch.device("cpu"),
        True,
        None,
        1.5,
    ):
        assert devices.names_accelerator(spec) is False


def test_data_is_made_apart_where_moves_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    for copies in (True, False):
        monkeypatch.setattr(devices, "_moves_copy", copies)
        for spec in ("cuda", torch.device("cuda"), 0):
            found = devices.translate_apart(spec)
            assert (found is devices.APART) is copies
            assert copies or found == translate(spec)
        for spec in ("cpu", "meta", None):
            assert devices.translate_apart(spec) == translate(spec)


def test_there_is_no_pinned_memory_to_ask_for() -> None:
    assert devices.unpinned(True) is False and devices.unpinned(False) is False
    for other in (None, "yes", 1):
        assert devices.unpinned(other) is other


def test_a_translator_keeps_what_it_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert devices.known(translate) is devices._known
    device = translate("meta")
    assert devices.known(translate) == {"meta": device, device: device}
    assert devices.known(devices.unpinned) == {False: False, True: False}
    monkeypatch.setattr(
        devices, "current", lambda: Backend.SIM
    )  # which pins where its native library is
    assert devices.known(devices.unpinned) == {False: False}
    assert devices.known(translate_type) is None


def test_an_index_on_real_cuda_is_torchs_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch raises its own error; elsewhere what is not there is folded to 0."""
    monkeypatch.setattr(devices, "_count", lambda backend: 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for index in (0, 1, 2, 9):
            assert devices._on_target(Backend.CUDA, index, "it") == torch.device("cuda", index)
        assert devices._on_target(Backend.MPS, 1, "it") == torch.device("mps", 1)
        assert devices._on_target(Backend.MPS, None, "it") == torch.device("mps")
    with pytest.warns(DeviceWarning, match="it does not exist here; mps:0 is used"):
        assert devices._on_target(Backend.MPS, 2, "it") == torch.device("mps", 0)


@pytest.mark.parametrize("forced", [None, "one of them"])
@pytest.mark.parametrize("active", Backend)
def test_what_is_foreign_is_what_torch_does_not_find_beside_the_backend(
    active: Backend, forced: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"cuda": False, "mps": True, "xpu": False, "mtia": True}
    for kind, available in there.items():
        module = torch.backends.mps if kind == "mps" else getattr(torch, kind)
        monkeypatch.setattr(module, "is_available", lambda available=available: available)
    monkeypatch.setattr(devices, "current", lambda: active)
    monkeypatch.setattr(devices, "forced", lambda: forced)
    beside = {**there, "mlx": False, "sim": False, "hpu": True}
    foreign = {kind: forced is not None or not found for kind, found in beside.items()}
    foreign[active.value] = False
    for kind, expected in foreign.items():
        assert devices.is_foreign.__wrapped__(kind) is expected, kind


def test_what_torch_finds_beside_the_backend_keeps_its_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "is_foreign", lambda kind: False)
    for spec in ("xpu", "xpu:3", torch.device("xpu", 2)):
        assert translate(spec) == torch.device(spec)


def test_an_argument_is_translated_by_the_name_of_its_parameter() -> None:
    for parameter, given, expected in (
        ("device", "cuda", HERE),
        ("output_device", "cpu", torch.device("cpu")),
        ("device_type", "cuda", HERE.type),
        ("device_types", ["cuda", "cpu"], [HERE.type, "cpu"]),
        ("device_ids", ["cuda", "cpu"], [HERE, torch.device("cpu")]),
        ("device_ids", None, None),
        ("devices", ("cuda",), (HERE,)),
        ("devices", "cuda", HERE),
        ("pin_memory", True, False),
    ):
        found = devices.translator(parameter)(given)
        assert (type(found), found) == (type(expected), expected), parameter


@pytest.mark.skipif(current() is Backend.SIM, reason="there the current device decides, each time")
def test_what_an_accelerator_means_is_remembered() -> None:
    """The module in C goes by it, and asks nobody."""
    for spec in ("cuda", "cuda:0", torch.device("cuda")):
        found = translate(spec)
        assert devices.known(translate)[spec] is found  # type: ignore[index]


@pytest.mark.skipif(current() is not Backend.SIM, reason="the backend that may have several here")
def test_an_index_that_is_given_is_not_the_current_ones() -> None:
    accelerator = devices.accelerator()
    accelerator.set_device(1)
    try:
        assert [translate(f"cuda{of}").index for of in ("", ":0", ":1")] == [1, 0, 1]
        assert [device_index(spec) for spec in ("cuda", "cuda:0", 1, None)] == [1, 0, 1, 1]
    finally:
        accelerator.set_device(0)
    assert [device_index(spec) for spec in ("cuda", "cuda:1", 1, None)] == [0, 1, 1, 0]
