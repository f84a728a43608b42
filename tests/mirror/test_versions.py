"""The mirror on torches that it knows and on others: names are taken away or added before tdev is imported."""

from __future__ import annotations

import pytest
import torch

from tdev_core.release import torch_release
from tests.catalog import joined
from tests.programs import run

FIRST, LAST = (one.rpartition(".")[0] for one in (joined()["torches"][0], joined()["torches"][-1]))
RANGE = f"{FIRST} to {LAST}"

# A torch that the mirror does not know, without a routed function, a plain one, one of an alias module, a class that
# is shimmed, a whole module that is mirrored, and one that is an alias.
OTHER = """
    import sys
    import torch
    torch.__version__ = type(torch.__version__)("2.99.0+cpu")
    del torch.full_like, torch.relu, torch.special.erf, torch.nn.functional.gelu
    del torch.cuda.memory_allocated, torch.cuda.memory.memory_allocated
    del torch.nn.Linear.__init__
    torch.nn.modules.linear.Bilinear = None
    import torch.signal, torch.masked
    for name in [n for n in sys.modules if n.startswith(("torch.cuda.green_contexts", "torch.xpu.graphs", "torch.monitor"))]:
        sys.modules[name] = None
    for owner, name in ((torch.cuda, "green_contexts"), (torch.xpu, "graphs"), (torch, "monitor")):
        if hasattr(owner, name):
            delattr(owner, name)
    class Hidden:
        def find_spec(self, fullname, path, target=None):
            if fullname in ("torch.monitor", "torch.cuda.green_contexts", "torch.xpu.graphs"):
                raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
    sys.meta_path.insert(0, Hidden())
    for name in ("torch.monitor", "torch.cuda.green_contexts", "torch.xpu.graphs"):
        sys.modules.pop(name, None)
    import tdev
    def message(look):
        try:
            look()
        except (AttributeError, ImportError) as error:
            return f"{type(error).__name__}: {error}"
        raise SystemExit("did not raise")
"""


GONE = {
    "tdev.full_like": "torch.full_like",
    "tdev.relu": "torch.relu",
    "tdev.nn.functional.gelu": "torch.nn.functional.gelu",
    "tdev.cuda.memory_allocated": "torch.cuda.memory_allocated",
    # Of modules that are torch's own:
    "tdev.special.erf": "torch.special.erf",
    "__import__('tdev.special').special.erf": "torch.special.erf",
    # Modules:
    "tdev.monitor": "torch.monitor",
    "__import__('tdev.monitor')": "torch.monitor",
    "__import__('tdev.cuda.green_contexts')": "torch.cuda.green_contexts",
    "__import__('tdev.xpu.graphs')": "torch.xpu.graphs",
}
UNKNOWN = "tdev.no_such_name"
NO_MODULE = "__import__('tdev.no_such_module')"
# In the same process, after those: what that torch has works as ever.
STILL = """
    assert tdev.zeros(2, device="cuda").sum() == 0
    assert tdev.ones(2).cuda().sum() == 2
    assert tdev.cuda.is_available() in (True, False)
    assert tdev.nn.functional.relu6(tdev.ones(1)) == 1
    try:
        from tdev import full_like
    except ImportError:
        pass
    else:
        raise SystemExit("did not raise")
    assert not hasattr(tdev, "full_like") and not hasattr(tdev.special, "erf")
    assert "full_like" not in dir(tdev)
    assert tdev.special.erfc is torch.special.erfc
    assert tdev.types is torch.types
    tdev.special.a_flag = 1
    assert torch.special.a_flag == 1
"""


@pytest.fixture(scope="module")
def messages() -> dict[str, str]:
    """What looking for each name raises on that torch; the process has then gone on with the rest."""
    looks = [*GONE, UNKNOWN, NO_MODULE]
    lines = "".join(f"    print(message(lambda: {look}))\n" for look in looks)
    return dict(zip(looks, run(OTHER + lines + STILL).splitlines(), strict=True))


def test_it_imports_and_what_is_there_works(messages: dict[str, str]) -> None:
    """The program of :func:`messages` ended well, its assertions too."""
    assert len(messages) == len(GONE) + 2


