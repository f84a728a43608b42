"""Lists packages that program the GPU themselves, and what each runs on beside CUDA.

``source`` says where that was read; an entry with none was last read when it was first listed.
"""

from __future__ import annotations

from dataclasses import dataclass

CHECKED = "2026-11-22"
"""When the entries with a source were compared with the package's present state."""


@dataclass(frozen=True)
class Package:
    """What a package is, and the devices beside CUDA that it runs on, in words; empty: CUDA only."""

    what: str
    beside: str = ""
    source: str = ""
    loads_anywhere: bool = False
    """Whether it can be imported where there is no CUDA, and fails when it is used."""


PACKAGES = {
    "cupy": Package("NumPy for CUDA"),
    "cupyx": Package("NumPy for CUDA"),
    "pycuda": Package("CUDA driver bindings"),
    "pynvml": Package("NVIDIA's management library", loads_anywhere=True),
    "py3nvml": Package("NVIDIA's management library", loads_anywhere=True),
    "nvidia_smi": Package("NVIDIA's management library", loads_anywhere=True),
    "apex": Package("NVIDIA's extensions"),
    "triton": Package(
        "a GPU kernel language",
        "ROCm and XPU",
        "torch/utils/_triton.py of torch 2.13 (XPU); https://github.com/pytorch/pytorch/issues/112997 (ROCm)",
    ),
    "numba.cuda": Package("CUDA kernels in numba", loads_anywhere=True),
    "flash_attn": Package(
        "attention kernels",
        "ROCm",
        "https://raw.githubusercontent.com/Dao-AILab/flash-attention/main/setup.py, IS_ROCM",
    ),
    "tensorrt": Package("NVIDIA's inference engine"),
    "torch_tensorrt": Package("NVIDIA's inference engine"),
    "nvidia.dali": Package("NVIDIA's data loader"),
    "transformer_engine": Package("NVIDIA's fp8 kernels"),
    "cudf": Package("data frames on CUDA"),
    "bitsandbytes": Package(
        "quantisation kernels",
        "ROCm, XPU, Gaudi, Apple silicon and the CPU",
        "https://huggingface.co/docs/bitsandbytes/v0.50.2/en/installation.md",
    ),
    "xformers": Package(
        "attention kernels", "ROCm", "https://github.com/facebookresearch/xformers/issues/1365"
    ),
    "fused_layer_norm_cuda": Package("an apex kernel"),
    "cuda": Package("NVIDIA's Python bindings"),
    "tilelang": Package(
        "a GPU kernel language",
        "ROCm, Metal and the CPU",
        "https://deepwiki.com/tile-ai/tilelang/9-hardware-backends",
    ),
    "deep_ep": Package("CUDA communication kernels"),
    "causal_conv1d": Package(
        "a convolution kernel", "ROCm", "https://pypi.org/project/causal-conv1d/1.7.0/"
    ),
    "mamba_ssm": Package("CUDA kernels"),
}
