"""Short programs for what one call without context does not show: classes, and functions that work together.

Each entry: the members of the catalog that the program executes, and its source. ``torch`` is the mirror, ``folder`` an
empty directory. A program that ends and asserts something has executed its members; assertions compare with what is known otherwise (stock
torch on the CPU, arithmetic). Several members share a program where they are spellings of one thing.
"""

from __future__ import annotations

__all__ = ["PROGRAMS", "STREAM"]

_DTYPES = {
    "BFloat16": "bfloat16", "Bool": "bool", "Byte": "uint8", "Char": "int8", "Double": "float64", "Float": "float32",
    "Half": "float16", "Int": "int32", "Long": "int64", "Short": "int16",
    "ComplexDouble": "complex128", "ComplexFloat": "complex64",
}  # fmt: skip

STREAM = """
s, e = torch.{0}.Stream(), torch.{0}.Event(enable_timing=True)
done = torch.{0}.Event(enable_timing=True)
with torch.{0}.stream(s):
    e.record(s)
    x = (torch.ones(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda")).sum()
    done.record(s)
torch.{0}.current_stream().wait_stream(s)
done.synchronize()
assert x.item() == 64**3 and e.query() and e.elapsed_time(done) > 0
assert isinstance(s, torch.{0}.Stream) and s == s and s.query()
"""
_GRAPH = """
x = torch.ones(3, device="cuda")
g = torch.{0}()
with torch.{1}(g):
    y = x * 2 + 1
x.fill_(4)
g.replay()
assert y.tolist() == [9, 9, 9], y
g.reset()
"""
_GRAPHED = """
layer = torch.nn.Linear(3, 2).to("cuda")
sample = torch.ones(4, 3, device="cuda")
expected = layer(sample * 2).tolist()
graphed = torch.{0}.make_graphed_callables(layer, (sample,))
assert torch.allclose(graphed(sample * 2).cpu(), torch.tensor(expected))
"""
_PINNED = """
with torch.{0}({1}) as found:
    assert torch.zeros(2, device="cuda").tolist() == [0, 0]
"""