@pytest.mark.parametrize(("look", "dotted"), GONE.items())
def test_what_is_gone_says_which_torch_has_it(
    messages: dict[str, str], look: str, dotted: str
) -> None:
    module = look.startswith("__import__") and "special" not in look
    kind = "ModuleNotFoundError" if module else "AttributeError"
    text = messages[look]
    assert text.startswith(f"{kind}: torch 2.99.0+cpu has no '{dotted}'"), text
    assert f"generated from torch {RANGE}" in text
    assert "nox -s upgrade" in text


def test_names_that_neither_has_get_torchs_own_words(messages: dict[str, str]) -> None:
    text = messages[UNKNOWN]
    assert text.partition(": ")[2].startswith("module 'torch' has no attribute 'no_such_name'")
    assert messages[NO_MODULE] == "ModuleNotFoundError: No module named 'tdev.no_such_module'"


def test_new_names_of_a_newer_torch_are_reachable() -> None:
    code = """
        import torch
        torch.__version__ = type(torch.__version__)("2.99.0")
        torch.brand_new = lambda: 7
        torch.special.brand_new = torch.brand_new
        import tdev
        assert tdev.brand_new() == 7 == tdev.special.brand_new()
    """
    run(code)


NEWER = """
    import sys, types
    import torch
    torch.__version__ = type(torch.__version__)("2.99.0")

    def added(home, name, code):
        scope = vars(sys.modules[home])
        exec(code, scope)
        assert name in scope and scope[name].__module__ == home

    added("torch.cuda", "warm_up", "def warm_up(device=None): return True")
    added("torch.cuda", "Lane", "class Lane:\\n    def __init__(self): self.made = True")
    added("torch.cuda", "LIMIT", "class LIMIT_(int): ...\\nLIMIT = LIMIT_(3); LIMIT.__module__ = __name__")
    added("torch", "brand_new", "def brand_new(size, *, device=None): return empty(size, device=device)")
    torch.new_flag = 5
    brand_new_module = types.ModuleType("torch.cuda.lanes")
    sys.modules["torch.cuda.lanes"] = torch.cuda.lanes = brand_new_module
    added("torch.cuda.lanes", "is_available", "def is_available(): return True")
    # A parameter more: of one that is answered here, and of one whose devices are translated.
    before = torch.cuda.synchronize
    def synchronize(device=None, spin=False): return "torch's"
    synchronize.__module__ = "torch.cuda"
    torch.cuda.synchronize = synchronize
    from torch import Generator, manual_seed
    import tdev

    def refused(call):
        try:
            call()
        except tdev.UnsupportedError as error:
            return str(error)
        raise SystemExit("was not refused")
"""


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_what_a_newer_torch_has_for_a_device_is_refused_when_it_is_called(backend: str) -> None:
    code = (
        NEWER
        + """
    for call, name in (
        (tdev.cuda.warm_up, "torch.cuda.warm_up"),
        (tdev.cuda.Lane, "torch.cuda.Lane"),
        (lambda: tdev.cuda.lanes.is_available(), "torch.cuda.lanes.is_available"),
        (lambda: tdev.cuda.synchronize(spin=True), "torch.cuda.synchronize(spin=…)"),
    ):
        for _ in range(2):  # what is kept from the first time
            message = refused(call)
            assert message.startswith(name + " is not supported"), message
            assert "newer than this mirror, which was generated from torch RANGE" in message
    assert hasattr(tdev.cuda, "warm_up") and issubclass(tdev.cuda.Lane, torch.cuda.Lane)
    assert tdev.cuda.LIMIT == 3 and tdev.new_flag == 5
    tdev.cuda.synchronize("cuda")
    import inspect
    assert "spin" in inspect.signature(tdev.cuda.synchronize).parameters
    """
    )
    run(code.replace("RANGE", RANGE), TDEV_BACKEND=backend)


def test_a_factory_that_a_newer_torch_has_makes_tensors_on_the_backend() -> None:
    code = (
        NEWER
        + """
    assert tdev.brand_new(2, device="cuda").device.type == "sim"
    assert tdev.brand_new(2).device.type == "cpu"
    """
    )
    run(code, TDEV_BACKEND="sim")


