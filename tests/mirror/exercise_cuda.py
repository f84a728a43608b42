"""What is asserted on CUDA hardware, where that differs from the other backends.

There torch's own objects answer (``test_home.py``), of which the tables of ``exercise_calls.py`` and
``exercise_programs.py`` expect too little (no architectures, no work space of cuBLAS) or what only an emulation keeps
(an allocator without rounding). An entry here takes the place of theirs, by the last part of the name or the whole; None: there is no assertion that a process could make of itself.

Written for, and run on, one NVIDIA H100 with torch 2.11.
"""

from __future__ import annotations

from tests.mirror.exercise_programs import STREAM

__all__ = ["ARGUMENTS", "EFFECTS", "PROGRAMS", "UNSEEN", "VALUES"]

ARGUMENTS: dict[str, str] = {
    f"torch.{kind}.{sensor}": ""
    for kind in ("cuda", "xpu")
    for sensor in ("clock_rate", "memory_usage", "power_draw", "temperature", "utilization")
}
"""Sensors, which a GPU has."""

# What is asserted of these elsewhere would here hold of a function that does nothing, too: NVTX tells a profiler that is
# attached from outside, CUDA is initialised long before, no other process has left memory behind, and the peak of the host's
# memory is not seen to fall.
UNSEEN = frozenset(
    {
        "mark", "torch.cuda.nvtx.range", "range_push", "range_pop", "range_start", "range_end",
        "init", "ipc_collect", "reset_peak_host_memory_stats",
    }
)  # fmt: skip

_CAPABILITY = "x == (lambda p: (p.major, p.minor))(torch.cuda.get_device_properties(0)) != (0, 0)"

VALUES: dict[str, str] = {
    # torch's own stream of torch.accelerator is not equal to torch.cuda's for the same queue.
    "torch.accelerator.current_stream": "x.stream_id == 0 and x.device == torch.device('cuda', 0)",
    "get_arch_list": "x and all(arch.startswith(('sm_', 'compute_')) for arch in x)",
    "get_gencode_flags": "x.count('-gencode') == len(torch.cuda.get_arch_list())",
    "is_tf32_supported": "x is (torch.cuda.get_device_properties(0).major >= 8)",
    "torch.cuda.get_device_capability": _CAPABILITY,
    "torch.mtia.get_device_capability": _CAPABILITY,
    "memory_summary": "'PyTorch CUDA memory summary, device ID 0' in x and 'Allocated memory' in x",
    "list_gpu_processes": "x.startswith('GPU:0') and (str(os.getpid()) in x or 'no processes' in x)",
    "blas_workspace_size": "x > 0",
    "cublas_workspace_size": "x > 0",
    "cublaslt_workspace_size": "x > 0",
    "preferred_blas_library": "x.name in ('Default', 'Cublas')",
    "current_blas_handle": "x > 0",
    "clock_rate": "x > 0",
    "memory_usage": "0 <= x <= 100",
    "power_draw": "x > 0",
    "temperature": "0 < x < 150",
    "utilization": "0 <= x <= 100",
    "torch.cuda.nccl.version": "x >= (2, 0)",
    "torch.cuda.nccl.unique_id": "len(x) == 128 and x != f()",
}

_SELECTED = """
f(0)
assert torch.cuda.current_device() == 0
try:
    f(last + 1)
except RuntimeError as error:
    assert "invalid device ordinal" in str(error), error
else:
    raise AssertionError("a device that is not there was selected")
assert torch.cuda.current_device() == 0 and torch.ones(1, device="cuda").item() == 1
"""
_HOST_STATS = """
kept = torch.empty(3 << 20, dtype=torch.uint8).pin_memory()
x = f()
held = x["active_bytes.{0}"] if "active_bytes.{0}" in x else x["active_bytes"]["{0}"]
del kept
assert held >= 3 << 20
"""
_BYPASSED = """
y = fill()
del y
torch.cuda.empty_cache()
before = torch.cuda.memory_allocated()
{0}
    y = fill()
    during = torch.cuda.memory_allocated()
    del y
    torch.cuda.synchronize()
{1}
y = fill()
assert during == before and torch.cuda.memory_allocated() >= before + (16 << 20)
"""
_WAITED = """
a = torch.ones(8192, 8192, device="cuda")
torch.cuda.current_stream().synchronize()
for _ in range(8):
    b = a @ a
queued = not torch.cuda.current_stream().query()
assert f() is None and queued and torch.cuda.current_stream().query()
"""

