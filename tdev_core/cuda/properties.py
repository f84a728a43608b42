"""Tell what devices can do, for backends other than CUDA.

Every fact is the host's or the device's own. What only an NVIDIA GPU has is 0 and documented as such. Under
``TDEV_SIM_PROFILE`` the answers are those of the device that was asked for (``tdev_core.accelerators.sim.profiles``).

*Compute capability* is ``(0, 0)``. Libraries compare it with the lowest capability that their CUDA-only
kernels need (``>= (8, 0)`` for flash attention, ``>= 7`` for Triton, ``sm_90`` for Hopper's), so anything
higher would send them into code that cannot run here; below every threshold is where their portable
code lives. ``None`` would break the comparisons themselves.
"""

from __future__ import annotations

import uuid
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from tdev_core.accelerator import accelerator
from tdev_core.accelerators import host
from tdev_core.accelerators.queues import device_of_index
from tdev_core.accelerators.sim import profiles
from tdev_core.backend import Backend, current
from tdev_core.devices import device_index

__all__ = [
    "CUDA_VERSION",
    "HIP_VERSION",
    "AbsentVersion",
    "DeviceProperties",
    "arch_list",
    "as_dict",
    "capability",
    "gencode_flags",
    "get",
    "is_bf16_supported",
    "is_tf32_supported",
    "name",
    "supported_dtypes",
]


class AbsentVersion(str):
    """A version that is taken apart as any other, and is false: nothing of that kind is compiled in.

    Pickled and copied it is a plain ``str``, so that what a program saves loads without tdev.
    """

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def _profile() -> profiles.Profile | None:
    """Return the device that ``sim`` was asked to be, if it was."""
    return profiles.active() if current() is Backend.SIM else None


def _version(build: str) -> str | None:
    profile = _profile()
    return profile.version if profile is not None and profile.build == build else None


CUDA_VERSION = _version("cuda") or AbsentVersion("0.0")
"""``torch.version.cuda`` on every backend but CUDA.

Programs that believe that they run on CUDA take the version apart (``int(torch.version.cuda.split(".")[0])``):
the answer is below every version that a kernel could ask for, as the capability is. Where a program asks
*whether* torch was built with CUDA, it is false, and codemod and ``tdev run`` make ``is None`` that question.
"""

HIP_VERSION = _version("hip")
"""``torch.version.hip`` on every backend but CUDA: None, except where ``sim`` was asked to be an AMD GPU."""


def name(device: Any = None) -> str:
    """Return what the device calls itself: the processor, the Apple GPU, or the simulated device."""
    index = device_index(device)
    profile = _profile()
    if profile is not None:
        return str(profile.properties["name"])
    match current():
        case Backend.CPU | Backend.CUDA:
            return host.name()
        case Backend.SIM:
            return f"tdev simulated accelerator {index} on {host.name()}"
        case Backend.MPS:
            import torch.backends.mps as mps

            return str(mps.get_name())
        case Backend.MLX:
            import mlx.core as mx

            if mx.default_device().type == mx.cpu:
                return host.name()
            return str(mx.device_info()["device_name"])


def capability(device: Any = None) -> tuple[int, int]:
    """``(0, 0)``: no CUDA compute capability, unless a profile has one. The module's docstring says why this and not another."""
    device_index(device)
    profile = _profile()
    return (0, 0) if profile is None else profile.capability


def arch_list() -> list[str]:
    """List the architectures that torch's kernels are compiled for: none, or those of the profile's wheels."""
    profile = _profile()
    return [] if profile is None else list(profile.arch_list)


def gencode_flags() -> str:
    """Return the flags that nvcc was given for them.

    Source: ``torch.cuda.get_gencode_flags``.
    """
    kinds = [arch.split("_") for arch in arch_list() if "_" in arch]
    return " ".join(
        f"-gencode compute=compute_{number},code={kind}_{number}" for kind, number in kinds
    )


def is_tf32_supported() -> bool:
    """Tell whether the device computes in TF32: no host does, a profile may."""
    profile = _profile()
    return profile is not None and profile.tf32


