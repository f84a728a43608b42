"""``python -m tdev doctor``: eleven lines on what was found, what is active, and what would be faster.

Nothing here may end in a traceback: a torch that is missing or does not load is what a user calls the
doctor for.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tdev_core.commands.saying import say
from tdev_core.ecosystem.package_table import Package, packages, stand_ins
from tdev_core.errors import TdevError
from tdev_core.mirror import matrix
from tdev_core.packages import asking
from tdev_core.shims import calls

__all__ = ["main", "report_lines"]

# Files that a driver makes, whatever torch thinks of it.
_NVIDIA = (Path("/proc/driver/nvidia/version"), Path("/dev/nvidiactl"), Path("/dev/dxg"))
_AMD = (Path("/dev/kfd"),)


def main(argv: list[str]) -> int:
    """Print the findings; returns 0 where the mirror works, 2 where it does not."""
    if argv and argv[0] == "--perf":
        from tdev_core.commands.perf import main as perf

        return perf(argv[1:])
    if argv:
        asked = argv[0] in ("-h", "--help")
        text = "usage: python -m tdev doctor [--perf …]\n\nWhat was found, what is active, and what would be faster; with --perf what costs time."
        print(text, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    lines, works = report_lines()
    say("\n".join(lines))
    return 0 if works else 2


def version_lines() -> list[str]:
    """Return the lines of :func:`report_lines` that a bug report needs, which say what runs where."""
    lines, _ = report_lines()
    return [
        line for line in lines if line.partition(" ")[0] in ("tdev", "torch", "backend", "settings")
    ]


def report_lines() -> tuple[list[str], bool]:
    """Return the eleven lines, and whether the mirror can be used in this Python."""
    table, table_error = _guarded(matrix.load)
    torch, torch_error = _guarded(lambda: importlib.import_module("torch"))
    backend, reason, backend_error = _backend() if torch is not None else (None, "", None)
    error = torch_error or backend_error or table_error
    lines = [
        f"tdev      {_version('tdev', 'from source')} on Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}; calls in {calls.state()}",
        f"torch     {_torch_line(torch, torch_error, table)}",
        f"hardware  {_hardware(torch)}",
        f"backend   {f'{backend}, because {reason}' if backend else f'none: {backend_error or torch_error}'}",
        f"devices   {_devices(backend)}",
        *_answers(table, backend, table_error),
        f"fallback  {_fallback(backend)}",
        f"packages  {_packages(backend)}",
        f"settings  {_settings()}",
        f"faster    {_advice(torch, backend)}",
    ]
    return lines, error is None


def _guarded(what: Callable[[], Any]) -> tuple[Any, str | None]:
    """Return what ``what`` answers, or the error in one line."""
    try:
        return what(), None
    except TdevError as error:
        return None, str(error)
    except ModuleNotFoundError as error:
        if error.name == "torch":
            return None, (
                "torch is not installed; run: python -m pip install torch "
                "--index-url https://download.pytorch.org/whl/cpu, or take the build for your hardware"
            )
        return None, f"importing it fails with {_one_line(error)}"
    except Exception as error:  # a broken torch raises whatever it likes
        return None, f"importing it fails with {_one_line(error)}"


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _backend() -> tuple[str | None, str, str | None]:
    from tdev_core import backend

    active, error = _guarded(backend.current)
    return (None, "", error) if active is None else (active.value, backend.reason(), None)


def _version(package: str, otherwise: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return otherwise


def _torch_line(torch: Any, error: str | None, table: matrix.Table | None) -> str:
    if torch is None:
        return f"unusable: {error}"
    installed = str(torch.__version__)
    if table is None:
        return f"{installed}; the mirror's own version is unknown"
    from tdev_core.mirror import versions  # it needs the torch that is there

    if not versions.differs(table.torch):
        return f"{installed}; the mirror was generated from {table.torch}: they match"
    return (
        f"{installed}; the mirror was generated from {table.torch}: names that one of them lacks raise "
        "when they are used"
    )


def _hardware(torch: Any) -> str:
    parts = [f"CPU with {os.cpu_count()} logical cores"]
    if torch is not None:
        if torch.cuda.is_available():
            names = Counter(
                torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())
            )
            parts += [f"{count} × {name} (CUDA)" for name, count in names.items()]
        if torch.backends.mps.is_available():
            parts.append("Apple GPU (MPS)")
        if torch.xpu.is_available():
            parts.append(f"{torch.xpu.device_count()} × Intel GPU (XPU)")
    if len(parts) == 1:
        parts.append(
            "an NVIDIA driver, not used by torch"
            if _present(_NVIDIA)
            else (
                "an AMD driver, not used by torch"
                if _present(_AMD)
                else "no accelerator that torch can use"
            )
        )
    mlx = _version("mlx", "")
    parts.append(f"MLX {mlx} installed" if mlx else "MLX not installed")
    return "; ".join(parts)


def _present(files: tuple[Path, ...]) -> bool:
    return any(path.exists() for path in files)


def _devices(backend: str | None) -> str:
    if backend is None:
        return "none"
    from tdev_core import backend as active

    available, error = _guarded(active.availability)
    if error:
        return error
    target = "itself" if backend == "cuda" else repr(backend)
    return f"'cuda' means {target}; tdev.cuda.is_available() is {available}"


def _answers(table: matrix.Table | None, backend: str | None, error: str | None) -> list[str]:
    """Return two lines: by which routes functions are answered, and which are not."""
    if table is None or backend is None:
        why = error or "no backend is active"
        return [f"routes    unknown: {why}", "missing   unknown"]
    routed = [row for row in table.rows if row.mirror in ("routed", "bound")]
    counts = Counter(row.cells[backend].route for row in routed)
    missing = sorted(row.name for row in routed if row.cells[backend].route == "unsupported")
    ways = ", ".join(
        f"{number} {route}" for route, number in counts.most_common() if route != "unsupported"
    )
    translated = sum(row.mirror == "translated" for row in table.rows)
    shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
    return [
        f"routes    of {len(routed)} device functions on {backend}: {ways}; {translated} more and "
        f"{table.shims} methods translate their device",
        f"missing   {len(missing)} unsupported{f' ({shown})' if shown else ''}; list them: "
        f"python -m tdev matrix --backend {backend} --route unsupported",
    ]


def _fallback(backend: str | None) -> str:
    match backend:
        case "mps":
            on = os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK", "1") not in ("", "0")
            return (
                "operators without a Metal kernel run on the CPU (PYTORCH_ENABLE_MPS_FALLBACK)"
                if on
                else "off: operators without a Metal kernel raise (PYTORCH_ENABLE_MPS_FALLBACK=0)"
            )
        case "mlx":
            from tdev_core.accelerators.mlx import native

            return f"operators without a kernel run on the CPU, with one FallbackWarning each; {native.state()}"
        case "sim":
            from tdev_core.accelerators.sim import native as sim_native

            return f"none: every operator runs where its tensors are; {sim_native.state()}"
        case "cuda" | "cpu":
            return "none: every operator runs where its tensors are"
        case _:
            return "unknown"


def _packages(backend: str | None) -> str:
    """Say for which packages a stand-in would answer, and which are there that this machine cannot run."""
    if backend is None:
        return "unknown"
    found, error = _guarded(lambda: [name for name in stand_ins() if asking.is_standing(name)])
    if error:
        return error
    answers = (
        f"stand-ins answer under tdev run for {', '.join(found)}"
        if found
        else "no stand-in answers"
    )
    said = [
        f"{one.name} ({one.runs_on}: use {one.instead})"
        for one in packages().values()
        if one.answer in ("interpreter", "none") and _is_installed(one)
    ]
    if backend == "cuda" or not said:
        return answers
    return f"{answers}; installed for other devices: {'; '.join(said)}"


def _is_installed(package: Package) -> bool:
    """Tell whether a package is there, without importing it; the module of one in a library is no sign of it."""
    if package.loads:
        return False
    try:
        return find_spec(package.name) is not None
    except (ImportError, ValueError):
        return False


def _settings() -> str:
    names = sorted(
        name
        for name in os.environ
        if name.startswith("TDEV_") or name == "PYTORCH_ENABLE_MPS_FALLBACK"
    )
    return ", ".join(f"{name}={os.environ[name]}" for name in names) or "no TDEV_ variable is set"


def _advice(torch: Any, backend: str | None) -> str:
    if torch is None:
        return "install a torch that imports; see the line 'torch'"
    if backend is None:
        return "correct what the line 'backend' says"
    if backend == "cuda":
        return "nothing to add: names are torch's own, a call through the mirror costs nothing"
    if torch.cuda.is_available():
        return "unset TDEV_BACKEND: a CUDA device is there and not used"
    if backend != "mps" and torch.backends.mps.is_available():
        return "unset TDEV_BACKEND: an Apple GPU is there and not used"
    if backend == "mps":
        return "training: nothing to add; inference: TDEV_BACKEND=mlx may suit, measure it"
    if _present(_NVIDIA):
        return (
            f"an NVIDIA driver is there, but torch {torch.__version__} cannot use it: install a CUDA "
            "build of torch, and check CUDA_VISIBLE_DEVICES"
        )
    if _present(_AMD):
        return "an AMD driver is there: install a ROCm build of torch"
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return "this torch cannot use the Apple GPU: it needs macOS 14 or newer and an arm64 Python"
    if backend == "sim":
        return "sim is for tests: unset TDEV_BACKEND for real work"
    if backend == "mlx" and sys.platform != "darwin":
        return "unset TDEV_BACKEND: without Metal, MLX computes on the CPU, more slowly than torch does"
    threads, cores = torch.get_num_threads(), os.cpu_count() or 1
    if threads < cores // 2:
        return f"torch uses {threads} of {cores} logical cores: raise OMP_NUM_THREADS"
    if find_spec("mlx") is None and sys.platform == "darwin":
        return "install MLX (pip install 'tdev[mlx]')"
    return "an accelerator: none was found; torch.compile and bfloat16 help on a CPU"
