"""What is asserted of each function that is called on the active backend.

``VALUES``: an expression that holds of ``x``, the answer. ``EFFECTS``: a program that asserts what calling ``f``, the
function, has changed or what its answer does. Both by the last part of the name, which spellings for several kinds of
devices share, or by the whole name where these differ. In both, ``torch`` is the mirror, ``backend`` the active backend's
name, ``last`` the index of its last device, ``fill()`` makes 16 MiB of tensor there and waits for it.

A function with neither is called by nothing that could fail, and counts as executed nowhere.
"""

from __future__ import annotations

__all__ = ["EFFECTS", "VALUES"]

_ONES = "x[0].tolist() == [1, 1] and x[0].device.type == backend"

VALUES: dict[str, str] = {
    "torch.native_group_norm": (
        "torch.allclose(x[0].cpu(), torch.nn.functional.group_norm(torch.arange(24.0).reshape(2, 4, 3), 2), atol=1e-5)"
        " and x[1].flatten().tolist() == [2.5, 8.5, 14.5, 20.5]"
    ),
    # -- devices
    "current_accelerator": "(x is None) if backend == 'cpu' else x == torch.device(backend)",
    "current_device": "x == 0",
    "current_device_idx": "x == 0",
    "current_device_index": "x == 0",
    "current_stream": "x.stream_id == 0 and x.device.type == backend and x == torch.cuda.current_stream()",
    "default_stream": "x.stream_id == 0 and x.device.type == backend",
    "device_count": "x == (last + 1 if backend != 'cpu' else 0)",
    "is_available": "x is (backend != 'cpu')",
    "is_initialized": "x is True",
    "is_macos13_or_newer": "x is False",
    "can_device_access_peer": "x is False",
    "get_arch_list": "x == []",
    "get_gencode_flags": "x == ''",
    "is_tf32_supported": "x is False",
    "is_bf16_supported": "x is True and torch.ones(1, dtype=torch.bfloat16, device='cuda').item() == 1",
    "get_device_name": "x == torch.cuda.get_device_properties(0).name != ''",
    "get_device_properties": "x.total_memory == torch.cuda.mem_get_info()[1] > 0 and x.name",
    "get_device_capability": "x == (0, 0)",
    "torch.accelerator.get_device_capability": "torch.float32 in x['supported_dtypes']",
    "torch.xpu.get_device_capability": "x['total_memory'] == torch.cuda.mem_get_info()[1]",
    "torch.mtia.get_device_properties": "x['total_memory'] == torch.cuda.mem_get_info()[1]",
    "cudart": "x.cudaMemGetInfo(0)[1] == torch.cuda.mem_get_info()[1]",
    "get_sync_debug_mode": "x == 0",
    # -- memory
    "get_memory_info": "0 < x[0] <= x[1] == torch.cuda.get_device_properties(0).total_memory",
    "mem_get_info": "0 < x[0] <= x[1] == torch.cuda.get_device_properties(0).total_memory",
    "recommended_max_memory": "x == torch.cuda.get_device_properties(0).total_memory",
    "get_allocator_backend": "x == 'native'",
    "get_per_process_memory_fraction": "x == 1.0",
    "host_memory_stats": "x['active_bytes.current'] == x['active_bytes.peak'] == 0",
    "host_memory_stats_as_nested_dict": "x['allocated_bytes'] == dict.fromkeys(('current', 'peak', 'allocated', 'freed'), 0)",
    "list_gpu_processes": "x.startswith('GPU:0') and str(os.getpid()) in x",
    "memory_summary": "'Allocated memory' in x and f'backend {backend}' in x",
    # -- graphs, mixed precision, libraries
    "graph_pool_handle": "len(x) == 2 and x != f()",
    "is_current_stream_capturing": "x is False",
    "get_autocast_gpu_dtype": "x is torch.float16",
    "is_autocast_available": "x is True",
    "amp_definitely_not_available": "x is False",
    "blas_workspace_size": "x == 0",
    "cublas_workspace_size": "x == 0",
    "cublaslt_workspace_size": "x == 0",
    "preferred_blas_library": "x.name == 'Cublas'",
    "preferred_linalg_library": "x.name == 'Default'",
    # -- several tensors on one device
    "broadcast": _ONES,
    "broadcast_coalesced": _ONES.replace("x[0]", "x[0][0]"),
    "scatter": _ONES,
    "parallel_apply": _ONES,
    "gather": _ONES.replace("x[0]", "x"),
    "reduce_add": _ONES.replace("x[0]", "x"),
}  # fmt: skip

