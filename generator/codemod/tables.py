"""Curated for the codemod: which names depend on the device, which parameters are devices, what is generic.

What the installed torch tells by itself is not here (``names.py``); each entry says why it is.
"""

from __future__ import annotations

__all__ = [
    "ACCELERATOR",
    "DEVICE_METHODS",
    "DEVICE_PARAMS",
    "EXTRA_MODULES",
    "LEFT",
    "ROUTED",
    "ROUTED_MODULES",
]

# Modules whose every public name depends on the device.
ROUTED_MODULES = ("torch.cuda",)

# Public modules with such names that `import torch` does not load by itself.
EXTRA_MODULES = (
    "torch.distributed.pipelining",
    "torch.distributed.pipelining.stage",
    "torch.distributed.tensor",
    "torch.export.passes",
    "torch.nn.attention.flex_attention",
    "torch.nn.attention.varlen",
    "torch.nn.parallel._functions",
    "torch.utils.cpp_extension",
    "torch.utils.model_zoo",
    "torch.utils.viz._cycles",
)

# Names outside of them. Upstream: docs.pytorch.org/docs/stable, the page named on the line.
ROUTED = (
    "torch.amp.GradScaler",  # amp.html: device="cuda" by default
    "torch.GradScaler",
    "torch.amp.custom_bwd",  # amp.html: device_type
    "torch.amp.custom_fwd",  # amp.html: device_type
    "torch.amp.autocast_mode.custom_bwd",
    "torch.amp.autocast_mode.custom_fwd",
    "torch.autograd.profiler.emit_nvtx",  # autograd.html: annotates for NVIDIA's profiler
    "torch.backends.cuda.cufft_plan_cache",  # backends.html: of a CUDA device
    "torch.backends.cuda.is_built",  # backends.html: what is_available() implies
    "torch.backends.cuda.preferred_blas_library",  # backends.html: chooses among CUDA's
    "torch.backends.cuda.preferred_linalg_library",
    "torch.backends.cuda.sdp_kernel",  # backends.html: chooses among CUDA's
    *(
        f"torch.distributed.{home}{name}"
        for home in ("", "distributed_c10d.")
        for name in (
            "get_backend",  # distributed.html: code compares the answer with "nccl"
            "get_backend_config",  # the same
            "init_process_group",  # distributed.html: backend="nccl"
            "is_backend_available",  # distributed.html: "nccl"
            "is_nccl_available",  # distributed.html
            "new_group",  # distributed.html: backend="nccl", as in the next three
            "new_subgroups",
            "new_subgroups_by_enumeration",
            "split_group",
            "reduce_scatter",  # distributed.html: NCCL's work has a future, gloo's has none
            "reduce_scatter_single",
            "reduce_scatter_tensor",
        )
    ),
    "torch.distributed.init_device_mesh",  # distributed.html: device_type
    "torch.distributed.device_mesh.init_device_mesh",  # distributed.html: device_type
    "torch.distributed.tensor.init_device_mesh",  # the same
    "torch.get_autocast_gpu_dtype",  # deprecated in favour of torch.get_autocast_dtype("cuda")
    "torch.load",  # torch.html: without map_location, to where it was saved from
    "torch.serialization.load",  # the same
    "torch.jit.load",  # the same
    "torch.hub.load_state_dict_from_url",  # the same
    "torch.utils.model_zoo.load_url",  # the same
    "torch.export.load",  # export.html: where the weights and the graph were when it was saved
    "torch.nn.attention.flex_attention.flex_attention",  # its kernels are CUDA's
    "torch.nn.attention.sdpa_kernel",  # nn.attention.html: chooses among CUDA's kernels
    "torch.nn.attention.varlen.varlen_attn",  # nn.attention.varlen.html: CUDA's kernel
    "torch.nn.parallel.comm.broadcast",  # among GPUs
    "torch.nn.parallel.comm.broadcast_coalesced",
    "torch.nn.parallel.comm.gather",
    "torch.nn.parallel.comm.reduce_add",
    "torch.nn.parallel.comm.reduce_add_coalesced",
    "torch.nn.parallel.comm.scatter",
    *(
        f"torch.nn.parallel._functions.{name}"  # private; what wrappers for several devices copy with
        for name in ("Broadcast", "Gather", "ReduceAddCoalesced", "Scatter")
    ),
    "torch.nn.parallel.scatter_gather.gather",
    "torch.nn.parallel.scatter_gather.scatter",
    "torch.nn.parallel.data_parallel",  # nn.functional.html: on GPUs, as are its parts
    "torch.nn.parallel.gather",
    "torch.nn.parallel.parallel_apply",
    "torch.nn.parallel.replicate",
    "torch.nn.parallel.scatter",
    "torch.is_autocast_enabled",  # without arguments: CUDA's
    "torch.random.fork_rng",  # random.html: device_type="cuda"
    "torch.set_autocast_enabled",  # without a device type: CUDA's
    "torch.set_autocast_gpu_dtype",  # CUDA's
    "torch.set_default_tensor_type",  # torch.html: torch.cuda.FloatTensor
    "torch.sparse.semi_structured.to_sparse_semi_structured",
    "torch.sparse.to_sparse_semi_structured",  # sparse.html: for the sparse tensor cores of CUDA
    "torch.utils.checkpoint.set_device_states",  # checkpoint.html: of CUDA by default
    # cpp_extension.html: with CUDA sources, which off CUDA are left out or refused by name
    "torch.utils.cpp_extension.load",
    "torch.utils.cpp_extension.load_inline",
    "torch.version.cuda",  # None in a torch without CUDA, and taken apart by programs for CUDA
    "torch.utils.viz._cycles.observe_tensor_cycles",  # understanding_cuda_memory.html, as its author shows it
    "torch.utils.viz._cycles.warn_tensor_cycles",
)