def test_a_module_that_a_newer_torch_has_is_made_on_the_backend() -> None:
    code = """
        import torch
        torch.__version__ = type(torch.__version__)("2.99.0")
        class Lattice(torch.nn.Module):
            def __init__(self, size, device=None):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(size, device=device))
        class Plain(torch.nn.Module): ...
        for one in (Lattice, Plain):
            one.__module__ = "torch.nn.modules.linear"
            setattr(torch.nn, one.__name__, one)
            setattr(torch.nn.modules.linear, one.__name__, one)
        def spread(size, device=None): return torch.zeros(size, device=device)
        torch.fft.spread = spread
        before = Plain.__init__
        import tdev
        from tdev.nn import Lattice as found
        assert found is Lattice is tdev.nn.Lattice and tdev.nn.Plain is Plain and Plain.__init__ is before
        class Own(found): ...
        for made in (found(2, device="cuda"), found(2, "cuda"), Own(2, device="cuda")):
            assert made.weight.device.type == "sim"
        assert found(2).weight.device.type == "cpu"
        assert tdev.fft.spread(2, device="cuda").device.type == "sim"
    """
    run(code, TDEV_BACKEND="sim")


def test_a_newer_parameter_of_a_translated_function_is_handed_on() -> None:
    code = """
        import torch
        torch.__version__ = type(torch.__version__)("2.99.0")
        from tdev_core.mirror import newer, versions
        def ours(size, device=None): raise SystemExit("not torch's")
        def theirs(size, device=None, fast=False): return size, device, fast
        import tdev
        from tdev_core.mirror.newer import with_newer_parameters
        name = next(iter(versions.translated_names()))
        wider = with_newer_parameters(ours, theirs, name, "2.0 to 2.1")
        for given in (wider(3, "cuda", fast=True), wider(3, device="cuda", fast=True)):
            assert given == (3, torch.device("sim"), True)
        assert wider(3, fast=True) == (3, None, True)
        assert with_newer_parameters(theirs, theirs, name, "2.0 to 2.1") is theirs
        assert with_newer_parameters(max, theirs, name, "2.0 to 2.1") is max
    """
    run(code, TDEV_BACKEND="sim")


def test_importing_tdev_asks_for_no_name_that_torch_warns_of() -> None:
    code = """
        import warnings
        import torch
        torch.__version__ = type(torch.__version__)("2.99.0")
        erf = torch.special.__dict__.pop("erf")
        def lookup(name):
            if name != "erf":
                raise AttributeError(name)
            warnings.warn("erf goes", FutureWarning)
            return erf
        torch.special.__getattr__ = lookup
        warnings.simplefilter("error")
        import tdev.special
        warnings.simplefilter("ignore")
        assert tdev.special.erf is erf
    """
    run(code)


def test_on_the_right_torch_nothing_is_looked_up() -> None:
    code = """
        import tdev
        from tdev_core.mirror import versions
        assert not hasattr(tdev, "no_such_name") and not hasattr(tdev.special, "no_such_name")
        assert versions._known.cache_info().currsize == 0
    """
    run(code)


def test_an_alias_that_is_not_generated_blames_no_other_torch() -> None:
    """``tdev._C`` answers some names itself; what goes wrong with one is told as it is."""
    code = """
        import tdev
        from tdev_core.cuda import binding_names
        from tdev_core.mirror import versions
        assert not versions.differs("")
        names = binding_names.NAMES["torch._C"]
        name = next(iter(names))
        module, _, attribute = names[name].partition(":")
        import importlib
        delattr(importlib.import_module(module), attribute)
        try:
            getattr(tdev._C, name)
        except ImportError as error:
            print(error)
    """
    text = run(code, TDEV_BACKEND="cpu")
    assert "could not be loaded" in text and "generated from" not in text


def test_a_folder_with_a_stub_is_no_package_where_torch_lacks_the_module() -> None:
    """The ordinary import system would take it for an empty one."""
    code = """
        import sys
        from pathlib import Path
        import tdev.nn
        from tdev_core.mirror import aliases
        assert not Path(tdev.__file__).with_name("nn").joinpath("functional", "__init__.py").exists()
        before = aliases._exists
        aliases._exists = lambda name: name != "torch.nn.functional" and before(name)
        sys.modules.pop("tdev.nn.functional", None)
        try:
            import tdev.nn.functional
        except ModuleNotFoundError as error:
            print(error)
    """
    assert run(code, TDEV_BACKEND="cpu") == "No module named 'tdev.nn.functional'"