PROGRAMS: dict[str, str] = {
    # -- devices, streams, events, graphs -----------------------------------------------------------
    "torch.device": """
d = torch.device("cuda", 0)
assert isinstance(d, torch.device) and d.type == torch.zeros(1, device="cuda").device.type
""",
    "torch.Generator": """
g = torch.Generator("cuda").manual_seed(3)
first = torch.rand(4, generator=g, device="cuda")
assert torch.equal(torch.rand(4, generator=g.manual_seed(3), device="cuda"), first)
assert isinstance(g, torch.Generator) and g.initial_seed() == 3
""",
    "torch.Stream torch.Event": """
s = torch.Stream(device="cuda")
e = s.record_event()
e.synchronize()
assert isinstance(s, torch.Stream) and isinstance(e, torch.Event) and e.query()
""",
    "torch.cuda.streams.Stream torch.cuda.streams.Event torch.cuda.StreamContext": STREAM.format(
        "cuda"
    ),
    "torch.xpu.streams.Stream torch.xpu.streams.Event torch.xpu.StreamContext": STREAM.format(
        "xpu"
    ),
    "torch.mtia.StreamContext": """
with torch.mtia.StreamContext(torch.mtia.Stream()):
    assert torch.ones(2, device="mtia").sum().item() == 2
""",
    "torch.mps.event.Event": """
a, b = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
a.record(); torch.ones(64, 64, device="mps") @ torch.ones(64, 64, device="mps"); b.record()
b.synchronize()
assert a.elapsed_time(b) > 0 and b.query()
""",
    "torch.cuda.streams.ExternalStream torch.cuda.get_stream_from_external": """
s = torch.cuda.Stream()
same = torch.cuda.ExternalStream(s.cuda_stream)
assert isinstance(same, torch.cuda.Stream) and same.cuda_stream == s.cuda_stream
assert torch.cuda.get_stream_from_external(s.cuda_stream).cuda_stream == s.cuda_stream
""",
    "torch.xpu.get_stream_from_external": """
s = torch.xpu.Stream()
assert torch.xpu.get_stream_from_external(s.sycl_queue).sycl_queue == s.sycl_queue
""",
    "torch.accelerator.device_index": _PINNED.format("accelerator.device_index", "0"),
    "torch.cuda.device": _PINNED.format("cuda.device", "0"),
    "torch.cuda.device_of": _PINNED.format("cuda.device_of", "torch.ones(1, device='cuda')"),
    "torch.xpu.device": _PINNED.format("xpu.device", "0"),
    "torch.xpu.device_of": _PINNED.format("xpu.device_of", "torch.ones(1, device='cuda')"),
    "torch.mtia.device": _PINNED.format("mtia.device", "0"),
    "torch.cuda.graphs.CUDAGraph torch.cuda.graphs.graph": _GRAPH.format(
        "cuda.CUDAGraph", "cuda.graph"
    ),
    "torch.xpu.graphs.XPUGraph torch.xpu.graphs.graph": _GRAPH.format("xpu.XPUGraph", "xpu.graph"),
    "torch.mtia.mtia_graph.MTIAGraph torch.mtia.mtia_graph.graph": _GRAPH.format(
        "mtia.MTIAGraph", "mtia.graph"
    ),
    "torch.accelerator.graphs.Graph": """
x = torch.ones(3, device="cuda")
g = torch.accelerator.Graph()
g.capture_begin()
y = x + 1
g.capture_end()
x.fill_(5)
g.replay()
assert y.tolist() == [6, 6, 6]
""",
    "torch.cuda.graphs.make_graphed_callables": _GRAPHED.format("cuda"),
    "torch.xpu.graphs.make_graphed_callables": _GRAPHED.format("xpu"),
    "torch.cuda.green_contexts.GreenContext": "torch.cuda.green_contexts.GreenContext.create(num_sms=1, device_id=0)",
    # -- memory -------------------------------------------------------------------------------------
    "torch.cuda.memory.MemPool torch.cuda.memory.use_mem_pool": """
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    x = torch.ones(8, device="cuda")
assert len(pool.id) == 2 and x.sum().item() == 8
""",
    "torch.xpu.memory.MemPool torch.xpu.memory.use_mem_pool": """
pool = torch.xpu.MemPool()
with torch.xpu.memory.use_mem_pool(pool):
    x = torch.ones(8, device="cuda")
assert len(pool.id) == 2 and x.sum().item() == 8
""",
    "torch.cuda.memory.caching_allocator_alloc torch.cuda.memory.caching_allocator_delete": """
address = torch.cuda.caching_allocator_alloc(64)
assert isinstance(address, int) and address > 0
torch.cuda.caching_allocator_delete(address)
""",
    "torch.cuda.memory._record_memory_history torch.cuda.memory._snapshot torch.cuda.memory._dump_snapshot": """
import pickle
torch.cuda.memory._record_memory_history()
x = torch.ones(1000, device="cuda")
found = torch.cuda.memory._snapshot()
torch.cuda.memory._dump_snapshot(folder + "/snapshot.pickle")
torch.cuda.memory._record_memory_history(enabled=None)
assert {"segments", "device_traces"} <= found.keys()
assert pickle.load(open(folder + "/snapshot.pickle", "rb")).keys() == found.keys()
""",
    "torch.cuda.memory.change_current_allocator": "torch.cuda.memory.change_current_allocator(object())",
    "torch.xpu.memory.change_current_allocator": "torch.xpu.memory.change_current_allocator(object())",
    # -- random numbers -----------------------------------------------------------------------------
    **{
        f"torch.{kind}.default_generators": f"""
g = torch.{kind}.default_generators[0]
torch.{kind}.manual_seed(5)
first = torch.rand(3, device="cuda")
g.manual_seed(5)
assert g.initial_seed() == 5 and torch.equal(torch.rand(3, device="cuda"), first)
"""
        for kind in ("cuda", "xpu", "mtia")
    },
    "torch.mtia.set_rng_state_all": """
state = torch.mtia.get_rng_state_all()
first = torch.rand(3, device="cuda")
torch.mtia.set_rng_state_all(state)
assert torch.equal(torch.rand(3, device="cuda"), first)
""",
    # -- legacy types -------------------------------------------------------------------------------
    **{
        f"torch.cuda.{name}Tensor": f"""
x = torch.cuda.{name}Tensor([1, 0])
assert x.dtype is torch.{dtype} and x.tolist() == [1, 0] and isinstance(x, torch.cuda.{name}Tensor)
assert x.device.type == torch.zeros(1, device="cuda").device.type
"""
        for name, dtype in _DTYPES.items()
        if not name.startswith("Complex")
    },
    **{
        f"torch.cuda.{name}Storage": f"""
s = torch.cuda.{name}Storage(3)
assert len(s) == 3 and s.dtype is torch.{dtype} and isinstance(s, torch.cuda.{name}Storage)
"""
        for name, dtype in _DTYPES.items()
    },
    **{
        f"torch.cuda.sparse.{name}Tensor": f"""
x = torch.cuda.sparse.{name}Tensor(torch.tensor([[1]]), torch.tensor([2], dtype=torch.{dtype}), (3,))
assert x.to_dense().tolist() == [0, 2, 0] and x.dtype is torch.{dtype}
"""
        for name, dtype in _DTYPES.items()
        if not name.startswith(("Complex", "Bool"))
    },
    "torch.set_default_tensor_type": """
torch.set_default_tensor_type(torch.cuda.DoubleTensor)
x = torch.ones(2)
torch.set_default_tensor_type("torch.FloatTensor")
torch.set_default_device(None)
assert x.dtype is torch.float64
""",
    # -- mixed precision ----------------------------------------------------------------------------
    "torch.get_autocast_dtype torch.is_autocast_enabled torch.set_autocast_enabled torch.set_autocast_dtype": """
before = torch.get_autocast_dtype("cuda")
torch.set_autocast_dtype("cuda", torch.bfloat16)
torch.set_autocast_enabled("cuda", True)
assert torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") is torch.bfloat16
y = torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
torch.set_autocast_enabled("cuda", False)
torch.set_autocast_dtype("cuda", before)
assert y.dtype is torch.bfloat16 and not torch.is_autocast_enabled("cuda")
""",
    # -- several tensors on one device --------------------------------------------------------------
    "torch.cuda.nccl.all_reduce torch.cuda.nccl.broadcast torch.cuda.nccl.reduce": """
x = torch.arange(3.0, device="cuda")
torch.cuda.nccl.all_reduce([x])
torch.cuda.nccl.broadcast([x])
torch.cuda.nccl.reduce([x], x)
assert x.tolist() == [0, 1, 2]
""",
    "torch.cuda.nccl.all_gather torch.cuda.nccl.reduce_scatter": """
x, y = torch.arange(3.0, device="cuda"), torch.empty(3, device="cuda")
torch.cuda.nccl.all_gather([x], [y])
assert y.tolist() == [0, 1, 2]
torch.cuda.nccl.reduce_scatter([x + 1], [y])
assert y.tolist() == [1, 2, 3]
""",
    "torch.cuda.nccl.is_available": "assert torch.cuda.nccl.is_available([torch.ones(1, device='cuda')]) in (True, False)",
    "torch.nn.parallel.comm.reduce_add_coalesced": """
found = torch.nn.parallel.comm.reduce_add_coalesced([[torch.ones(2, device="cuda"), torch.ones(1, device="cuda")]] * 2, 0)
assert [x.tolist() for x in found] == [[2, 2], [2]]
""",
    # -- compilers ----------------------------------------------------------------------------------
    "torch.export.load": """
layer, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
torch.export.save(torch.export.export(layer, (x,)), folder + "/program.pt2")
program = torch.export.load(folder + "/program.pt2")
assert torch.equal(program.module()(x), layer(x))
""",
    "torch.backends.cuda.can_use_cudnn_attention": """
q = torch.ones(1, 1, 8, 8)
asked = torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False, False)
assert torch.backends.cuda.can_use_cudnn_attention(asked) is False
""",
    "torch.jit.script torch.jit.load": """
module = torch.jit.script(torch.nn.Linear(2, 2))
module.save(folder + "/module.pt")
loaded = torch.jit.load(folder + "/module.pt", map_location="cuda")
assert loaded.weight.device.type == torch.zeros(1, device="cuda").device.type
assert torch.equal(loaded.weight.cpu(), module.weight)
""",
    "torch.import_ir_module": """
m = torch.nn.Linear(2, 2)
torch.jit.script(m).save(folder + "/module.pt")
found = torch.import_ir_module(torch._C.CompilationUnit(), folder + "/module.pt", "cpu", {}, False)
assert torch.equal(dict(found.named_parameters() if hasattr(found, "named_parameters") else
                        [("weight", found.getattr("weight"))])["weight"], m.weight)
""",
    "torch.compiler.compile": """
f = torch.compiler.compile(lambda x: x * 2, backend="eager")
assert f(torch.ones(2, device="cuda")).tolist() == [2, 2]
""",
    "torch.compiler.set_default_backend": """
torch.compiler.set_default_backend("eager")
assert torch.compile(lambda x: x + 1)(torch.ones(2, device="cuda")).tolist() == [2, 2]
""",
    "torch.library.custom_op torch.library.register_kernel": """
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
op = torch.library.custom_op("exercise::twice", twice, mutates_args=(), device_types="cuda")
assert op(torch.ones(2, device="cuda")).tolist() == [2, 2]
torch.library.register_kernel("exercise::twice", "cpu")(lambda x: x + x)
assert op(torch.ones(2)).tolist() == [2, 2]
""",
    # -- attention ----------------------------------------------------------------------------------
    "torch.nn.attention.flex_attention.flex_attention torch.nn.attention.flex_attention.create_block_mask": """
from torch.nn.attention import flex_attention as stock
flex = torch.nn.attention.flex_attention
q = torch.rand(1, 2, 16, 8, device="cuda")
causal = lambda b, h, i, j: i >= j
mask = flex.create_block_mask(causal, 1, 1, 16, 16, device="cuda", BLOCK_SIZE=16)
found = flex.flex_attention(q, q, q, block_mask=mask)
expected = torch.nn.functional.scaled_dot_product_attention(q.cpu(), q.cpu(), q.cpu(), is_causal=True)
assert torch.allclose(found.cpu(), expected, atol=1e-5)
""",
    "torch.nn.attention.flex_attention.create_mask": """
found = torch.nn.attention.flex_attention.create_mask(lambda b, h, i, j: i >= j, 1, 1, 3, 3, device="cuda")
assert found.cpu().tolist() == [[torch.ones(3, 3).tril().bool().tolist()]]
""",
    "torch.nn.attention.varlen.varlen_attn": """
import tdev.nn.attention.varlen as varlen
q = torch.rand(5, 2, 8, device="cuda", dtype=torch.float32)
starts = torch.tensor([0, 2, 5], device="cuda", dtype=torch.int32)
found = varlen.varlen_attn(q, q, q, starts, starts, 3, 3)
parts = [q.cpu()[a:b].transpose(0, 1) for a, b in ((0, 2), (2, 5))]
expected = torch.cat([torch.nn.functional.scaled_dot_product_attention(p, p, p).transpose(0, 1) for p in parts])
assert torch.allclose(found.cpu(), expected, atol=1e-5)
""",
    "torch.nn.attention.varlen.varlen_attn_out": """
import tdev.nn.attention.varlen as varlen
q = torch.rand(5, 2, 8, device="cuda", dtype=torch.float32)
starts = torch.tensor([0, 2, 5], device="cuda", dtype=torch.int32)
out = torch.empty_like(q)
varlen.varlen_attn_out(out, q, q, q, starts, starts, 3, 3)
assert torch.allclose(out, varlen.varlen_attn(q, q, q, starts, starts, 3, 3))
""",
    # -- profiling and environment ------------------------------------------------------------------
    "torch.autograd.profiler.emit_nvtx": """
with torch.autograd.profiler.emit_nvtx():
    assert torch.ones(2, device="cuda").sum().item() == 2
""",
    "torch.cuda.profiler.profile torch.cuda.profiler.start torch.cuda.profiler.stop": """
with torch.cuda.profiler.profile():
    x = torch.ones(2, device="cuda")
torch.cuda.profiler.start()
y = x + 1
torch.cuda.profiler.stop()
assert y.tolist() == [2, 2] and x.tolist() == [1, 1]
""",
    "torch.cuda.CudaError": "assert isinstance(torch.cuda.CudaError(2), RuntimeError)",
    "torch.backends.cuda.cufft_plan_cache": """
cache = torch.backends.cuda.cufft_plan_cache
torch.fft.fft(torch.ones(8, device="cuda"))
cache.clear()
cache.max_size = 7
assert cache.size == 0 and cache.max_size == 7 and cache[0].max_size == 7
""",
    "torch.cuda._is_in_bad_fork torch.cuda._lazy_init torch.cuda._lazy_call": """
called = []
torch.cuda._lazy_init()
torch.cuda._lazy_call(lambda: called.append(1))
assert called == [1] and torch.cuda._is_in_bad_fork() is False
""",
    "torch.cuda._exchange_device torch.cuda._maybe_exchange_device": """
assert torch.cuda._exchange_device(0) == torch.cuda._maybe_exchange_device(0) == 0
assert torch.cuda._exchange_device(-1) == torch.cuda._maybe_exchange_device(-1) == -1
""",
    "torch.backends.cuda.is_built": """
built = __import__("torch").backends.cuda.is_built()  # stock torch's, of either build
assert torch.backends.cuda.is_built() is (built or torch.cuda.is_available())
""",
    "torch.version.cuda": """
assert torch.version.cuda == "0.0" and not torch.version.cuda
""",
    # -- settings of cuBLAS's tuner, kept; tuning itself is cuBLAS's ---------------------------------
    "torch.cuda.tunable.enable torch.cuda.tunable.is_enabled": """
torch.cuda.tunable.enable(False)
assert not torch.cuda.tunable.is_enabled()
""",
    "torch.cuda.tunable.tuning_enable torch.cuda.tunable.tuning_is_enabled": """
torch.cuda.tunable.tuning_enable(False)
assert not torch.cuda.tunable.tuning_is_enabled()
""",
    "torch.cuda.tunable.record_untuned_enable torch.cuda.tunable.record_untuned_is_enabled": """
torch.cuda.tunable.record_untuned_enable(False)
assert not torch.cuda.tunable.record_untuned_is_enabled()
""",
    **{
        f"torch.cuda.tunable.set_{name} torch.cuda.tunable.get_{name}": f"""
torch.cuda.tunable.set_{name}(9)
assert torch.cuda.tunable.get_{name}() == 9 * {unit}
"""
        for name, unit in {
            "max_tuning_duration": 1,
            "max_tuning_iterations": 1,
            "rotating_buffer_size": 1 << 20,  # set in MiB, told in bytes
        }.items()
    },
    "torch.cuda.tunable.set_filename torch.cuda.tunable.get_filename": """
torch.cuda.tunable.set_filename(folder + "/tuned.csv")
assert torch.cuda.tunable.get_filename() == folder + "/tuned.csv"
""",
    "torch.cuda.tunable.set_numerical_check_tolerances": (
        "torch.cuda.tunable.set_numerical_check_tolerances(True, 1e-3, 1e-3)"
    ),
    "torch.cuda.tunable.get_results": "assert isinstance(torch.cuda.tunable.get_results(), tuple)",
    "torch.cuda.tunable.get_validators": "assert isinstance(torch.cuda.tunable.get_validators(), tuple)",
    "torch.cuda.tunable.read_file": "assert torch.cuda.tunable.read_file(folder + '/none.csv') is False",
    "torch.cuda.tunable.tune_gemm_in_file": "torch.cuda.tunable.tune_gemm_in_file(folder + '/none.csv')",
    "torch.cuda.tunable.mgpu_tune_gemm_in_file": "torch.cuda.tunable.mgpu_tune_gemm_in_file(folder + '/*', 1)",
    # -- what has no answer here, and says so --------------------------------------------------------
    "torch.cuda.memory_usage": "torch.cuda.memory_usage()",
    "torch.xpu.memory_usage": "torch.xpu.memory_usage()",
    "torch.cuda.nccl.init_rank": "torch.cuda.nccl.init_rank(1, b'0' * 128, 0)",
    "torch.mps.compile_shader": "torch.mps.compile_shader('')",
    "torch.mps.load_metallib": "torch.mps.load_metallib('none.metallib')",
    "torch.mps.profiler.metal_capture": "torch.mps.profiler.metal_capture('none')",
    "torch.mtia.attach_out_of_memory_observer": "torch.mtia.attach_out_of_memory_observer(print)",
    "torch.mps.profiler.is_capturing_metal": "assert torch.mps.profiler.is_capturing_metal() is False",
    "torch.mps.profiler.is_metal_capture_enabled": (
        "assert torch.mps.profiler.is_metal_capture_enabled() is False"
    ),
    "torch.mps.profiler.profile torch.mps.profiler.start torch.mps.profiler.stop": """
with torch.mps.profiler.profile():
    x = torch.ones(2, device="cuda")
torch.mps.profiler.start()
y = x + 1
torch.mps.profiler.stop()
assert y.tolist() == [2, 2] and x.tolist() == [1, 1]
""",
    "torch.xpu.can_device_access_peer": "assert torch.xpu.can_device_access_peer(0, 0) in (True, False)",
    "torch.backends.mps.is_macos_or_newer": "assert torch.backends.mps.is_macos_or_newer(1, 0) is False",
    "torch.backends.cudnn.rnn.get_cudnn_mode": "assert torch.backends.cudnn.rnn.get_cudnn_mode('LSTM') == 2",
    # -- functions whose device is translated --------------------------------------------------------
    "torch.serialization.load": """
torch.save({"x": torch.arange(3)}, folder + "/saved.pt")
x = torch.load(folder + "/saved.pt", map_location="cuda")["x"]
assert x.tolist() == [0, 1, 2] and x.device.type == torch.zeros(1, device="cuda").device.type
""",
    "torch.set_default_device": """
torch.set_default_device("cuda")
kind = torch.ones(1).device.type
torch.set_default_device(None)
assert kind == torch.zeros(1, device="cuda").device.type
""",
    "torch.get_device_module": """
module = torch.get_device_module("cuda")
assert callable(module.synchronize) and module.synchronize() is None
""",
    "torch.hub.load_state_dict_from_url": """
import pathlib
torch.save({"x": torch.arange(3)}, folder + "/hub.pt")
url = pathlib.Path(folder, "hub.pt").as_uri()
x = torch.hub.load_state_dict_from_url(url, folder + "/cache", map_location="cuda", progress=False)["x"]
assert x.tolist() == [0, 1, 2] and x.device.type == torch.zeros(1, device="cuda").device.type
""",
    "torch.optim.swa_utils.update_bn": """
m = torch.nn.BatchNorm1d(2).to("cuda")
torch.optim.swa_utils.update_bn([torch.tensor([[0.0, 1.0], [2.0, 5.0]])], m, device="cuda")
assert m.running_mean.tolist() == [1, 3]
""",
    "torch.utils.checkpoint.set_device_states": """
devices, states = torch.utils.checkpoint.get_device_states(torch.ones(1, device="cuda"))
first = torch.rand(3, device="cuda")
torch.utils.checkpoint.set_device_states(devices, states, device_type="cuda")
assert devices == [] or torch.equal(torch.rand(3, device="cuda"), first)
states = [torch.cuda.get_rng_state()]
first = torch.rand(3, device="cuda")
torch.utils.checkpoint.set_device_states([0], states)
assert torch.equal(torch.rand(3, device="cuda"), first)
""",
    "torch.utils.cpp_extension.CUDAExtension": """
import torch.utils.cpp_extension as built
built.CUDA_HOME = None  # whatever toolkit this machine has
import tdev.utils.cpp_extension as built
for name, text in (("/a.cpp", "int one() { return 1; }"), ("/halve.cu", "__global__ void halve(float* x) { *x /= 2; }")):
    with open(folder + name, "w") as f:
        f.write(text)
made = built.CUDAExtension("a", [folder + "/a.cpp", folder + "/halve.cu"], define_macros=[("WITH_CUDA", None)])
assert made.sources == [folder + "/a.cpp"] and not made.define_macros and "cudart" not in made.libraries
""",
    "torch.utils.dlpack.from_dlpack": """
x = torch.utils.dlpack.from_dlpack(torch.arange(3), device="cpu")
assert x.tolist() == [0, 1, 2]
""",
    "torch.from_file": """
import numpy
numpy.arange(3, dtype="float32").tofile(folder + "/data")
x = torch.from_file(folder + "/data", size=3, device="cuda")
assert x.tolist() == [0, 1, 2]
""",
    "torch.nested.nested_tensor torch.nested.as_nested_tensor": """
parts = [torch.ones(2), torch.zeros(3)]
for layout in (torch.strided, torch.jagged):
    a = torch.nested.nested_tensor(parts, device="cpu", layout=layout)
    b = torch.nested.as_nested_tensor(parts, device="cpu", layout=layout)
    assert [x.tolist() for x in a.unbind()] == [x.tolist() for x in b.unbind()] == [[1, 1], [0, 0, 0]]
""",
    "torch.sparse_coo_tensor": """
x = torch.sparse_coo_tensor(torch.tensor([[1]]), torch.tensor([2.0]), (3,), device="cuda")
assert x.to_dense().tolist() == [0, 2, 0]
""",
    "torch.sparse_csr_tensor torch.sparse_csc_tensor torch.sparse_compressed_tensor": """
crow, col, values = [0, 1, 2], [1, 0], torch.tensor([3.0, 4.0])
a = torch.sparse_csr_tensor(crow, col, values, (2, 2), device="cuda")
b = torch.sparse_csc_tensor(crow, col, values, (2, 2), device="cuda")
c = torch.sparse_compressed_tensor(crow, col, values, (2, 2), layout=torch.sparse_csr, device="cuda")
assert a.to_dense().tolist() == c.to_dense().tolist() == [[0, 3], [4, 0]]
assert b.to_dense().tolist() == [[0, 4], [3, 0]]
""",
    "torch.sparse_bsr_tensor torch.sparse_bsc_tensor": """
block = torch.arange(4.0).view(1, 2, 2)
a = torch.sparse_bsr_tensor([0, 1], [0], block, (2, 2), device="cuda")
b = torch.sparse_bsc_tensor([0, 1], [0], block, (2, 2), device="cuda")
assert a.to_dense().tolist() == b.to_dense().tolist() == [[0, 1], [2, 3]]
""",
}