# What the mirror answers and the codemod leaves to torch, with the reason.
LEFT: dict[str, str] = {
    "torch.accelerator.*": "generic already; torch asks the backend",
    "torch.backends.cuda.*": "sizes and flags of CUDA's libraries, which torch answers anywhere",
    "torch.backends.cudnn.rnn.*": "what torch's own layers call",
    "torch.backends.mps.*": "Apple's, not CUDA's",
    "torch.compile": "tdev puts the graph's compiler behind torch.compile where it registers a device",
    "torch.compiler.*": "the same",
    "torch.distributed.distributed_c10d.shrink_group": "for a group that NCCL has lost members of",
    "torch.get_default_device": "torch's own device; on the CPU a move to it, unlike one to what was set, copies nothing",
    "torch.import_ir_module": "what torch.jit.load calls",
    "torch.import_ir_module_from_buffer": "the same",
    "torch.jit.mobile.validate_map_location": "checks, and makes nothing",
    "torch.jit.script": "taken from tdev where a device is compiled (engine/rules/torchscript.py)",
    "torch.mps.*": "Apple's, not CUDA's",
    "torch.mtia.*": "another accelerator's",
    "torch.nn.attention.activate_flash_attention_impl": "chooses between CUDA's kernels",
    "torch.nn.attention.varlen.varlen_attn_out": "out= form that training code does not call",
    "torch.nn.parallel.data_parallel.*": "the function stands where the module was",
    "torch.nn.parallel.parallel_apply.*": "the same",
    "torch.nn.parallel.replicate.*": "the same",
    "torch.utils.benchmark.examples.*": "programs of torch's own",
    "torch.utils.cpp_extension.CUDAExtension": "of build scripts, which run where tdev need not be installed",
    "torch.version.hip": "asks which kernels were compiled in",
    "torch.xpu.*": "another accelerator's",
}

# Functions whose device parameter has another name or meaning than `device`.
DEVICE_PARAMS: dict[str, list[tuple[str, int | None]]] = {
    # Types that cannot be patched: stand-ins answer the calls.
    "torch.Event": [("device", 0)],
    "torch.Generator": [("device", 0)],
    "torch.Stream": [("device", 0)],
    "torch.amp.GradScaler": [("device", 0)],
    "torch.GradScaler": [("device", 0)],
    "torch.amp.custom_bwd": [("device_type", None)],
    "torch.amp.custom_fwd": [("device_type", None)],
    "torch.amp.autocast_mode.custom_bwd": [("device_type", None)],
    "torch.amp.autocast_mode.custom_fwd": [("device_type", None)],
    "torch.amp.autocast_mode.is_autocast_available": [("device_type", 0)],
    "torch.amp.is_autocast_available": [("device_type", 0)],
    "torch.asarray": [("device", None)],
    "torch.autocast": [("device_type", 0)],
    "torch.distributed.device_mesh.init_device_mesh": [("device_type", 0)],
    "torch.distributed.init_device_mesh": [("device_type", 0)],
    "torch.distributed.tensor.init_device_mesh": [("device_type", 0)],
    "torch.distributed.barrier": [("device_ids", 2)],
    "torch.distributed.distributed_c10d.barrier": [("device_ids", 2)],
    "torch.empty_quantized": [("device", None)],
    "torch.export.passes.move_to_device_pass": [("location", 1)],
    "torch.from_file": [("device", None)],
    "torch.amp.autocast": [("device_type", 0)],
    "torch.amp.autocast_mode.autocast": [("device_type", 0)],
    "torch.device": [("device", 0), ("type", 0)],
    "torch.get_autocast_dtype": [("device_type", 0)],
    "torch.get_device_module": [("device", 0)],
    "torch.is_autocast_enabled": [("device_type", 0)],
    "torch.library.custom_op": [("device_types", None)],
    "torch.library.register_kernel": [("device_types", 1)],
    "torch.load": [("map_location", 1)],
    "torch.normal": [("device", None)],
    "torch.random.fork_rng": [("device_type", None)],
    "torch.scalar_tensor": [("device", None)],
    "torch.serialization.load": [("map_location", 1)],
    "torch.set_autocast_dtype": [("device_type", 0)],
    "torch.set_autocast_enabled": [("device_type", 0)],
    "torch.utils.model_zoo.load_url": [("map_location", 2)],
    "torch.jit.load": [("map_location", 1)],
    "torch.hub.load_state_dict_from_url": [("map_location", 2)],
    "torch.set_default_device": [("device", 0)],
}

