"""What holds for the tests of every folder."""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

# What is asserted here is asserted of the CPU, or of the backend that a test names: the GPU or the Mac of whoever runs the tests
# must not decide. `CUDA_VISIBLE_DEVICES=0 pytest tests/mirror/test_evidence.py` runs what takes the hardware itself.
os.environ.setdefault("TDEV_BACKEND", "cpu")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# Whether somebody has built the native kernels of device mlx on this machine must not decide what is tested:
# tests/accelerators/mlx/test_native.py turns them on. `TDEV_NATIVE=1 pytest tests/accelerators/mlx` runs all the others with them.
os.environ.setdefault("TDEV_NATIVE", "0")
os.environ.setdefault(
    "TDEV_NATIVE_BUILD", "0"
)  # nor must a test keep a core busy for the next ones
# Some ten thousand tests are collected, and all stay: nothing of that is worth looking for rubbish in.
gc.disable()
# As many processes as cores run the tests; more threads in each would only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Or each of some hundred processes would compile tdev's sources anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Or each process that compiles starts others, which import torch.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
# A shell that starts the tests in the background, or nohup, has them ignore Ctrl-C; a child would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every", type=int, default=1, help="run one of so many tests")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start what takes long first, so that at the end no core waits for one test."""
    items[:] = items[:: config.getoption("every")]
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Have the collector leave what is there for good, and torch look at no stacks: each is as long as pytest is deep.

    ``torch.manual_seed`` puts the seeding of devices that are not there off, each time with the text of the
    stack that asked for it, which is more than half of what a comparison of two results takes.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
    torch = sys.modules.get("torch")
    for name in ("cuda", "xpu", "mtia"):
        module = getattr(torch, name, None)
        if hasattr(module, "traceback"):
            module.traceback = SimpleNamespace(format_stack=lambda: ["not kept in tests"])
    databases = sys.modules.get("torch.testing._internal.common_utils")
    if hasattr(databases, "extract_test_fn"):
        # Reads the source around every frame of the stack, for each operator, to find a unittest.TestCase.
        databases.extract_test_fn = lambda: None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give each test torch's flags to set, and skip what Inductor cannot build on this machine.

    Whoever imports torch's own test helpers, as its operator database does, can set no flag from then on.
    """
    backends = sys.modules.get("torch.backends")
    if backends is not None:
        backends.flags_frozen.__globals__["__allow_nonbracketed_mutation_flag"] = True
    if item.get_closest_marker("inductor") is not None:
        torch = find_spec("torch")
        if torch is not None and " " in str(torch.origin):
            pytest.skip(
                "torch's Inductor cannot link where its own path has a space, in stock torch either"
            )