_HELD = """
y = fill()
assert f() >= 16 << 20
"""
_PEAK = """
y = fill()
held = f()
del y
assert f() >= held >= 16 << 20
"""
_PEAK_RESET = """
y = fill()
before = torch.cuda.max_memory_allocated()
del y
f()
assert before >= 16 << 20 and torch.cuda.max_memory_allocated() <= before - (8 << 20)
"""
_STATS = """
y = fill()
x = f()
assert x["allocated_bytes.all.peak"] >= x["allocated_bytes.all.current"] >= 16 << 20
"""
_EMPTIED = """
kept = torch.ones(3, device="cuda") * 2
assert kept.tolist() == [2, 2, 2]
y = fill()
del y
before = torch.cuda.memory_reserved()
f()
assert torch.cuda.memory_reserved() <= before + (1 << 20)  # the host's heap is this program's too
assert backend == "cpu" or torch.cuda.memory_reserved() == torch.cuda.memory_allocated()
assert kept.tolist() == [2, 2, 2]
"""
_HOST_STATS = """
before = torch.cuda.host_memory_stats()
f()
assert torch.cuda.host_memory_stats() == before and not any(before.values())
"""
_FRACTION = """
f(0.5)
kept = torch.cuda.get_per_process_memory_fraction()
f(1.0)
assert (kept, torch.cuda.get_per_process_memory_fraction()) == (0.5, 1.0)
"""
_SELECTED = """
f(last)
found = torch.cuda.current_device(), torch.zeros(1, device="cuda").device.index or 0
f(0)
assert found == (last, last) and torch.cuda.current_device() == 0
"""
_STREAM_SET = """
s = torch.cuda.Stream()
f(s)
found = torch.cuda.current_stream()
f(torch.cuda.default_stream())
assert found == s and torch.cuda.current_stream() == torch.cuda.default_stream() != s
"""
_STREAM = """
s = torch.cuda.Stream()
with f(s):
    found = torch.cuda.current_stream()
assert found == s and torch.cuda.current_stream() == torch.cuda.default_stream() != s
"""
_WAITED = """
y = torch.ones(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda")
assert f() is None and torch.cuda.current_stream().query() and y.sum().item() == 64**3
"""
_READY = """
assert f() is None and torch.cuda.is_initialized() and torch.ones(2, device="cuda").sum().item() == 2
"""
_SEEDED = """
f(7)
first = torch.rand(4, device="cuda")
again = torch.rand(4, device="cuda")
f(7)
assert torch.equal(torch.rand(4, device="cuda"), first) and not torch.equal(first, again)
assert torch.cuda.initial_seed() == 7
"""
_RESEEDED = """
torch.cuda.manual_seed(7)
first = torch.rand(4, device="cuda")
x = f()
assert not torch.equal(torch.rand(4, device="cuda"), first) and torch.cuda.initial_seed() != 7
assert x is None or x == torch.cuda.initial_seed()
"""
_STATE = """
state = f()
first = torch.rand(4, device="cuda")
torch.cuda.set_rng_state({0})
assert torch.equal(torch.rand(4, device="cuda"), first)
"""
_STATE_SET = """
state = torch.cuda.get_rng_state()
first = torch.rand(4, device="cuda")
f({0})
assert torch.equal(torch.rand(4, device="cuda"), first)
"""
_CAST = """
seen = []
def pass_on(ctx, x):
    seen.append(torch.is_autocast_enabled("cuda"))
    return x
class Context: _fwd_used_autocast, _dtype = False, torch.float16
wrapped, ctx = f(pass_on{0}), Context()
with torch.autocast("cuda", torch.bfloat16):
    wrapped(ctx, torch.ones(1, device="cuda"))
assert {1}
"""
_FORWARD = "seen == [True] and ctx._fwd_used_autocast is True and ctx._dtype is torch.bfloat16"
_BACKWARD = "seen == [False]"  # as the forward call was, by what it has left in the context
_RANGE = """
with torch.profiler.profile() as profile:
    {0}
assert any(event.key == "exercised" for event in profile.key_averages())
"""