def test_a_submodule_that_nobody_has_imported_is_not_lost() -> None:
    code = """
        import importlib.util, sys
        import torch
        torch.__version__ = type(torch.__version__)("2.99.0")
        from tdev_core.mirror import versions
        for name in ("torch", "torch.nn", "torch.cuda", "torch.distributed", "torch.utils", "torch.ao"):
            __import__(name)
            names = (n for n in versions.known_names(name) if n[0] != "_" and f"{name}.{n}" in versions._known())
            # torch.backends is there without a spec; torch.foreach only newer torches have
            modules = {n for n in names if f"{name}.{n}" in sys.modules or importlib.util.find_spec(f"{name}.{n}")}
            assert modules
            lost = versions.lost_names(name)
            assert not lost & modules, (name, lost & modules)
            assert "no_such" not in lost
    """
    run(code)


# What is looked up, its name in torch, and the releases that have it, first and last.
DATED = {
    "tdev.cuda.export_dot": ("torch.cuda.export_dot", (2, 14), None),
    "tdev.cuda.graphs.export_dot": ("torch.cuda.graphs.export_dot", (2, 14), None),
    "tdev.mps.Stream": ("torch.mps.Stream", (2, 15), None),
    "tdev.accelerator.random": ("torch.accelerator.random", (2, 14), None),
    "__import__('tdev.accelerator.random')": ("torch.accelerator.random", (2, 14), None),
    "__import__('tdev.mps.streams')": ("torch.mps.streams", (2, 15), None),
    "__import__('tdev.foreach')": ("torch.foreach", (2, 15), None),
    "tdev.vitals_enabled": ("torch.vitals_enabled", (2, 11), (2, 11)),
    "tdev.cuda.green_contexts.SUPPORTED": ("torch.cuda.green_contexts.SUPPORTED", (2, 11), (2, 13)),
}


def test_what_the_installed_torch_lacks_says_which_torch_has_it() -> None:
    lacking = {
        look: row
        for look, row in DATED.items()
        if torch_release < row[1] or (row[2] is not None and torch_release > row[2])
    }
    assert lacking
    lines = "".join(f"    print(message(lambda: {look}))\n" for look in lacking)
    told = run(
        "    import torch\n    import tdev\n    def message("
        + OTHER.partition("    def message(")[2]
        + lines
        + """
    for name in ("export_dot", "vitals_enabled"):
        for mirror, original in ((tdev, torch), (tdev.cuda, torch.cuda)):
            there = hasattr(original, name)
            assert (name in dir(mirror)) == hasattr(mirror, name) == there, (mirror, name)
    assert tdev.nn.functional is torch.nn.functional
    from tdev_core.mirror import versions
    assert versions._known.cache_info().currsize == 0
    """
    ).splitlines()
    for text, (dotted, first, last) in zip(told, lacking.values(), strict=True):
        number = ".".join(map(str, last or first))
        having = f"{number} and {'newer' if last is None else 'older'}"
        assert f"torch {torch.__version__} has no '{dotted}'; it is in torch {having}" in text, text
        wanted = f"torch>={number}" if last is None else f"torch=={number}.*"
        assert f"pip install '{wanted}'" in text


WEIGHTS = """
    import torch, torch.distributed as dist
    from torch.distributed import distributed_c10d
    torch.__version__ = type(torch.__version__)("VERSION")
    seen = []
    def theirs(object_list, src=None, group=None, device=None, group_src=None, weights_only=False):
        seen.append(weights_only)
    dist.broadcast_object_list = distributed_c10d.broadcast_object_list = theirs
    import tdev
    try:
        tdev.distributed.broadcast_object_list([1], weights_only=True)
    except TypeError as error:
        print(error)
    print(seen)
"""


def test_a_parameter_goes_to_the_torch_that_has_it() -> None:
    """``weights_only`` keeps what is received from running code: torch 2.14 brought it."""
    told = run(WEIGHTS.replace("VERSION", "2.14.0"), TDEV_BACKEND="sim")
    assert told == "[True]"
    told = run(WEIGHTS.replace("VERSION", "2.13.0"), TDEV_BACKEND="sim")
    assert "unexpected keyword argument 'weights_only'" in told and told.endswith("[]")
