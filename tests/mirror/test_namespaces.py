"""What a mirror has besides its attributes: names that its body needs for itself, and its ``__dict__``."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import sys
import threading
import warnings
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import tdev
import torch

from tdev_core.backend import Backend, current
from tdev_core.mirror.namespace import own_names
from tests.catalog import catalog
from tests.programs import COMPILER, run


def mirrors() -> list[tuple[ModuleType, ModuleType]]:
    found = []
    for name in catalog()["mirrors"]:
        try:
            theirs = importlib.import_module(name)
        except ImportError:
            continue  # another torch has it
        found.append((importlib.import_module("tdev" + name[len("torch") :]), theirs))
    return found


def test_what_a_body_imports_hides_nothing_of_torchs() -> None:
    """``torch._compile`` is a module, ``torch.distributed._Backend`` a class and ``torch.jit.annotations`` a module, too."""
    own: list[str] = []
    for ours, theirs in mirrors():
        state = ours.__dict__["__tdev_mirror__"]
        for name in set(vars(ours)) - state.routed - state.elsewhere.keys():
            value = getattr(theirs, name, None)
            if name[:2] != "__" and hasattr(theirs, name):
                if not (getattr(ours, name) is value or getattr(ours, name) == value):
                    own.append(f"{theirs.__name__}.{name}")
    assert own == []


def test_the_body_goes_on_calling_what_it_has_imported() -> None:
    code = """
        from unittest import mock
        import tdev, torch
        import tdev._compile
        assert tdev._compile is torch._compile and tdev._compile._disable_dynamo(lambda: 3)() == 3
        with mock.patch.object(tdev, "_compile", "patched"):
            assert torch._compile == "patched" == tdev._compile
            assert tdev.compile(lambda x: x + 1, backend="eager", disable=True)(1) == 2
        assert tdev._compile is torch._compile
        assert tdev.compile(lambda x: x + 1, backend="eager", disable=True)(1) == 2
    """
    run(code, preload=("torch._dynamo",))


class TestDictionary:
    """``vars(module)``: the names of torch's module, each with what the mirror answers."""

    def test_what_programs_look_up(self) -> None:
        """As they do: an optimizer or a layer by its name, the dtypes of torch."""
        assert tdev.optim.__dict__["Adam"] is torch.optim.Adam
        assert vars(tdev.optim.lr_scheduler)["StepLR"] is torch.optim.lr_scheduler.StepLR
        assert vars(tdev.nn)["Linear"] is tdev.nn.Linear
        assert tdev.__dict__.get("zeros") is tdev.zeros and "Adam" in vars(tdev.optim)
        ours, theirs = (
            {k: v for k, v in vars(m).items() if isinstance(v, torch.dtype)} for m in (tdev, torch)
        )
        assert ours == theirs and len(ours) > 20
        layers = {n for n, _ in inspect.getmembers(tdev.nn, inspect.isclass)}
        assert layers == {n for n, v in vars(tdev.nn).items() if inspect.isclass(v)}
        with pytest.raises(KeyError, match="Adem"):
            tdev.optim.__dict__["Adem"]

    def test_each_name_of_torchs_has_what_the_mirror_answers(self) -> None:
        """Without a warning, which torch gives of a name only where it is asked for by a function."""
        pairs = mirrors()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for ours, theirs in pairs:
                there = {n for n in theirs.__dict__ if not n.startswith("__")}
                found = dict(vars(ours))
                state = vars(ours)["__tdev_mirror__"]
                assert there - state.lost <= found.keys(), ours.__name__
                assert found.keys() == vars(ours).keys() and len(vars(ours)) == len(found)
                for name in there - state.lost:
                    value = getattr(ours, name)
                    assert found[name] is value or found[name] == value, (ours, name)

    def test_it_is_a_dictionary(self) -> None:
        space = vars(tdev.optim)
        assert isinstance(space, dict) and space is tdev.optim.__dict__
        assert {**space}["Adam"] is dict(space)["Adam"] is space.copy()["Adam"] is tdev.optim.Adam
        assert (space | {"a": 1})["Adam"] is ({"a": 1} | space)["Adam"] is tdev.optim.Adam
        assert copy.copy(space)["Adam"] is tdev.optim.Adam and "a" not in space
        assert dict.fromkeys(space).keys() == set(space) == space.keys()
        assert list(reversed(space)) == list(space)[::-1]
        assert eval("Adam", tdev.optim.__dict__) is tdev.optim.Adam
        assert eval("[Adam for _ in range(1)]", vars(tdev.optim)) == [tdev.optim.Adam]
        assert (lambda **names: names)(**space).keys() == space.keys()
        assert space == dict(space) and space != {} and "Adam" in repr(space)
        assert pickle.loads(pickle.dumps(tdev.optim)) is copy.copy(tdev.optim) is tdev.optim

    def test_what_is_put_there_is_torchs_too(self) -> None:
        before = tdev.nn.Linear
        try:
            tdev.nn.__dict__.update(Linear="a layer", another=3)
            assert tdev.nn.Linear == torch.nn.Linear == "a layer"  # type: ignore[comparison-overlap]
            assert tdev.nn.another == vars(torch.nn)["another"] == 3  # type: ignore[attr-defined]
            vars(tdev.nn)["Linear"] = before
            assert tdev.nn.Linear is torch.nn.Linear is before
            assert vars(tdev.nn).pop("another") == 3 and not hasattr(torch.nn, "another")
            assert vars(tdev.nn).setdefault("another", 4) == tdev.nn.another == 4  # type: ignore[attr-defined]
            del tdev.nn.__dict__["another"]
            assert not hasattr(tdev.nn, "another") and "another" not in vars(tdev.nn)
            with pytest.raises(KeyError):
                del tdev.nn.__dict__["another"]
        finally:
            torch.nn.Linear = before

    def test_a_look_keeps_nothing(self) -> None:
        """What a program or torch puts in the place of a name afterwards is seen, as before."""
        dict(vars(tdev)), dict(vars(tdev.cuda)), dict(vars(tdev.nn.functional))
        with mock.patch("torch.relu") as fake:
            assert vars(tdev)["relu"] is tdev.relu is fake
        assert vars(tdev)["relu"] is tdev.relu is torch.relu
        with mock.patch("torch.cuda.is_available", return_value=7):
            assert vars(tdev.cuda)["is_available"]() == tdev.cuda.is_available() == 7  # type: ignore[comparison-overlap]
        if current() is not Backend.CUDA:
            assert vars(tdev.cuda)["is_available"]() == tdev.cuda.is_available() != 7  # type: ignore[comparison-overlap]

    def test_patches_are_put_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module, name in ((tdev, "zeros"), (tdev.optim, "Adam"), (tdev.cuda, "device_count")):
            before = getattr(module, name)
            theirs = getattr(sys.modules["torch" + module.__name__[4:]], name)
            for patch in (
                mock.patch.object(module, name, "fake"),
                mock.patch.dict(vars(module), {name: "fake", "another": 1}),
            ):
                with patch:
                    assert getattr(module, name) == vars(module)[name] == "fake"
                assert getattr(module, name) is before and not hasattr(module, "another")
                assert getattr(sys.modules["torch" + module.__name__[4:]], name) is theirs
            monkeypatch.setitem(vars(module), name, "fake")
            assert getattr(module, name) == "fake"
            monkeypatch.undo()
            assert getattr(module, name) is before

    def test_a_dictionary_that_is_cleared_and_filled_again_is_as_before(self) -> None:
        """``mock.patch.dict`` does that as it ends."""
        code = """
            import importlib, sys, warnings
            from unittest import mock
            warnings.simplefilter("ignore")
            import tdev, torch, torch.distributed, torch.utils.data
            names = [n for n, m in list(sys.modules.items()) if n.partition(".")[0] == "torch"]
            ours = {"tdev" + n[5:]: importlib.import_module("tdev" + n[5:]) for n in names}
            ours = {n: m for n, m in ours.items() if "__tdev_mirror__" in vars(m)}
            assert len(ours) > 20 or tdev.device_type() == "cuda"
            def snapshot():
                theirs = {n: dict(vars(sys.modules[n])) for n in names}
                return theirs, {n: dict(vars(m)) for n, m in ours.items()}
            snapshot()
            before = snapshot()
            for name, module in ours.items():
                with mock.patch.dict(vars(module), {"another": 1}):
                    assert module.another == 1
            after = snapshot()
            assert tdev.zeros(2).sum() == 0 and tdev.optim.Adam is torch.optim.Adam
            for then, now in zip(before, after):
                for name in then:
                    assert then[name].keys() == now[name].keys(), (name, then[name].keys() ^ now[name].keys())
                    changed = [k for k, v in then[name].items() if now[name][k] is not v and now[name][k] != v]
                    assert not changed, (name, changed)
        """
        run(code)

    def test_a_module_that_is_taken_away_and_put_back(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = torch.optim
        monkeypatch.delattr(tdev, "optim")
        assert not hasattr(torch, "optim")
        monkeypatch.undo()
        assert torch.optim is before and tdev.optim.__name__ == "tdev.optim"

    def test_a_look_at_one_name_loads_no_other(self) -> None:
        code = """
            import sys
            import tdev
            before = {n for n in sys.modules if n.partition(".")[0] in ("torch", "tdev")}
            vars(tdev)["float16"], "cuda" in vars(tdev), len(vars(tdev)), tdev.__dict__.get("nothing")
            assert not {n for n in sys.modules if n.partition(".")[0] in ("torch", "tdev")} - before
        """
        run(code)

    def test_reloading_executes_in_the_modules_own(self) -> None:
        code = """
            import importlib, tdev, torch, tdev.cuda
            vars(tdev)["relu"]
            theirs = torch.zeros, torch.load
            for module in (tdev, tdev.cuda):
                importlib.reload(module)
            assert (torch.zeros, torch.load) == theirs
            assert type(tdev.report.__globals__) is type(tdev.is_accelerator.__globals__) is dict
            assert vars(tdev.optim)["Adam"] is torch.optim.Adam and vars(tdev)["relu"] is torch.relu
        """
        run(code, fresh=True)

    def test_code_for_its_functions_is_put_into_the_modules_own(self) -> None:
        """What the compiler has made of a function, and kept, calls helpers by names among the function's globals."""
        scope: dict[str, Any] = {"__name__": "torch._dynamo.package"}
        exec("def look(module): return module.__dict__", scope)  # noqa: S102
        assert scope["look"](tdev.cuda) is own_names(tdev.cuda) is not vars(tdev.cuda)
        assert type(own_names(tdev.cuda)) is dict

    def test_at_home(self) -> None:
        """On CUDA the names of ``torch.cuda`` are torch's; the process is made to believe in it."""
        code = """
            import torch
            torch.cuda.is_available = lambda: True
            import tdev
            assert tdev.device_type() == "cuda"
            for name in ("cuda", "optim", "nn"):
                ours, theirs = getattr(tdev, name).__dict__, getattr(torch, name).__dict__
                assert not theirs.keys() - ours.keys(), name
            assert vars(tdev.cuda)["synchronize"] is torch.cuda.synchronize
            assert tdev.optim.__dict__["Adam"] is torch.optim.Adam
            dtypes = [v for v in vars(tdev).values() if isinstance(v, torch.dtype)]
            assert dtypes == [v for v in vars(torch).values() if isinstance(v, torch.dtype)]
            tdev.cuda.__dict__["synchronize"] = "fake"
            assert tdev.cuda.synchronize == torch.cuda.synchronize == "fake"
        """
        run(code, fresh=True, TDEV_BACKEND="")

    def test_a_star_gives_what_torch_gives(self) -> None:
        """Where a module has no ``__all__``, the statement looks at its dictionary."""
        for name in ("nn.modules.utils", "cuda.nvtx", "serialization", "backends.cuda"):
            ours, theirs = {}, {}  # type: dict[str, Any], dict[str, Any]
            exec(f"from tdev.{name} import *", ours)
            exec(f"from torch.{name} import *", theirs)
            assert theirs.keys() <= ours.keys(), name

    def test_a_name_that_goes_meanwhile_is_no_error(self) -> None:
        """As when another thread sets and deletes a hook while this one goes through the dictionary."""
        seen = vars(tdev.cuda)
        for look in (seen.items, seen.values):
            tdev.cuda.hook = None
            found = iter(look())
            next(found)
            del tdev.cuda.hook
            assert list(found)
        assert "hook" not in seen.copy() and seen.copy()["is_available"] is tdev.cuda.is_available

    def test_threads_that_look_at_once(self) -> None:
        failures: list[BaseException] = []

        def look() -> None:
            try:
                for _ in range(20):
                    found = dict(vars(tdev.nn.functional))
                    assert found["relu"] is torch.nn.functional.relu
                    assert tdev.__dict__["float16"] is torch.float16
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []

    def test_in_a_compiled_function(self) -> None:
        code = """
            import tdev, torch
            def look(x):
                kind = tdev.optim.__dict__["Adam"]
                return kind, vars(tdev)["relu"](x).to(tdev.__dict__["float16"]) + vars(tdev)["zeros"](2)
            # The compiler of 2.11 does not follow a module's slot: it breaks the graph there.
            whole = torch.__version__ >= "2.12"
            compiled = torch.compile(look, backend="eager", fullgraph=whole)
            x = tdev.ones(2)
            with torch._dynamo.config.patch(error_on_recompile=True):
                for _ in range(3):
                    kind, y = compiled(x)
                    assert kind is torch.optim.Adam and y.dtype is torch.float32 and y.tolist() == [1, 1]
        """
        run(code, preload=COMPILER)