EFFECTS: dict[str, str] = {
    "set_device": _SELECTED,
    "set_device_idx": _SELECTED,
    "set_device_index": _SELECTED,
    "synchronize": _WAITED,
    "host_memory_stats": _HOST_STATS.format("current"),
    "host_memory_stats_as_nested_dict": _HOST_STATS.format("current"),
    "empty_cache": """
kept = torch.ones(3, device="cuda") * 2
y = fill()
del y
before = torch.cuda.memory_reserved()
f()
assert torch.cuda.memory_reserved() <= before - (8 << 20) and kept.tolist() == [2, 2, 2]
""",
    "empty_host_cache": """
y = torch.empty(5 << 20, dtype=torch.uint8).pin_memory()
del y
before = torch.cuda.host_memory_stats()["allocated_bytes.current"]
f()
assert torch.cuda.host_memory_stats()["allocated_bytes.current"] <= before - (5 << 20)
""",
    "reset_accumulated_host_memory_stats": """
y = torch.empty(5 << 20, dtype=torch.uint8).pin_memory()
before = torch.cuda.host_memory_stats()["active_bytes.allocated"]
f()
assert before >= 5 << 20 and torch.cuda.host_memory_stats()["active_bytes.allocated"] == 0
""",
    "record_memory_history": """
f()
y = fill()
found = torch.mtia.snapshot()
f(None)
assert any(event["size"] >= 16 << 20 for event in found["device_traces"][0])
""",
    "caching_allocator_disabled": _BYPASSED.format("with f():", ""),
    "caching_allocator_enable": _BYPASSED.format("f(False)\nif True:", "f(True)"),
}

_VARLEN = """
import tdev.nn.attention.varlen as varlen
q = torch.rand(5, 2, 64, device="cuda", dtype=torch.float16)
starts = torch.tensor([0, 2, 5], device="cuda", dtype=torch.int32)
{0}
parts = [q.cpu().float()[a:b].transpose(0, 1) for a, b in ((0, 2), (2, 5))]
expected = torch.cat([torch.nn.functional.scaled_dot_product_attention(p, p, p).transpose(0, 1) for p in parts])
assert torch.allclose(found.cpu().float(), expected, atol=2e-3)
"""

_TUNABLE = """
for on in (True, False):
    torch.cuda.tunable.{0}(on)
    assert torch.cuda.tunable.{1}() is on
"""

