"""The meaning of the numbers of tdev's errors and warnings.

1xx is raised as UnsupportedError; 2xx, 3xx and 4xx are warned of as FallbackWarning, DeviceWarning and InternalsWarning. A
number keeps its meaning for good, and one that is no longer used is not given again.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CODES", "KINDS", "Code"]

KINDS = {
    "1": "UnsupportedError",
    "2": "FallbackWarning",
    "3": "DeviceWarning",
    "4": "InternalsWarning",
}
"""The class of an error or a warning, by the first digit of its number."""


@dataclass(frozen=True)
class Code:
    """The meaning of a number.

    Attributes:
        number: ``TDEV101``.
        title: one line.
        means: what has happened, and why.
        remedy: what to do.
    """

    number: str
    title: str
    means: str
    remedy: str

    @property
    def kind(self) -> str:
        """The class of the errors or warnings with this number."""
        return KINDS[self.number.removeprefix("TDEV")[0]]


_ALL = (
    Code(
        "TDEV101",
        "This function has no true answer on the active backend",
        "The function asks for something that only CUDA has (a CUDA graph's handle, a sensor, a "
        "driver call), and any value would have the program believe something false. The message "
        "names the function and the backend, and says what to call instead. `python -m tdev "
        "matrix NAME` shows how every backend answers it.",
        "Call what the message names; or ask first: the error is a `NotImplementedError` and a "
        "`RuntimeError`, which programs that probe for a feature catch already. Where the code is"
        " for CUDA alone, run it only if `tdev.device_type() == 'cuda'`.",
    ),
    Code(
        "TDEV102",
        "A name of torch's that is newer than this mirror",
        "The installed torch has a name in one of the packages for devices (`torch.cuda`, "
        "`torch.accelerator`, …) that no torch had from which this mirror was generated. On CUDA "
        "it is torch's own; elsewhere nobody has decided yet what it means.",
        "Update tdev; or regenerate the mirror against the installed torch (`nox -s upgrade -- "
        "VERSION` in a clone); or call torch's own.",
    ),
    Code(
        "TDEV103",
        "The stand-in for a package lacks this",
        "A package for CUDA is not installed, and tdev's stand-in answers for the part of it that"
        " programs use. This name, module or option is not of that part.",
        "The message names torch's own function for the same, and the command that installs the "
        "package on a machine with CUDA. `TDEV_STANDINS=0` turns stand-ins off: the import then "
        "fails as it does without tdev. docs/packages/index.md lists what they have.",
    ),
    Code(
        "TDEV104",
        "A function of libdevice that Triton's interpreter does not know",
        "Off CUDA, Triton's kernels run in its interpreter. libdevice is NVIDIA's library of "
        "mathematics; tdev has a table of its functions for the interpreter, and this one is not "
        "in it.",
        "Write it with functions of `triton.language`, or run this kernel on CUDA.",
    ),
    Code(
        "TDEV105",
        "This torch is built without gloo",
        "Off CUDA, gloo carries the collectives that NCCL carries there, and this build of torch "
        "has none.",
        "Run in one process, or install a torch with gloo: PyTorch's own wheels for Linux and "
        "macOS have it.",
    ),
    Code(
        "TDEV106",
        "More elements in one dimension than MLX can count",
        "MLX counts the elements of a dimension in 32 bits.",
        "Use more dimensions (a tensor of 3 x 2³⁰ instead of one of 3·2³⁰), or keep that tensor "
        "on the CPU.",
    ),
    Code(
        "TDEV107",
        "Device mlx in a forked process",
        "MLX's threads do not survive `fork()`: an operation in a child of a process that has "
        "used the device would wait for ever.",
        'Start workers anew, `multiprocessing.set_start_method("spawn")`, or keep the device out '
        "of them: workers of a DataLoader return CPU tensors, and the training process moves "
        "them.",
    ),
    Code(
        "TDEV108",
        "An operator would leave the device, and TDEV_STRICT forbids it",
        "Device mlx has no kernel for the operator. Without `TDEV_STRICT` it would run on the CPU"
        " and come back, with one TDEV201.",
        "Leave `TDEV_STRICT` unset, or move the tensors to the CPU yourself around the operator.",
    ),
    Code(
        "TDEV109",
        "The device has no tensors of this layout",
        "Sparse, nested or quantized tensors are made by kernels that the device does not have; "
        "the message names the layout.",
        "Make the tensor on the CPU and move dense results, or use the layout that the message "
        "names.",
    ),
    Code(
        "TDEV110",
        "A package for CUDA is not installed, or not whole",
        "The program imports a package that programs the GPU itself. It is not installed, and tdev "
        "has no stand-in that may answer for it; or it is installed and cannot be imported, since its compiled part or a library "
        "of CUDA's is lacking, and what is installed is never replaced. The error is a `ModuleNotFoundError`, too.",
        "The message names what does the same without it, and the command that installs it on a "
        "machine that it runs on. docs/packages/index.md lists such packages.",
    ),
    Code(
        "TDEV113",
        "An extension in C++ and CUDA needs its CUDA sources",
        "`torch.utils.cpp_extension` was asked for an extension with CUDA sources, and there is no CUDA. Where its C++ sources "
        "stand alone they are built, and what was left out is said (TDEV313). These do not: they include CUDA's headers, use "
        "a function that the CUDA sources define, or there are none. The message names the kernels and their files.",
        "Write what the kernels compute with torch's operators, and use that where there is no CUDA; or add C++ for the CPU, "
        "with every use of the CUDA sources under `#ifdef WITH_CUDA` and `-DWITH_CUDA` in the flags: off CUDA that macro is "
        "left out of the flags, as is every one that is named for CUDA.",
    ),
    Code(
        "TDEV201",
        "An operator runs on the CPU and comes back",
        "The accelerator has no kernel for the operator: its inputs are copied to the CPU, the "
        "CPU's kernel runs, and the results are copied back. The values are right; the step takes"
        " longer. Said once for each operator; `tdev.report()` counts all.",
        "Nothing, if it is not in the step's loop. `TDEV_STRICT=1` turns it into an error "
        "(TDEV108), to find the place. Where it costs too much: another operator that "
        "`python -m tdev matrix` lists as native, or that part on the CPU.",
    ),
    Code(
        "TDEV301",
        "A device index that does not exist here was folded to 0",
        "The program names `cuda:1`, and this machine's accelerator is one device: all indices "
        "mean it. Said once for each index.",
        "Nothing, if the program only spreads its work. Where two devices are needed (a test of "
        "peer copies), `TDEV_BACKEND=sim TDEV_SIM_DEVICES=2` has them; with `TDEV_SIM_STRICT=1` a"
        " device that does not exist is an error, as on CUDA.",
    ),
    Code(
        "TDEV302",
        "A library put a model on the CPU beside an accelerator",
        "The library chooses the device itself and is not rewritten, so that it sees no CUDA and "
        "takes the CPU.",
        "`python -m tdev run --library NAME …`, or `libraries = [NAME]` in `[tool.tdev]`: it is "
        "then rewritten as it is imported.",
    ),
    Code(
        "TDEV303",
        "Code that asks for CUDA was left as it is",
        "It lies neither beside the script nor below the working directory, in the same git "
        "repository or in a project that is installed editable: `tdev run` takes it for somebody "
        "else's.",
        "`python -m tdev run --root FOLDER …`, or `tdev_roots` in pytest's settings, with the "
        "folder that the message names.",
    ),
    Code(
        "TDEV304",
        "torch.compile uses another backend than was asked for",
        "The backend that was named compiles for CUDA (or needs a compiler that is not here); the"
        " message names the one that takes its place. Results are the same.",
        "Name the other backend, or none; for Inductor on the CPU, install a C++ compiler.",
    ),
    Code(
        "TDEV305",
        "The attention kernels that were named are not here",
        "`sdpa_kernel` or `activate_flash_attention_impl` named kernels for CUDA. The math "
        "kernel, or the device's own, computes the same.",
        "Nothing; or name `SDPBackend.MATH` as well.",
    ),
    Code(
        "TDEV306",
        "Autocast uses bfloat16 instead of the type that was asked for",
        "The device's autocast has no float16.",
        "Ask for `torch.bfloat16`; a GradScaler is then not needed.",
    ),
    Code(
        "TDEV307",
        "An option for CUDA has no effect here",
        "It chooses between libraries for CUDA, tunes CUDA's products of matrices, or limits "
        "CUDA's memory. It is kept and can be read again; nothing else changes.",
        "Nothing; for a limit of memory, use ulimit or a container's.",
    ),
    Code(
        "TDEV308",
        "gloo carries the collectives, or chooses the network interface, on its own",
        "`NCCL_SOCKET_IFNAME` matches no interface of this host; or MLX was launched with ranks "
        "that are not torch's, or could not connect them. gloo is used then.",
        "Set `GLOO_SOCKET_IFNAME`; or give MLX and torch the same ranks.",
    ),
    Code(
        "TDEV309",
        "float64 is float32 on this device",
        "Metal has no 64-bit floating point, and no type was named in the call: the default of "
        "torch was float64.",
        "Name the type, or `torch.set_default_dtype(torch.float32)`. Asking for float64 by name "
        "is an error, as in torch.",
    ),
    Code(
        "TDEV310",
        "A stand-in answers for a package that is not installed",
        "The package is for CUDA alone; what programs call of it is answered with torch's own "
        "functions.",
        "Nothing; `TDEV_STANDINS=0` turns it off, and `tdev.report()` lists what was stood in for.",
    ),
    Code(
        "TDEV311",
        "Triton's kernels run in its interpreter",
        "There is no GPU to compile them for. The interpreter computes the same on the CPU, "
        "slowly: for tests, not for training.",
        "Make the inputs of tests small; `TDEV_TRITON=0` turns it off.",
    ),
    Code(
        "TDEV313",
        "The C++ part of an extension is built, without its CUDA sources",
        "There is no CUDA. The extension's C++ sources stand alone, and were built without the CUDA sources, without CUDA's "
        "libraries and without the macros that are named for CUDA.",
        "Nothing, where its functions get tensors of the CPU. Tensors of another device have to be moved there first.",
    ),
    Code(
        "TDEV401",
        "A private part of torch is not what it was",
        "tdev relies on it, and torch has changed it. The message says which feature does not "
        "work; everything else does.",
        "Update tdev, and report the message with the output of `python -m tdev version`.",
    ),
)
CODES = {one.number: one for one in _ALL}
