"""Lists packages that program the GPU themselves, and what each runs on beside CUDA.

Each entry was compared with the package's present state on the day that :data:`CHECKED` tells; ``source``
says where that was read, a release on PyPI by its name and version (its description and its wheels).
"""

from __future__ import annotations

from dataclasses import dataclass

CHECKED = "2026-11-22"
"""When the entries were compared with their sources."""


@dataclass(frozen=True)
class Package:
    """What a package is, and the devices beside CUDA that it runs on, in words; empty: CUDA only."""

    what: str
    beside: str = ""
    source: str = ""
    loads_anywhere: bool = False
    """Whether it can be imported where there is no GPU of its kind, and fails when it is used."""

    @property
    def needs_cuda(self) -> bool:
        """Whether nothing that imports it can be imported without ``torch.cuda``, which ROCm's torch has, too."""
        return not self.loads_anywhere and self.beside in ("", "ROCm")


PACKAGES = {
    "cupy": Package("NumPy for CUDA", "ROCm", "PyPI: cupy 14.2.0, which names cupy-rocm-7-0"),
    "cupyx": Package("NumPy for CUDA", "ROCm", "the same distribution as cupy"),
    "pycuda": Package("CUDA driver bindings", source="PyPI: pycuda 2026.1, source alone"),
    "pynvml": Package(
        "NVIDIA's management library",
        source="PyPI: nvidia-ml-py 13.615.71, pynvml 13.0.1, pure Python",
        loads_anywhere=True,
    ),
    "py3nvml": Package(
        "NVIDIA's management library",
        source="PyPI: py3nvml 0.2.7, pure Python",
        loads_anywhere=True,
    ),
    "nvidia_smi": Package(
        "NVIDIA's management library",
        source="a module of nvidia-ml-py3; nvidia-smi 0.1.3 on PyPI is something else",
        loads_anywhere=True,
    ),
    "apex": Package(
        "NVIDIA's extensions",
        "ROCm",
        "https://github.com/ROCm/apex, a fork (pull request 296); apex on PyPI is something else",
    ),
    "triton": Package(
        "a GPU kernel language",
        "ROCm and XPU",
        "torch/utils/_triton.py of torch 2.13 (XPU); https://github.com/pytorch/pytorch/issues/112997 (ROCm); "
        "PyPI: triton 3.9.0, wheels for Linux",
    ),
    "numba.cuda": Package(
        "CUDA kernels in numba",
        source="PyPI: numba-cuda 0.30.4; numba has the module everywhere",
        loads_anywhere=True,
    ),
    "flash_attn": Package(
        "attention kernels", "ROCm", "PyPI: flash-attn 2.8.3.post2, AMD ROCm Support"
    ),
    "tensorrt": Package("NVIDIA's inference engine", source="PyPI: tensorrt 11.4.0.106"),
    "torch_tensorrt": Package("NVIDIA's inference engine", source="PyPI: torch-tensorrt 2.14.0"),
    "nvidia.dali": Package("NVIDIA's data loader", source="PyPI: nvidia-dali-cuda120 2.4.0"),
    "transformer_engine": Package(
        "NVIDIA's fp8 kernels",
        "ROCm",
        "PyPI: transformer-engine 2.20.2 (CUDA 12 and 13); https://github.com/ROCm/TransformerEngine, a fork",
    ),
    "cudf": Package("data frames on CUDA", source="PyPI: cudf-cu12 26.10.2"),
    "bitsandbytes": Package(
        "quantisation kernels",
        "ROCm, XPU, Gaudi, Apple silicon and the CPU",
        "https://huggingface.co/docs/bitsandbytes/v0.50.2/en/installation.md; PyPI: bitsandbytes 0.50.2, "
        "wheels for macOS, Windows and Linux",
    ),
    "xformers": Package(
        "attention kernels",
        "ROCm",
        "https://github.com/facebookresearch/xformers/issues/1365; PyPI: xformers 0.0.35, OS independent",
        loads_anywhere=True,
    ),
    "fused_layer_norm_cuda": Package("an apex kernel", "ROCm", "as apex"),
    "cuda": Package("NVIDIA's Python bindings", source="PyPI: cuda-python 13.4.4"),
    "tilelang": Package(
        "a GPU kernel language",
        "ROCm, Metal, Ascend and the CPU",
        "https://deepwiki.com/tile-ai/tilelang/9-hardware-backends; PyPI: tilelang 0.1.15",
    ),
    "deep_ep": Package(
        "CUDA communication kernels",
        source="not on PyPI; DeepEP 1.2.1 as nixpkgs builds it, with cudaPackages alone",
    ),
    "causal_conv1d": Package(
        "a convolution kernel", "ROCm", "PyPI: causal-conv1d 1.7.0, prerequisites for AMD cards"
    ),
    "mamba_ssm": Package(
        "kernels of state-space models",
        "ROCm",
        "PyPI: mamba-ssm 2.3.2.post1, prerequisites for AMD cards",
    ),
}