EFFECTS: dict[str, str] = {
    # -- devices, streams
    "set_device": _SELECTED,
    "set_device_idx": _SELECTED,
    "set_device_index": _SELECTED,
    "set_stream": _STREAM_SET,
    "stream": _STREAM,
    "synchronize": _WAITED,
    "init": _READY,
    "ipc_collect": _READY,
    "check_error": """
assert f(0) is None
try:
    f(2)
except torch.cuda.CudaError as error:
    assert "2" in str(error)
else:
    raise AssertionError("2 is an error of CUDA's")
""",
    "set_sync_debug_mode": """
f("warn")
found = torch.cuda.get_sync_debug_mode()
f(0)
assert (found, torch.cuda.get_sync_debug_mode()) == (1, 0)
""",
    # -- memory
    **dict.fromkeys(
        (
            "memory_allocated", "memory_reserved", "memory_cached", "device_memory_used",
            "current_allocated_memory", "driver_allocated_memory",
        ),
        _HELD,
    ),
    **dict.fromkeys(("max_memory_allocated", "max_memory_reserved", "max_memory_cached"), _PEAK),
    **dict.fromkeys(
        ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached"),
        _PEAK_RESET,
    ),
    "reset_accumulated_memory_stats": """
y = fill()
del y
f()
assert torch.cuda.memory_stats()["allocated_bytes.all.allocated"] < 16 << 20
""",
    "memory_stats": _STATS,
    "memory_stats_as_nested_dict": _STATS.replace("x = f()", "x = {f'allocated_bytes.all.{k}': v for k, v in f()['allocated_bytes']['all'].items()}"),
    "empty_cache": _EMPTIED,
    "empty_host_cache": _HOST_STATS,
    "reset_accumulated_host_memory_stats": _HOST_STATS,
    "reset_peak_host_memory_stats": _HOST_STATS,
    "set_per_process_memory_fraction": _FRACTION,
    "caching_allocator_disabled": """
with f():
    y = fill()
    del y
    held = torch.cuda.memory_reserved(), torch.cuda.memory_allocated()
assert backend == "cpu" or held[0] == held[1]
""",
    "caching_allocator_enable": """
f(False)
y = fill()
del y
held = torch.cuda.memory_reserved(), torch.cuda.memory_allocated()
f(True)
assert backend == "cpu" or held[0] == held[1]
""",
    "memory_snapshot": """
torch.cuda.memory._record_memory_history()
y = fill()
found = f()
torch.cuda.memory._record_memory_history(enabled=None)
assert sum(segment["allocated_size"] for segment in found) >= 16 << 20
""",
    "record_memory_history": """
f()
y = fill()
found = torch.mtia.snapshot()
f(None)
assert sum(segment["allocated_size"] for segment in found["segments"]) >= 16 << 20
""",
    "snapshot": """
torch.cuda.memory._record_memory_history()
y = fill()
found = f()
torch.cuda.memory._record_memory_history(enabled=None)
assert sum(segment["allocated_size"] for segment in found["segments"]) >= 16 << 20
""",
    # -- random numbers
    "manual_seed": _SEEDED,
    "manual_seed_all": _SEEDED,
    "seed": _RESEEDED,
    "seed_all": _RESEEDED,
    "get_rng_state": _STATE.format("state"),
    "get_rng_state_all": _STATE.format("state[0]"),
    "set_rng_state": _STATE_SET.format("state"),
    "set_rng_state_all": _STATE_SET.format("[state, *torch.cuda.get_rng_state_all()[1:]]"),
    "initial_seed": "torch.cuda.manual_seed(77)\nassert f() == 77",
    "fork_rng": """
torch.cuda.manual_seed(3)
with f(device_type="cuda"):
    inside = torch.rand(4, device="cuda")
assert torch.equal(torch.rand(4, device="cuda"), inside)
""",
    # -- mixed precision
    "set_autocast_gpu_dtype": """
before = torch.get_autocast_gpu_dtype()
f(torch.bfloat16)
found = torch.get_autocast_gpu_dtype()
f(before)
assert found is torch.bfloat16 and torch.get_autocast_gpu_dtype() is before
""",
    "torch.amp.autocast_mode.custom_fwd": _CAST.format(", device_type='cuda'", _FORWARD),
    "torch.amp.autocast_mode.custom_bwd": _CAST.format(", device_type='cuda'", _BACKWARD),
    "torch.cuda.amp.autocast_mode.custom_fwd": _CAST.format("", _FORWARD),
    "torch.cuda.amp.autocast_mode.custom_bwd": _CAST.format("", _BACKWARD),
    # -- attention, compilers, profiling
    "sdp_kernel": """
with f(enable_flash=False, enable_math=True, enable_mem_efficient=False, enable_cudnn=False):
    found = torch.backends.cuda.math_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled()
assert found == (True, False) and torch.backends.cuda.flash_sdp_enabled()
""",
    "sdpa_kernel": """
with f(torch.nn.attention.SDPBackend.MATH):
    found = torch.backends.cuda.math_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled()
assert found == (True, False) and torch.backends.cuda.flash_sdp_enabled()
""",
    "torch.compile": """
assert f(lambda x: x * 3, backend="eager")(torch.ones(2, device="cuda")).tolist() == [3, 3]
""",
    "mark": _RANGE.format('f("exercised")'),
    "torch.cuda.nvtx.range": _RANGE.format('with f("exercised"):\n        torch.ones(2, device="cuda")'),
    "range_push": _RANGE.format(
        'assert (f("exercised"), f("inner")) == (0, 1)\n'
        "    assert (torch.cuda.nvtx.range_pop(), torch.cuda.nvtx.range_pop()) == (1, 0)"
    ),
    "range_pop": _RANGE.format(
        'torch.cuda.nvtx.range_push("exercised")\n    assert (f(), f()) == (0, -1)'
    ),
    "range_start": _RANGE.format('torch.cuda.nvtx.range_end(f("exercised"))'),
    "range_end": _RANGE.format('f(torch.cuda.nvtx.range_start("exercised"))'),
    # -- several devices
    "data_parallel": """
model, given = torch.nn.Linear(2, 2).to("cuda"), torch.ones(2, 2, device="cuda")
assert torch.allclose(f(model, given, [0]).cpu(), model(given).cpu())
""",
    "replicate": """
model = torch.nn.Linear(2, 2).to("cuda")
(copy,) = f(model, [0])
assert copy is not model and torch.equal(copy.weight.cpu(), model.weight.cpu())
""",
}  # fmt: skip
