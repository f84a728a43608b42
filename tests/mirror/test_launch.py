"""What ``import tdev`` finds out before torch is there, and whose name is whose when it is."""

from __future__ import annotations

import sys

import pytest

from tdev_core.mirror import launch
from tests.programs import run


@pytest.mark.parametrize(
    ("words", "without"),
    [
        ("python -m tdev.codemod f.py", True),
        ("python -m tdev codemod f.py", True),
        ("python -m tdev matrix", True),
        ("python -m tdev doctor", True),
        ("python -m tdev.__main__ version", True),
        ("python -X dev -W ignore -m tdev doctor", True),
        ("python -I --check-hash-based-pycs always -m tdev codemod", True),
        ("python /venv/bin/tdev codemod f.py", True),
        ("python tdev.exe version", True),
        ("python -m tdev run f.py", False),
        ("python -m tdev", False),
        ("python /venv/bin/tdev run codemod", False),
        ("python /venv/bin/tdev", False),
        ("python -m pytest codemod", False),
        ("python -m tdev_codemod", False),
        ("python -m", False),
        ("python train.py -m tdev codemod", False),
        ("python train.py tdev codemod", False),
        ("python -c pass -m tdev codemod", False),
        ("python -X train.py", False),
        ("python -X tdev codemod", False),  # the value of -X
        ("python", False),
    ],
)
def test_which_processes_do_without_torch(
    words: str, without: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", words.split())
    assert launch.codemod_only() is without


def test_what_is_tdevs_stays_so_where_torch_has_the_name_too() -> None:
    """A torch to come may have a module ``torch.shims``."""
    run("""
        import importlib, sys, types
        import torch
        own = ("_shims", "shims", "standins", "tune", "monitoring", "numerics", "codemod", "codemod.__main__", "pytest_plugin", "__main__")
        for name in own:
            module = types.ModuleType(f"torch.{name}")
            module.__path__ = []
            sys.modules[module.__name__] = module
        import tdev
        for name in own:
            if not name.endswith("__main__"):
                found = importlib.import_module(f"tdev.{name}")
                assert found is not sys.modules[f"torch.{name}"] and "tdev" in found.__file__
                holder, _, last = f"tdev.{name}".rpartition(".")
                assert getattr(sys.modules[holder], last) is found
        for name in own:
            assert importlib.util.find_spec(f"tdev.{name}").loader.path.endswith(".py")
    """)


def test_modules_have_their_own_second_name_and_others_their_only_one() -> None:
    run(
        """
        import sys, types
        import tdev, torch
        assert tdev._C.__name__ == "tdev._C" and tdev.special is torch.special
        assert tdev.backends.torch is tdev
        assert tdev.backends.types is types and tdev.backends.sys is sys
    """,
        TDEV_BACKEND="cpu",
    )


def test_what_was_read_once_is_read_without_python_again() -> None:
    """Reading a name costs a look into a dictionary or two, whoever wrote what it means."""
    run(
        """
        import importlib, sys
        import tdev

        def calls(module, name):
            getattr(module, name)
            seen = []
            sys.setprofile(lambda frame, event, _: seen.append(event) if event == "call" else None)
            try:
                getattr(module, name)
            finally:
                sys.setprofile(None)
            return len(seen)

        for dotted in (
            "tdev.relu",  # a builtin
            "tdev.Tensor",
            "tdev.float32",
            "tdev.typename",
            "tdev.zeros",
            "tdev.nn",
            "tdev.nn.Linear",
            "tdev.nn.functional.interpolate",
            "tdev.cuda.empty_cache",  # stands in tdev.cuda.memory
            "tdev.cuda.memory.empty_cache",
            "tdev.cuda.is_available",
            "tdev.special.erf",
        ):
            module, _, name = dotted.rpartition(".")
            module = importlib.import_module(module)
            if name != "float32":
                assert calls(module, name) == 0, dotted
    """,
        TDEV_BACKEND="cpu",
    )


def test_the_mirrors_own_tools_are_none_of_torchs_modules() -> None:
    run("""
        import importlib, tdev
        for name in ("_shims", "shims", "codemod", "codemod.__main__", "__main__", "pytest_plugin"):
            assert importlib.util.find_spec(f"tdev.{name}").origin.endswith(".py"), name
    """)


def test_a_submodule_that_was_imported_stands_in_its_package() -> None:
    run("""
        import tdev.cuda.memory, sys
        assert vars(sys.modules["tdev.cuda"])["memory"] is sys.modules["tdev.cuda.memory"]
    """)