@dataclass(frozen=True)
class DeviceProperties:
    """The facts that ``torch.cuda.get_device_properties`` tells, and ``torch.xpu``'s names for the same."""

    name: str
    major: int
    """0, see the module's docstring."""
    minor: int
    """0."""
    total_memory: int
    """Bytes."""
    multi_processor_count: int
    """Processors that this process may use; cores of the GPU on MPS."""
    is_integrated: int
    """1: host and device share memory."""
    is_multi_gpu_board: int
    """0."""
    max_threads_per_multi_processor: int
    """1: a processor of the host runs one thread at a time. 0 (unknown) on MPS."""
    warp_size: int
    """1: no threads run in lockstep. 0 (unknown) on MPS."""
    uuid: uuid.UUID
    """Stays the same for this machine and device."""
    L2_cache_size: int
    """Bytes of one level 2 cache, 0 where the system does not say."""
    clock_rate: int
    """Current processor clock in kHz, 0 where there is no sensor."""
    gcnArchName: str = ""
    """Empty: no AMD GPU."""
    memory_clock_rate: int = 0
    """0: not known."""
    memory_bus_width: int = 0
    """0: not known."""
    shared_memory_per_block: int = 0
    """0: there is no such memory, nor blocks; likewise the next fields."""
    shared_memory_per_block_optin: int = 0
    shared_memory_per_multiprocessor: int = 0
    regs_per_multiprocessor: int = 0
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0
    vendor: str = ""
    platform_name: str = ""
    driver_version: str = ""
    type: str = ""
    has_fp16: bool = True
    has_fp64: bool = True
    has_atomic64: bool = True

    @property
    def max_compute_units(self) -> int:
        """``torch.xpu``'s name for :attr:`multi_processor_count`."""
        return self.multi_processor_count

    @property
    def gpu_eu_count(self) -> int:
        """``torch.xpu``'s name for :attr:`multi_processor_count`."""
        return self.multi_processor_count

    @property
    def last_level_cache_size(self) -> int:
        """``torch.xpu``'s name; the level 2 cache is the one that is known."""
        return self.L2_cache_size

    @property
    def is_integrated_gpu(self) -> bool:
        """``torch.xpu``'s name for :attr:`is_integrated`."""
        return bool(self.is_integrated)


def _total(index: int) -> int:
    if current() is Backend.MPS:
        return int(torch.mps.recommended_max_memory())
    return accelerator().total(index)


def _units() -> int:
    if current() is Backend.MPS:
        import torch.backends.mps as mps

        return int(mps.get_core_count())
    return host.cores()


_OF_A_GPU: dict[str, Any] = dict(
    is_integrated=0, max_threads_per_multi_processor=0, warp_size=0, L2_cache_size=0, clock_rate=0
)
"""Facts of the host that are none of a GPU whose profile does not tell them."""


def get(device: Any = None) -> DeviceProperties:
    """Return the properties of ``device``."""
    index = device_index(device)
    on_host = current() is not Backend.MPS
    clock = host.clock_mhz() if on_host else None
    profile = _profile()
    found = DeviceProperties(
        name=name(index),
        major=0,
        minor=0,
        total_memory=_total(index),
        multi_processor_count=_units(),
        is_integrated=1,
        is_multi_gpu_board=0,
        max_threads_per_multi_processor=1 if on_host else 0,
        warp_size=1 if on_host else 0,
        uuid=uuid.uuid5(host.identifier(), f"{current().value}:{index}"),
        L2_cache_size=host.cache_bytes() if on_host else 0,
        clock_rate=int((clock or 0) * 1000),
        platform_name="tdev",
        driver_version=torch.__version__.partition("+")[0],
        type=current().value,
        has_fp64=on_host,
    )
    if profile is None:
        return found
    return replace(found, **{**_OF_A_GPU, **profile.properties}, has_fp64=profile.build != "mps")


def as_dict(properties: Any) -> dict[str, Any]:
    """Properties as a dictionary, the form that ``torch.mtia`` gives them in."""
    if isinstance(properties, DeviceProperties):
        return asdict(properties)
    return {key: getattr(properties, key) for key in dir(properties) if not key.startswith("_")}


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Tell whether the device computes in bfloat16.

    With ``including_emulation=False``: whether its processor has instructions for it.
    """
    profile = _profile()
    if profile is not None and (profile.bf16 or not including_emulation):
        return profile.bf16
    if not including_emulation and current() is not Backend.MPS:
        told = torch.cpu.get_capabilities()
        return any(told.get(key, False) for key in ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16"))
    try:
        one = torch.ones(1, dtype=torch.bfloat16, device=device_of_index(0))
        return bool((one + one).float().item() == 2.0)
    except (RuntimeError, TypeError):
        return False


def supported_dtypes(device: Any = None) -> dict[str, Any]:
    """``{"supported_dtypes": …}``: the dtypes in which the device holds and converts tensors.

    Source: ``torch.accelerator.get_device_capability``.
    """
    place = device_of_index(device_index(device))
    found = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # half-precision complex numbers warn that they are new
        for dtype in {value for value in vars(torch).values() if isinstance(value, torch.dtype)}:
            try:
                torch.empty(1, dtype=torch.float32, device=place).to(dtype)
            except (RuntimeError, TypeError, NotImplementedError):
                continue
            found.add(dtype)
    return {"supported_dtypes": found}
