"""Build the C++ part of extensions that have CUDA sources, too, where the active device is not CUDA.

An extension whose C++ sources stand alone has a CPU source: that is built, without nvcc, CUDA's libraries and the macros by
which its C++ calls CUDA. One that needs its CUDA sources is refused, by the names of its kernels.

Source: ``torch/utils/cpp_extension.py`` of torch 2.11 to 2.15.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch.utils import cpp_extension

from tdev_core.errors import DeviceWarning, TdevError, UnsupportedError, outside, warn_once
from tdev_core.packages.cuda_sources import (
    Kernel,
    asks_for_cuda,
    compiled,
    cuda_header,
    kernels,
    lent,
    with_headers,
)  # fmt: skip

__all__ = ["cuda_extension", "load", "load_inline"]

_CUDA = (".cu", ".cuh")
_LIBRARY = re.compile(
    r"^(?:-l)?(?:cuda|cudart(?:_static)?|cudadevrt|cublas\w*|cudnn\w*|cufft\w*|curand|cusolver\w*|cusparse\w*|nvrtc\S*|nccl"
    r"|nvToolsExt|nvjpeg|npp\w+|c10_cuda|torch_cuda\w*)$"
)


def load(name: str, sources: str | Sequence[str], **options: Any) -> Any:
    """Build and load an extension as ``torch.utils.cpp_extension.load`` does; of CUDA sources, the C++ beside them.

    Raises:
        UnsupportedError: it has no C++ that stands alone, names its kernels and their files.
        RuntimeError: there is no ninja, or no compiler.
    """
    files = [sources] if isinstance(sources, str) else list(sources)
    cuda = [file for file in files if str(file).endswith(_CUDA)]
    if not cuda and not options.get("with_cuda"):
        return cpp_extension.load(name, files, **options)
    beside = [file for file in files if file not in cuda]
    found = _left_out(name, beside, cuda, options.get("extra_include_paths") or ())
    with _Building(name, ", ".join(beside), found):
        return cpp_extension.load(name, beside, **_without_cuda(options))


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    **options: Any,
) -> Any:
    """Build and load what is given as text, as ``torch.utils.cpp_extension.load_inline`` does; see :func:`load`.

    Raises:
        UnsupportedError: the CUDA text holds what the C++ text needs, names its kernels.
        RuntimeError: there is no ninja, or no compiler.
    """
    cpp = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    cuda = [cuda_sources] if isinstance(cuda_sources, str) else list(cuda_sources or ())
    if not cuda and not options.get("with_cuda"):
        return cpp_extension.load_inline(name, cpp, None, functions=functions, **options)
    named = {f"cuda_sources[{at}]": text for at, text in enumerate(cuda)}
    found = [kernel for file, text in named.items() for kernel in kernels(text, file)]
    asked = [functions] if isinstance(functions, str) else functions or ()
    text = compiled("\n".join(cpp))
    bound = "".join(f"\n&{function};" for function in asked) if text.strip() else ""
    _refuse_unless_whole(name, found, {"cpp_sources": text + bound}, named)
    with _Building(name, "cpp_sources", found):
        return cpp_extension.load_inline(
            name, cpp, None, functions=functions, **_without_cuda(options)
        )


def cuda_extension(name: str, sources: Sequence[str], *args: Any, **options: Any) -> Any:
    """Return ``CUDAExtension(name, sources, …)`` where it can be compiled, elsewhere a ``CppExtension`` of its C++.

    It can be where torch was built for CUDA and there is a toolkit: an extension is often compiled where no GPU is.

    Raises:
        UnsupportedError: it has no C++ that stands alone; names its kernels and their files.
    """
    if torch.version.cuda is not None and _has_nvcc():
        return cpp_extension.CUDAExtension(name, sources, *args, **options)
    cuda = [file for file in sources if str(file).endswith(_CUDA)]
    beside = [file for file in sources if file not in cuda]
    folders = args[0] if args else options.get("include_dirs") or ()
    _say(name, ", ".join(beside), _left_out(name, beside, cuda, folders))
    kept = {key: value for key, value in options.items() if key not in ("dlink", "dlink_libraries")}
    if macros := kept.get("define_macros"):
        kept["define_macros"] = [(m, v) for m, v in macros if not asks_for_cuda(f"{m}={v}")]
    if libraries := kept.get("libraries"):
        kept["libraries"] = [library for library in libraries if not _LIBRARY.match(library)]
    if flags := kept.get("extra_compile_args"):
        kept["extra_compile_args"] = _flags(
            flags.get("cxx", ()) if isinstance(flags, Mapping) else flags
        )
    if links := kept.get("extra_link_args"):
        kept["extra_link_args"] = _flags(links)
    return cpp_extension.CppExtension(name, beside, *args, **kept)


def _has_nvcc() -> bool:
    """Tell whether there is a toolkit's compiler; torch takes the folder of CUDA's libraries for a toolkit, too."""
    home = cpp_extension.CUDA_HOME
    return home is not None and shutil.which("nvcc", path=str(Path(home) / "bin")) is not None


def _left_out(
    name: str, beside: Sequence[str], cuda: Sequence[str], folders: Iterable[Any]
) -> list[Kernel]:
    """Return the kernels of the CUDA files, without which the C++ files are whole; refuse where they are not."""
    theirs = {file: Path(file).read_text(encoding="utf-8", errors="replace") for file in cuda}
    found = [kernel for file, text in theirs.items() for kernel in kernels(text, file)]
    for file in beside:
        Path(file).stat()  # one that is not there is the program's slip, and no lack of C++
    wheres = [Path(folder) for folder in folders]
    ours = {str(path): text for file in beside for path, text in with_headers(Path(file), wheres)}
    _refuse_unless_whole(name, found, ours, theirs)
    return found


def _refuse_unless_whole(
    name: str, found: Sequence[Kernel], ours: Mapping[str, str], theirs: Mapping[str, str]
) -> None:
    if not any(text.strip() for text in ours.values()):
        _refuse(name, found, "it has no C++ source")
    for file, text in ours.items():
        if header := cuda_header(text):
            _refuse(name, found, f"its {file} includes {header}")
    if borrowed := lent(ours, theirs):
        function, user = borrowed
        _refuse(name, found, f"its {user} uses {function}, which its CUDA sources alone define")


def _refuse(
    name: str, found: Sequence[Kernel], why: str, cause: BaseException | None = None
) -> NoReturn:
    raise UnsupportedError(
        f"the extension {name!r} needs CUDA: {_names(found)}, and {why}. Write them with torch's operators, or beside them "
        "C++ for the CPU that does not call them (under #ifndef WITH_CUDA, say), which is built where there is no CUDA; or "
        "run this on a machine with CUDA",
        "TDEV113",
    ) from cause


def _names(found: Sequence[Kernel]) -> str:
    if not found:
        return "its CUDA sources have no kernel that could be read"
    shown = ", ".join(map(str, found[:8])) + (f" and {len(found) - 8} more" * (len(found) > 8))
    return f"{'its kernels are' if len(found) > 1 else 'its kernel is'} {shown}"


def _say(name: str, built: str, found: Sequence[Kernel]) -> None:
    warn_once(
        f"the extension {name!r} is built from {built} alone, for tensors of the CPU; {_names(found)}, which is left out: "
        "there is no CUDA",
        DeviceWarning,
        code="TDEV313",
        key=("extension", name),
        stacklevel=outside(),
    )


class _Building:
    """Says what was built; names the kernels in what goes wrong. A lack of ninja is torch's to tell."""

    def __init__(self, name: str, built: str, found: Sequence[Kernel]) -> None:
        self.name, self.built, self.found = name, built, found

    def __enter__(self) -> None:
        cpp_extension.verify_ninja_availability()
        compiler = shlex.split(cpp_extension.get_cxx_compiler())[0]
        if not cpp_extension.IS_WINDOWS and shutil.which(compiler) is None:
            raise TdevError(
                f"the extension {self.name!r} has C++ for the CPU, which is built where there is no CUDA, and there is no C++ "
                f"compiler ({compiler}): install one, or name it in CXX"
            )

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        match error:
            case None:
                _say(self.name, self.built, self.found)
            case RuntimeError() | ImportError() | OSError() if not isinstance(
                error, FileNotFoundError
            ):
                why = f"its C++ alone is no extension: {_gist(str(error))}"
                _refuse(self.name, self.found, why, error)
            case _:  # the program's slip, such as a file that is not there
                pass


def _gist(text: str) -> str:
    """Return the line of a compiler's output that says what is wrong; the first line where none does."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [
        "it could not be loaded"
    ]
    return next((line for line in lines if re.search(r"\berror\b:|undefined", line)), lines[0])


def _without_cuda(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a build without nvcc, CUDA's libraries, and the macros that have C++ call CUDA."""
    kept = {**options, "with_cuda": False, "extra_cuda_cflags": None}
    for key in ("extra_cflags", "extra_ldflags"):
        kept[key] = _flags(options.get(key) or ())
    return kept


def _flags(flags: Iterable[str]) -> list[str]:
    return [
        flag
        for flag in flags
        if not _LIBRARY.match(flag)
        and not (flag.startswith("-D") and asks_for_cuda(flag.removeprefix("-D").strip()))
    ]
