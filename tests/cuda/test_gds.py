"""Storages to and from files, tunable's settings, and green contexts."""

from __future__ import annotations

import inspect
import os

import pytest
import torch

from tdev_core.cuda import gds, green_contexts, tunable
from tdev_core.errors import DeviceWarning, UnsupportedError


def test_storages_go_to_a_file_and_come_back(tmp_path):
    path = os.fspath(tmp_path / "data.bin")
    first, second = torch.randn(1000), torch.randn(2, 500)
    file = gds.GdsFile(path, os.O_CREAT | os.O_RDWR)
    assert isinstance(file, torch.cuda.gds.GdsFile)
    for tensor in (first, second):
        gds.gds_register_buffer(tensor.untyped_storage())
    file.save_storage(first.untyped_storage(), offset=0)
    file.save_storage(second.untyped_storage(), offset=first.nbytes)
    assert os.path.getsize(path) == first.nbytes + second.nbytes
    a, b = torch.empty(1000), torch.empty(2, 500)
    file.load_storage(a.untyped_storage())
    file.load_storage(b.untyped_storage(), offset=first.nbytes)
    assert torch.equal(a, first) and torch.equal(b, second)
    gds.gds_deregister_buffer(first.untyped_storage())
    with pytest.raises(RuntimeError, match="ends 4000 bytes before the storage is full"):
        file.load_storage(a.untyped_storage(), offset=second.nbytes + first.nbytes)


def test_handles_are_registered_once(tmp_path):
    file = gds.GdsFile(os.fspath(tmp_path / "x"), os.O_CREAT | os.O_RDWR)
    with pytest.raises(AssertionError, match="registered already"):
        file.register_handle()
    file.deregister_handle()
    for call in (
        file.deregister_handle,
        lambda: file.load_storage(torch.ones(1).untyped_storage()),
    ):
        with pytest.raises(AssertionError, match="not registered"):
            call()
    with pytest.raises(AssertionError, match="not registered"):
        file.save_storage(torch.ones(1).untyped_storage())


def test_empty_storages_and_wrong_arguments(tmp_path):
    file = gds.GdsFile(os.fspath(tmp_path / "x"), os.O_CREAT | os.O_RDWR)
    file.save_storage(torch.empty(0).untyped_storage())
    file.load_storage(torch.empty(0).untyped_storage())
    with pytest.raises(TypeError, match="expected a storage, got Tensor"):
        gds.gds_register_buffer(torch.ones(1))
    with pytest.raises(FileNotFoundError):
        gds.GdsFile(os.fspath(tmp_path / "missing"), os.O_RDWR)


def test_the_file_is_closed_with_its_object(tmp_path):
    file = gds.GdsFile(os.fspath(tmp_path / "x"), os.O_CREAT | os.O_RDWR)
    descriptor = file.fd
    del file
    with pytest.raises(OSError):
        os.fstat(descriptor)


def test_tunable_settings_are_kept():
    tunable.set_max_tuning_duration(10)
    tunable.set_max_tuning_iterations(5)
    tunable.set_rotating_buffer_size(3)
    tunable.set_numerical_check_tolerances(True, 1e-3, 1e-4)
    assert tunable.get_max_tuning_duration() == 10 and tunable.get_max_tuning_iterations() == 5
    assert tunable.get_rotating_buffer_size() == 3 * 1024 * 1024
    assert (tunable._settings.check, tunable._settings.atol) == (True, 1e-3)
    tunable.set_filename("a.b.csv", insert_device_ordinal=True)
    assert tunable.get_filename() == "a.b0.csv"
    tunable.set_filename("plain", True)
    assert tunable.get_filename() == "plain0"
    tunable.set_filename("t.csv")
    assert tunable.get_filename() == "t.csv"


@pytest.mark.parametrize("function", ["enable", "tuning_enable", "record_untuned_enable"])
def test_asking_for_the_tuner_warns_and_leaves_it_off(function):
    with pytest.warns(DeviceWarning, match=rf"tunable.{function}\(True\) has no effect"):
        getattr(tunable, function)()
    getattr(tunable, function)(False)
    assert tunable.is_enabled() is False
    assert tunable.get_results() == tunable.get_validators() == ()
    assert tunable.read_file("results.csv") is False


def test_green_contexts_say_what_to_do():
    original = torch.cuda.green_contexts.GreenContext
    assert issubclass(green_contexts.GreenContext, original)
    with pytest.raises(UnsupportedError, match="set_num_threads"):
        green_contexts.GreenContext(num_sms=4)
    # As many as this torch has: create alone in 2.11, one that splits and one that counts since.
    made = {name for name, value in vars(original).items() if isinstance(value, staticmethod)}
    assert "create" in made
    for name in made:
        ours = getattr(green_contexts.GreenContext, name)
        with pytest.raises(UnsupportedError, match=f"GreenContext.{name}"):
            ours()
        assert inspect.signature(ours) == inspect.signature(getattr(original, name))
