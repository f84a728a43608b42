"""Patches of names of torch, in migrated tests, still reach the migrated code; and are undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdev_core.codemod.engine import Names, Options, Style, rewrite
from tests.forkserver import environment, python

pytest.importorskip("tdev")

CODE = """\
import torch
import torch.distributed as dist
from torch.cuda.amp import GradScaler


def resume(path):
    return torch.load(path, map_location="cuda")


def start(rank):
    dist.init_process_group("nccl", rank=rank, world_size=1)


def masks(n):
    return torch.zeros(n, device="cuda"), torch.ones(n)


def mixed(x):
    with torch.amp.autocast("cuda"):
        return torch.sigmoid(x)


def late(x):
    from torch.amp import autocast

    with autocast(device_type=x.device.type):
        return x


def scaled():
    from torch.cuda.amp import GradScaler as Scaler

    return Scaler
"""

# The code of another part of the program, which no rule changes.
PLAIN = """\
import torch


def squashed(x):
    return torch.sigmoid(x)
"""

TESTS = """\
import sys
from unittest import mock

import code_under_test as code
import plain
import torch


def check(name):
    x = torch.ones(2)
    if name == "string":
        with mock.patch("torch.load", return_value=1) as load:
            assert code.resume("x.pt") == 1
        load.assert_called_once_with("x.pt", map_location="cuda")
        with mock.patch("torch.distributed.init_process_group") as init:
            code.start(0)
        init.assert_called_once_with("nccl", rank=0, world_size=1)
        with mock.patch("code_under_test.torch.cuda.is_available", return_value="patched"):
            assert torch.cuda.is_available() == "patched"
    elif name == "object":
        with mock.patch.object(torch, "load") as load:
            code.resume("x.pt")
        load.assert_called_once_with("x.pt", map_location="cuda")
        with mock.patch.object(torch.distributed, "init_process_group") as init:
            code.start(0)
        init.assert_called_once()
    elif name == "autocast":
        for _ in range(2):  # the first to read a name must not be the last
            with mock.patch("torch.amp.autocast") as autocast:
                code.mixed(x)
                code.late(x)
            assert autocast.call_count == 2
            code.mixed(x)
            assert autocast.call_count == 2
    elif name == "creation":
        with mock.patch("torch.zeros", return_value=7), mock.patch.object(torch, "ones") as ones:
            assert code.masks(3) == (7, ones.return_value)
    elif name == "operator":
        code.mixed(x)
        for _ in range(2):
            with mock.patch("torch.sigmoid") as sigmoid:
                assert code.mixed(x) is plain.squashed(x) is sigmoid.return_value
            with mock.patch.object(torch, "sigmoid") as sigmoid:
                assert code.mixed(x) is plain.squashed(x) is sigmoid.return_value
            assert torch.equal(code.mixed(x), plain.squashed(x))
    elif name == "module":
        with mock.patch.dict("sys.modules", {"torch.cuda.amp": None}):
            try:
                code.scaled()
            except ImportError:
                pass
            else:
                raise AssertionError
        code.scaled()


check(sys.argv[1])
"""

NAMES = ["string", "object", "autocast", "creation", "operator", "module"]


@pytest.fixture(scope="module", params=["explicit", "alias"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    style: Style = request.param
    folder = tmp_path_factory.mktemp(style)
    for name, source in (("code_under_test", CODE), ("plain", PLAIN), ("tests", TESTS)):
        code = rewrite(source, Names.load(), Options(style=style)).code
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    assert (folder / "plain.py").read_text(encoding="utf-8") == PLAIN
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_patch_reaches_the_code(program: Path, name: str) -> None:
    done = python("tests.py", name, env=environment(TDEV_BACKEND="cpu"), cwd=program)
    assert done.returncode == 0, done.stderr[-2000:]
