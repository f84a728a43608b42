"""Do what the import of ``tdev`` has to do, in order.

Imports nothing heavy itself: ``python -m tdev.codemod`` passes through here too, where torch may not
even be installed.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from typing import NoReturn

from tdev_core.errors import ConfigError, exit_with, hush_interrupts
from tdev_core.release import OLDEST

__all__ = ["after_torch", "before_torch", "codemod_only", "install_shims"]


# Commands of ``python -m tdev`` that read source text or tables, or that look after torch themselves.
_TORCHLESS = frozenset({"codemod", "doctor", "matrix", "version"})


# Modules that are run by themselves, `python -m tdev.monitoring`; `tdev.distributed.run` is torch's, and runs another's program.
_TOOLS = frozenset({"codemod", "monitoring", "numerics", "tune"})


def codemod_only() -> bool:
    """Tell whether this process was started for a tool that does without torch: ``python -m tdev.codemod``,
    ``python -m tdev codemod``, ``matrix``, ``doctor`` or ``version``, and ``tdev codemod`` as a command.
    """
    return _command() in _TORCHLESS


def _command() -> str | None:
    """Return the command of ``python -m tdev`` that this process was started for, None where it is another program's."""
    arguments = iter(sys.orig_argv[1:])
    for argument in arguments:
        if os.path.basename(argument) in ("tdev", "tdev.exe"):
            return next(arguments, "")
        if argument == "-m":
            module = next(arguments, "")
            if module in ("tdev", "tdev.__main__"):
                return next(arguments, "")
            package, _, name = module.partition(".")
            tool = name.partition(".")[0]
            return tool if package == "tdev" and tool in _TOOLS else None
        if argument in ("-W", "-X", "--check-hash-based-pycs"):
            next(arguments, None)  # the option's value
        elif not argument.startswith("-") or argument == "-c":
            break  # a script, or a command: what follows is its own
    return None


_CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def before_torch() -> None:
    """Settings that torch reads once, when it is imported; and whether it is there at all.

    A command of ``python -m tdev`` that is stopped by Ctrl-C while torch is imported ends without a traceback.
    """
    if _command() is not None:
        hush_interrupts()
    if find_spec("torch") is None:
        _refuse(
            ModuleNotFoundError,
            "torch is not installed in this Python. tdev is a mirror of it, runs on the torch that you "
            "choose, and brings none along. Install the build for your hardware "
            "(https://pytorch.org/get-started/locally), or the CPU's, which is a tenth of CUDA's: "
            f"python -m pip install torch --index-url {_CPU_INDEX}. The codemod needs no torch: python -m tdev.codemod.",
        )
    if sys.platform == "darwin":
        # Operators without a Metal kernel then run on the CPU instead of raising.
        os.environ.setdefault("PYTORCH_ENABLE_MPS_FALLBACK", "1")
    from tdev_core.measure.tuning import variables

    variables.set_early()
    from tdev_core.packages.interpreter import choosing

    try:
        choosing.begin()
    except ConfigError as error:
        exit_with(error)


def after_torch(own: Iterable[str]) -> None:
    """Pick the backend, register its device type, and let ``import tdev.x`` find torch's modules.

    Args:
        own: modules of ``tdev`` that have a file of their own.
    """
    _refuse_old_torch()
    from tdev_core import backend, settings
    from tdev_core.mirror import adoption as mirror
    from tdev_core.mirror import module, standins
    from tdev_core.shims import serialization

    try:
        settings.check()
        match backend.current():
            case backend.Backend.SIM:
                from tdev_core.accelerators import sim

                sim.activate()
            case backend.Backend.MLX:
                from tdev_core.accelerators import mlx

                mlx.activate()
            case backend.Backend.CPU:
                from tdev_core.accelerators.cpu import heap

                heap.mark()  # memory is counted from here on
            case backend.Backend.CUDA | backend.Backend.MPS:
                pass
        backend.availability()
        if os.environ.get("TDEV_TUNE"):
            from tdev_core.measure.tuning import applying

            applying.apply_setting()
    except ConfigError as error:
        exit_with(error)
    tools = (
        "tdev._shims",
        "tdev.shims",
        "tdev.standins",
        "tdev.tune",
        "tdev.monitoring",
        "tdev.numerics",
        "tdev.codemod",
        "tdev.codemod.__main__",
        "tdev.__main__",
        "tdev.pytest_plugin",
    )
    mirror.install_finder("tdev", {*own, *tools})
    standins.teach_torchscript()
    standins.allow_in_files()
    serialization.register()
    if backend.current() is not backend.Backend.CUDA:
        for watched in ("torch.cuda", "torch.version"):
            module.watch(sys.modules[watched])


def _refuse(kind: type[ImportError], message: str) -> NoReturn:
    """Raise what a program expects that does without torch where it is not there; end a command of ours in one paragraph."""
    if _command() is not None:
        exit_with(ConfigError(message))
    raise kind(message, name="torch")


def _refuse_old_torch() -> None:
    """Refuse a torch older than any that a mirror was made of; a newer one is served."""
    import torch

    found = re.match(r"(\d+)\.(\d+)", str(getattr(torch, "__version__", "")))
    if found is None or tuple(map(int, found.groups())) >= OLDEST:
        return
    oldest = ".".join(map(str, OLDEST))
    _refuse(
        ImportError,
        f"torch {torch.__version__} is older than any that tdev mirrors: it needs {oldest} or newer. Install "
        f"one: python -m pip install 'torch>={oldest}' (for a CPU alone, add --index-url {_CPU_INDEX}). "
        "Programs that have to stay on the old torch can still be rewritten for newer ones: "
        "python -m tdev.codemod.",
    )


def install_shims(package: str) -> None:
    """Install the generated list of shims of ``package``, unless CUDA is native or ``TDEV_SHIMS=0``; watch what is called then."""
    from tdev_core.compiler import dynamo
    from tdev_core.metrics import counters
    from tdev_core.mirror import report
    from tdev_core.shims import install as shims

    if shims.wanted():
        importlib.import_module(f"{package}.shims").install()
    dynamo.prepare()  # after the shims, which it teaches the compiler if that is there already
    if counters.enabled():
        try:
            report.print_at_exit()  # after the shims: one of them may answer in place of the method that is watched
        except ConfigError as error:
            exit_with(error)