# Methods that take a device; positions do not count `self`.
DEVICE_METHODS: dict[str, list[tuple[str, int | None]]] = {
    "to": [("device", 0), ("other", 0)],
    "cuda": [("device", 0)],
    "type": [("dtype", 0)],
    "to_empty": [("device", None)],
    "pin_memory": [("device", 0)],
    "is_pinned": [("device", 0)],
    "new_empty": [("device", None)],
    "new_empty_strided": [("device", None)],
    "new_full": [("device", None)],
    "new_ones": [("device", None)],
    "new_tensor": [("device", None)],
    "new_zeros": [("device", None)],
}

# torch.cuda name -> (generic name, parameters: ours -> theirs, their positional order).
# "/N" is a positional-only parameter. Upstream: docs.pytorch.org/docs/stable/accelerator.html
DEVICE0: dict[str, str | None] = {"device": "/0"}
ACCELERATOR: dict[str, tuple[str, dict[str, str | None], tuple[str, ...]]] = {
    "torch.cuda.is_available": ("torch.accelerator.is_available", {}, ()),
    "torch.cuda.device_count": ("torch.accelerator.device_count", {}, ()),
    "torch.cuda.current_device": ("torch.accelerator.current_device_index", {}, ()),
    "torch.cuda.set_device": ("torch.accelerator.set_device_index", DEVICE0, ("device",)),
    "torch.cuda.synchronize": ("torch.accelerator.synchronize", DEVICE0, ("device",)),
    "torch.cuda.current_stream": ("torch.accelerator.current_stream", DEVICE0, ("device",)),
    "torch.cuda.set_stream": ("torch.accelerator.set_stream", {"stream": "stream"}, ("stream",)),
    "torch.cuda.empty_cache": ("torch.accelerator.empty_cache", {}, ()),
    "torch.cuda.memory_allocated": ("torch.accelerator.memory_allocated", DEVICE0, ("device",)),
    "torch.cuda.memory_reserved": ("torch.accelerator.memory_reserved", DEVICE0, ("device",)),
    "torch.cuda.max_memory_allocated": (
        "torch.accelerator.max_memory_allocated",
        DEVICE0,
        ("device",),
    ),
    "torch.cuda.max_memory_reserved": (
        "torch.accelerator.max_memory_reserved",
        DEVICE0,
        ("device",),
    ),
    "torch.cuda.memory_stats": ("torch.accelerator.memory_stats", DEVICE0, ("device",)),
    "torch.cuda.mem_get_info": ("torch.accelerator.get_memory_info", DEVICE0, ("device",)),
    "torch.cuda.reset_accumulated_memory_stats": (
        "torch.accelerator.reset_accumulated_memory_stats",
        DEVICE0,
        ("device",),
    ),
    "torch.cuda.reset_peak_memory_stats": (
        "torch.accelerator.reset_peak_memory_stats",
        DEVICE0,
        ("device",),
    ),
    # Deprecated names of the same functions.
    "torch.cuda.memory_cached": ("torch.accelerator.memory_reserved", DEVICE0, ("device",)),
    "torch.cuda.max_memory_cached": ("torch.accelerator.max_memory_reserved", DEVICE0, ("device",)),
    "torch.cuda.reset_max_memory_allocated": (
        "torch.accelerator.reset_peak_memory_stats",
        DEVICE0,
        ("device",),
    ),
    "torch.cuda.reset_max_memory_cached": (
        "torch.accelerator.reset_peak_memory_stats",
        DEVICE0,
        ("device",),
    ),
    "torch.cuda.OutOfMemoryError": ("torch.OutOfMemoryError", {}, ()),
    "torch.cuda.AcceleratorError": ("torch.AcceleratorError", {}, ()),
    "torch.cuda.Stream": ("torch.Stream", {"device": "device", "priority": "priority"}, ()),
    "torch.cuda.Event": (
        "torch.Event",
        {"enable_timing": "enable_timing", "blocking": "blocking", "interprocess": "interprocess"},
        (),
    ),
}
