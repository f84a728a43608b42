"""Factories of the mirror, by the C module and by Python alone."""

from __future__ import annotations

import importlib

import pytest

from tdev_core.backend import Backend, current
from tests.catalog import catalog
from tests.mirror.factories import FACTORIES, check
from tests.programs import run


@pytest.mark.skipif(current() is not Backend.CPU, reason="the device is named: the CPU's")
@pytest.mark.parametrize("name", FACTORIES)
def test_a_factory_makes_what_torchs_makes(name: str) -> None:
    check(name, importlib.import_module("tdev"), "cpu")


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_factories_by_python_alone(backend: str) -> None:
    code = f"""
        import tdev
        from tests.mirror.factories import FACTORIES, check
        for name in FACTORIES:
            check(name, tdev, {backend!r})
    """
    run(code, TDEV_BACKEND=backend, TDEV_C_CALLS="0")


def test_every_factory_that_is_translated_is_among_them() -> None:
    translated = {
        row["name"]
        for row in catalog()["mirrors"]["torch"]["definitions"]
        if row["kind"] == "translated"
    }
    others = {
        "get_device_module",
        "empty_quantized",
        "from_file",
        "import_ir_module",
        "import_ir_module_from_buffer",
    }
    assert translated - set(FACTORIES) - others == set()