PROGRAMS: dict[str, str | None] = {
    **{
        f"torch.cuda.tunable.{setter} torch.cuda.tunable.{getter}": _TUNABLE.format(setter, getter)
        for setter, getter in {
            "enable": "is_enabled",
            "tuning_enable": "tuning_is_enabled",
            "record_untuned_enable": "record_untuned_is_enabled",
        }.items()
    },
    **{
        f"torch.cuda.tunable.set_{name} torch.cuda.tunable.get_{name}": f"""
for value in (9, 7):
    torch.cuda.tunable.set_{name}(value)
    assert torch.cuda.tunable.get_{name}() == value * {unit}
"""
        for name, unit in {
            "max_tuning_duration": 1,
            "max_tuning_iterations": 1,
            "rotating_buffer_size": 1 << 20,
        }.items()
    },
    "torch.cuda.memory.caching_allocator_alloc torch.cuda.memory.caching_allocator_delete": """
before = torch.cuda.memory_allocated()
address = torch.cuda.caching_allocator_alloc(4 << 20)
assert address > 0 and torch.cuda.memory_allocated() == before + (4 << 20)
torch.cuda.caching_allocator_delete(address)
assert torch.cuda.memory_allocated() == before
""",
    "torch.cuda.memory._record_memory_history torch.cuda.memory._snapshot torch.cuda.memory._dump_snapshot": """
import pickle
torch.cuda.memory._record_memory_history()
x = torch.ones(1000, device="cuda")
found = torch.cuda.memory._snapshot()
torch.cuda.memory._dump_snapshot(folder + "/snapshot.pickle")
torch.cuda.memory._record_memory_history(enabled=None)
assert any(event["action"] == "alloc" for event in found["device_traces"][0])
assert pickle.load(open(folder + "/snapshot.pickle", "rb"))["segments"] == found["segments"] != []
""",
    # On one device broadcast leaves everything as it was, which shows nothing.
    "torch.cuda.nccl.all_reduce torch.cuda.nccl.broadcast torch.cuda.nccl.reduce": None,
    "torch.cuda.nccl.all_reduce torch.cuda.nccl.reduce": """
x, y, z = torch.arange(3.0, device="cuda"), torch.zeros(3, device="cuda"), torch.zeros(3, device="cuda")
torch.cuda.nccl.all_reduce([x], [y])
torch.cuda.nccl.reduce([x], z)
assert y.tolist() == z.tolist() == [0, 1, 2]
""",
    "torch.cuda._is_in_bad_fork torch.cuda._lazy_init torch.cuda._lazy_call": None,
    "torch.cuda._is_in_bad_fork torch.cuda._lazy_call": """
called = []
torch.cuda._lazy_call(lambda: called.append(1))
assert called == [1] and torch.cuda._is_in_bad_fork() is False
""",
    # Capture is not allowed on the default stream.
    "torch.accelerator.graphs.Graph": """
x = torch.ones(3, device="cuda")
s = torch.cuda.Stream()
s.wait_stream(torch.cuda.current_stream())
g = torch.accelerator.Graph()
with torch.cuda.stream(s):
    g.capture_begin()
    y = x + 1
    g.capture_end()
torch.cuda.synchronize()
x.fill_(5)
g.replay()
assert y.tolist() == [6, 6, 6]
""",
    "torch.cuda.green_contexts.GreenContext": """
g = torch.cuda.green_contexts.GreenContext.create(num_sms=8, device_id=0)
g.set_context()
x = torch.ones(3, device="cuda") * 2
torch.cuda.synchronize()
g.pop_context()
assert x.tolist() == [2, 2, 2]
""",
    # It would hold for the whole process, and only before the first allocation.
    "torch.cuda.memory.change_current_allocator": None,
    "torch.xpu.memory.change_current_allocator": None,
    "torch.cuda.nccl.is_available": """
assert torch.cuda.nccl.is_available([torch.ones(1, device="cuda")]) is True
assert torch.cuda.nccl.is_available([torch.ones(1)]) is False
""",
    "torch.cuda.nccl.init_rank": None,  # torch cannot end what it begins
    "torch.backends.cuda.can_use_cudnn_attention": """
q = torch.ones(1, 1, 64, 64, device="cuda")
for q, usable in ((q, False), (q.half(), True)):
    asked = torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False, False)
    assert torch.backends.cuda.can_use_cudnn_attention(asked) is usable
""",
    "torch.import_ir_module": """
m = torch.nn.Linear(2, 2)
torch.jit.script(m).save(folder + "/module.pt")
found = torch.import_ir_module(torch._C.CompilationUnit(), folder + "/module.pt", torch.device("cuda"), {}, False)
assert found.getattr("weight").device == torch.device("cuda", 0)
assert torch.equal(found.getattr("weight").cpu(), m.weight)
""",
    "torch.nn.attention.varlen.varlen_attn": _VARLEN.format(
        "found = varlen.varlen_attn(q, q, q, starts, starts, 3, 3)"
    ),
    "torch.nn.attention.varlen.varlen_attn_out": _VARLEN.format(
        "found = torch.empty_like(q)\nvarlen.varlen_attn_out(found, q, q, q, starts, starts, 3, 3)"
    ),
    "torch.autograd.profiler.emit_nvtx": None,
    "torch.cuda.profiler.profile torch.cuda.profiler.start torch.cuda.profiler.stop": None,
    "torch.mps.profiler.profile torch.mps.profiler.start torch.mps.profiler.stop": None,
    "torch.cuda.CudaError": "assert 'out of memory' in str(torch.cuda.CudaError(2))",
    "torch.version.cuda": """
import re
assert re.match(r"\\d+\\.\\d+", torch.version.cuda) and torch.version.cuda != "0.0"
""",
    "torch.cuda.tunable.set_numerical_check_tolerances": None,
    "torch.cuda.tunable.tune_gemm_in_file": None,
    "torch.cuda.tunable.mgpu_tune_gemm_in_file": None,
    "torch.cuda.memory_usage": None,  # a sensor, called with others
    "torch.xpu.memory_usage": None,
    "torch.mtia.attach_out_of_memory_observer": """
seen = []
torch.mtia.attach_out_of_memory_observer(lambda *told: seen.append(told))
try:
    torch.empty(1 << 47, device="cuda", dtype=torch.uint8)
except torch.cuda.OutOfMemoryError:
    pass
assert len(seen) == 1 and seen[0][0] == 0, seen
""",
    # torch.xpu.stream goes through torch.cuda's class, and would without this name.
    "torch.xpu.streams.Stream torch.xpu.streams.Event torch.xpu.StreamContext": None,
    "torch.xpu.streams.Stream torch.xpu.streams.Event": STREAM.format("xpu"),
    # Foreign types are not translated at home: the device is named by its own.
    "torch.mtia.StreamContext": """
s = torch.cuda.Stream()
with torch.mtia.StreamContext(s):
    inside = torch.cuda.current_stream()
assert inside == s != torch.cuda.current_stream()
""",
    "torch.mps.event.Event": """
a, b = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
a.record(); torch.ones(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda"); b.record()
b.synchronize()
assert a.elapsed_time(b) > 0 and b.query()
""",
    "torch.xpu.get_stream_from_external": """
s = torch.xpu.Stream()
assert torch.xpu.get_stream_from_external(s.cuda_stream).cuda_stream == s.cuda_stream != 0
""",
    "torch.xpu.can_device_access_peer": "assert torch.xpu.can_device_access_peer(0, 0) is False",
    "torch.utils.cpp_extension.CUDAExtension": """
import tdev.utils.cpp_extension as built
for name, text in (("/a.cpp", "int one() { return 1; }"), ("/halve.cu", "__global__ void halve(float* x) { *x /= 2; }")):
    with open(folder + name, "w") as f:
        f.write(text)
sources = [folder + "/a.cpp", folder + "/halve.cu"]
made = built.CUDAExtension("a", sources, define_macros=[("WITH_CUDA", None)])
assert made.sources == sources and made.define_macros == [("WITH_CUDA", None)] and "cudart" in made.libraries
""",
    "torch.from_file": None,  # torch maps files into the host's memory alone
    "torch.backends.mps.is_macos_or_newer": None,  # stock torch raises where there is no MPS
}
