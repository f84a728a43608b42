"""Lists the functions of torch's private modules that tdev answers, and where; apart, since ``import tdev`` reads it.

Most are of ``torch._C`` and below, which lacks CUDA's in builds for other devices.

Source: ``torch/csrc/cuda/Module.cpp``, ``torch/csrc/autograd/python_nn_functions.cpp``.
"""

from __future__ import annotations

__all__ = ["NAMES"]

NAMES = {
    "torch._C": {
        "_cuda_attach_out_of_memory_observer": "tdev_core.cuda.bindings:attach_out_of_memory_observer",
        "_cuda_canDeviceAccessPeer": "tdev_core.cuda.device_selection:can_access_peer",
        "_cuda_cudaCachingAllocator_raw_alloc": "tdev_core.cuda.memory.allocator:raw_alloc",
        "_cuda_cudaCachingAllocator_raw_delete": "tdev_core.cuda.memory.allocator:delete",
        "_cuda_clearCublasWorkspaces": "tdev_core.cuda.bindings:clear_cublas_workspaces",
        "_cuda_emptyCache": "tdev_core.cuda.memory.usage:empty_cache",
        "_cuda_exchangeDevice": "tdev_core.cuda.bindings:exchange_device",
        "_cuda_getArchFlags": "tdev_core.cuda.bindings:arch_flags",
        "_cuda_getCompiledVersion": "tdev_core.cuda.bindings:compiled_version",
        "_cuda_getCurrentRawStream": "tdev_core.cuda.bindings:current_raw_stream",
        "_cuda_getCurrentStream": "tdev_core.cuda.bindings:current_stream",
        "_cuda_getDefaultStream": "tdev_core.cuda.bindings:default_stream",
        "_cuda_getDevice": "tdev_core.cuda.device_selection:current_device",
        "_cuda_getDeviceCount": "tdev_core.cuda.device_selection:device_count",
        "_cuda_init": "tdev_core.cuda.cudart:lazy_init",
        "_cuda_ipc_collect": "tdev_core.cuda.bindings:ipc_collect",
        "_cuda_isCurrentStreamCapturing": "tdev_core.cuda.graphs:is_current_stream_capturing",
        "_cuda_isInBadFork": "tdev_core.cuda.cudart:is_in_bad_fork",
        "_cuda_maybeExchangeDevice": "tdev_core.cuda.bindings:exchange_device",
        "_cuda_setDevice": "tdev_core.cuda.device_selection:set_device",
        "_cuda_memoryStats": "tdev_core.cuda.memory.usage:stats_nested",
        "_cuda_memorySnapshot": "tdev_core.cuda.memory.history:raw_snapshot",
        "_cuda_resetAccumulatedMemoryStats": "tdev_core.cuda.memory.usage:reset_accumulated",
        "_cuda_resetPeakMemoryStats": "tdev_core.cuda.memory.usage:reset_peak",
        "_cuda_setStream": "tdev_core.cuda.bindings:set_stream",
        "_cuda_sleep": "tdev_core.cuda.bindings:sleep",
        "_cuda_synchronize": "tdev_core.accelerators.streams:synchronize",
        "_host_emptyCache": "tdev_core.cuda.bindings:empty_host_cache",
    },
    "torch._C._nn": {
        "_parse_to": "tdev_core.cuda.bindings:parse_to",
    },
    "torch.nn.parallel._functions": {
        "Broadcast": "tdev_core.cuda.comm_functions:Broadcast",
        "Gather": "tdev_core.cuda.comm_functions:Gather",
        "ReduceAddCoalesced": "tdev_core.cuda.comm_functions:ReduceAddCoalesced",
        "Scatter": "tdev_core.cuda.comm_functions:Scatter",
    },
    "torch.utils.viz._cycles": {
        "observe_tensor_cycles": "tdev_core.cuda.memory.cycles:observe",
        "warn_tensor_cycles": "tdev_core.cuda.memory.cycles:warn",
    },
}
"""By module of torch, a name in it to ``module:attribute`` of what answers for it."""
