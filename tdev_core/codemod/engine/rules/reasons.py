"""Says in a line why a name that does not speak of CUDA is taken from tdev."""

from __future__ import annotations

_LOADS = "without map_location it loads to where the tensors were saved"
_GROUPS = "its backend may be NCCL, which CUDA alone has"
_NCCL = "what is asked or answered may be NCCL, which CUDA alone has"
_FUTURE = "NCCL's work has a future, which the answer has everywhere"
_TYPE = "it is for CUDA unless it is told a device type"
_KERNELS = "it chooses among CUDA's kernels"
_GPUS = "it spreads work over GPUs"
_CYCLES = "it watches CUDA's memory, and tdev's that of the device in use"
_EXTENSION = "off CUDA it is built from its C++ alone, where that is whole, or refused by the names of its kernels"

_BY_LAST = {
    "load": _LOADS,
    "load_state_dict_from_url": _LOADS,
    "load_url": _LOADS,
    "Generator": "torch makes none for a device that is registered with it, as mlx is",
    "script": "the compiled graph holds a device, which tdev translates",
    "init_process_group": _GROUPS,
    "new_group": _GROUPS,
    "new_subgroups": _GROUPS,
    "new_subgroups_by_enumeration": _GROUPS,
    "split_group": _GROUPS,
    "get_backend": _NCCL,
    "get_backend_config": _NCCL,
    "is_backend_available": _NCCL,
    "is_nccl_available": _NCCL,
    "reduce_scatter": _FUTURE,
    "reduce_scatter_single": _FUTURE,
    "reduce_scatter_tensor": _FUTURE,
    "init_device_mesh": "it is given a device type",
    "GradScaler": _TYPE,
    "custom_bwd": _TYPE,
    "custom_fwd": _TYPE,
    "fork_rng": _TYPE,
    "set_device_states": _TYPE,
    "is_autocast_enabled": _TYPE,
    "set_autocast_enabled": _TYPE,
    "get_autocast_gpu_dtype": "it is CUDA's",
    "set_autocast_gpu_dtype": "it is CUDA's",
    "set_default_tensor_type": "it is given a type of CUDA's tensors",
    "emit_nvtx": "it annotates for NVIDIA's profiler",
    "to_sparse_semi_structured": "it is for CUDA's sparse tensor cores",
    "cuda": "it is a version off CUDA too, one that is false",
    "cufft_plan_cache": "it belongs to a CUDA device",
    "preferred_blas_library": "it chooses among CUDA's libraries",
    "preferred_linalg_library": "it chooses among CUDA's libraries",
    "sdp_kernel": _KERNELS,
    "sdpa_kernel": _KERNELS,
    "flex_attention": _KERNELS,
    "varlen_attn": _KERNELS,
    "observe_tensor_cycles": _CYCLES,
    "warn_tensor_cycles": _CYCLES,
}


def reason(name: str) -> str:
    """Return why ``name`` is tdev's; empty where the name says CUDA, or its device is in the call."""
    if "cuda" in name.split(".")[1:2]:
        return ""
    if name.startswith("torch.nn.parallel."):
        return _GPUS
    if name.startswith("torch.utils.cpp_extension."):
        return _EXTENSION
    return _BY_LAST.get(name.rpartition(".")[2], "")
