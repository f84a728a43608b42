"""What CONTRIBUTING says of threads: no function changes what a module holds, but for what is listed here, with the reason.

A new one fails here. Add it to the list that it belongs to, or better, do without it.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.ground.module_state import Change, caches, changes, thread_locals

ROOT = Path(__file__).resolve().parents[2] / "tdev_core"

LOCKED = {
    "accelerators.events._last_tick": "_clock_lock",
    "accelerators.mlx._active": "_activating",
    **{f"accelerators.lagging.{n}": "_changing" for n in ("asked", "_until")},
    "accelerators.mlx.collectives.connected._asked": "_asking",
    "accelerators.mlx.collectives.connected._found": "_asking",
    "accelerators.mlx.dispatch.fallback.counts": "_counting",
    "accelerators.mlx.generators._default": "_making",
    "accelerators.streams._defaults": "_defaults_lock",
    "metrics.counters.calls": "_counting",
    "metrics.counters.fallbacks": "_counting",
    "accelerators.privateuse.process_group._kept": "_keeping",
    "accelerators.privateuse.waits.seen": "_noting",
    **{
        f"accelerators.sim.faults.{n}": "_counting"
        for n in ("asked", "lost", "_faults", "_allocations", "_operators", "_steps", "_hook")
    },
    "accelerators.sim.listening._listeners": "_changing",
    "accelerators.sim.listening._rest": "_changing",
    "accelerators.sim.pinned._registered": "_changing",
    **{f"accelerators.sim.refusals.{n}": "_changing" for n in ("asked", "dtypes", "_checks")},
    "cuda.memory.allocator._held": "_lock",
    "cuda.memory.history._held": "_lock",
    "packages.interpreter.launches.seen": "_counting",
    "shims.install._waiting": "_lock",
    "metrics.watermark._watched": "_lock",
}
"""Changed while the lock of this name is held, and nowhere else."""

THREADS_OWN = {
    "measure.recording._of_thread": "the recording of a thread that the program has started",
    "accelerators.capturing._local": "the graph that the thread captures into",
    "accelerators.mlx.bounds._tracing": "the checks of the graph that the thread traces",
    "accelerators.mlx.runtime._local": "whether the thread has MLX's stream; what it has not evaluated",
    "accelerators.privateuse.coalescing._local": "works that the thread has begun inside a block",
    "accelerators.privateuse.torch_api._backward_ready": "whether the thread runs backward passes itself",
    "accelerators.sim.fallback._numbers": "where the number lies that the thread assigns",
    "accelerators.sim.memory._current": "the thread's current device",
    "accelerators.privateuse.thread_generator._instead": "the generator that the thread draws from meanwhile",
    "accelerators.streams._local": "the thread's current streams",
    "metrics.counters._answering": "whether the thread answers a call that is counted",
    "cuda.amp._switched": "what the thread's autocast was before it was switched on",
    "cuda.nvtx._local": "the thread's open ranges",
    "compiler.archives._entered": "whether the thread is in a load, which a stand-in of torch.load may ask for again",
    "packages.interpreter.launches._running": "the kernel that the thread interprets, and its arguments' memory",
    "shims.moved._default": "whether the thread's default device is the accelerator's",
    "shims.tensortypes._set_by_type": "the default device that the thread has by a tensor type",
}
"""A ``threading.local``."""

SET_UP = {
    "accelerators.tracing._callbacks": "the import of torch's module of callbacks",
    "accelerators.tracing._waiting": "activate",
    "accelerators.tracing.told": "the import of torch's module of callbacks",
    "accelerators.mlx.attention._library": "activate",
    "accelerators.mlx.dtypes.category": "activate",
    "accelerators.mlx.dtypes.to_mx": "activate",
    "accelerators.mlx.dtypes.to_torch": "activate",
    "accelerators.mlx.native.library._kernels": "activate, or `python -m tdev native`",
    "accelerators.mlx.registry.OPERATORS": "the import of the modules with kernels",
    "accelerators.mlx.runtime._process": "activate",
    "accelerators.mlx.runtime._stream": "activate",
    "accelerators.mlx.runtime.on_cpu": "activate",
    "accelerators.mlx.setup.registered": "activate",
    "accelerators.privateuse.dlpack._kept": "activate",
    "accelerators.privateuse.process_group._installed": "activate",
    "accelerators.privateuse.registration._registered": "activate",
    "accelerators.privateuse.torch_api._implemented": "activate",
    "accelerators.privateuse.torch_api._kept": "activate",
    "accelerators.privateuse.torch_api._libraries": "activate",
    "accelerators.sim.listening._changing": "the fork, in a child that has one thread",
    "accelerators.sim.memory._devices": "activate",
    "accelerators.sim.memory._indices": "activate",
    "accelerators.sim.memory._makes_whole": "activate",
    "accelerators.sim.memory._native": "activate",
    "accelerators.sim.determinism._asked": "activate",
    "accelerators.sim.memory._pools": "activate",
    "accelerators.sim.native.library._kernels": "activate",
    "accelerators.streams.chosen_natively": "activate",
    "accelerators.sim.pinned._by_the_library": "activate",
    "accelerators.sim.rng._generators": "activate",
    "accelerators.cpu.heap._bases": "the import of tdev; a second reading taken at once differs by what a thread allocates",
    "accelerators.sim.fallback.forked": "the fork, in a child that has one thread",
    "accelerators.mlx.collectives.connected._world": "init_process_group, which one thread of a rank calls",
    "errors._uncounted": "the import of tdev",
    "errors._listeners": "the start and the end of a monitor",
    "metrics.journal._watchers": "the start and the end of a monitor",
    "measure.monitoring._running": "the start and the end of a monitor",
    "measure.monitoring._trainers": "the start of a trainer",
    "measure.tuning.applying._applied": "the import of tdev, or tdev.tune.apply before the first step",
    "measure.recording._here": "the start of a program that the command diff records",
    "ecosystem.libraries._rewritten": "the start of `tdev run`, and of a child of it",
    "import_hooks._watcher": "the import of tdev",
    "shims.install._installed": "the import of tdev, and install and uninstall, which hold the room's lock",
    "shims.safetensors_files._active": "install and uninstall, which hold the lock of shims.install",
    "accelerators.privateuse.operators._making": "the fork, in a child that has one thread",
    "metrics.watermark._lock": "the fork, in a child that has one thread",
    "metrics.watermark._thread": "under its lock, or the fork, in a child that has one thread",
}
"""Written while the device or the shims are set up, once, before there are threads to see it half done."""

SAME_AGAIN = {
    "accelerator._active": "the backend's accelerator, which has no state of its own",
    "accelerators.mlx.bounds._known": "extremes of an array, looked up by identity; emptied at 256",
    "accelerators.mlx.runtime.compiles": "true from the first compilation on",
    "accelerators.mlx.storage.allocation._from_capsule": "torch's function",
    "accelerators.sim.memory._settled": "how many devices are visible, from the first use of one on",
    "backend._active": "the backend",
    "codemod.engine.slicing.seeds._last": "what the last facts about torch say; others make it again",
    "cuda.device_selection.denied": "true from the first no on",
    "devices._moves_copy": "the same for the life of the process",
    "devices._known": "what a device means; the first thread's answer stays (`setdefault`)",
    "distributed.host_copies._served": "a name",
}
"""Two threads that come at once write the same, with one operation of a dict or set."""

ONE_ENTRY = {
    "accelerators.mlx.collectives.host_copies._waiting": "a receiver, by itself",
    "accelerators.mlx.layout.below": "a view, by identity, taken out by the weak reference before the identity is free",
    "accelerators.mlx.storage.structs._left": "a struct, appended to a deque",
    "accelerators.privateuse.generator._by_address": "a generator, by its address",
    "metrics.counters.answered": "a name",
    "accelerators.sim.memory.observers": "an observer, appended to a list",
    "cuda.cudart._streams": "a stream, by its number",
    "cuda.nvtx._open": "a range, by its handle",
    "distributed.group_backends._asked": "a process group, held weakly",
    "distributed.host_copies._waiting": "a receiver, by itself",
    "run.leftout._named": "a module, named once; two threads may both name it",
    "shims.distributed._outlived": "a process group, appended to a list",
    "shims.libraries._standing_in": "an operator, by its name; two that register for it at once override each other in torch too",
    "shims.moved.marks": "a tensor, by its address; a reference that has died is nobody's, whoever takes it out",
    "shims.moved._sweep_at": "a number; two threads that come at once look through the marks twice",
    "errors._warned": "a warning; two threads may both give it",
}
"""Each thread adds and takes out entries of its own, with one operation of a dict, set or deque."""

SETTINGS = {
    "cuda.backends._preferred",
    "cuda.backends._workspace",
    "accelerators.privateuse.waits._mode",
    "cuda.memory.allocator._cache_limit",
    "cuda.memory.allocator._enabled",
    "cuda.memory.history._current",
    "cuda.memory.history._watcher",
    "cuda.memory.usage._fractions",
    "cuda.tunable._settings",
    "packages.apex.amp._state",
    "shims.tensortypes._legacy_there",
}
"""What the program sets for the whole process by calling a function of that name, as in torch; nothing else changes it."""

NOT_CHANGED = {"accelerators.mlx.lazy.mx": "`mx.add` is MLX's addition"}

UNBOUNDED = {
    "accelerators.mlx.dtypes._combine": "pairs of element types",
    "accelerators.mlx.dtypes._promote": "pairs of element types",
    "accelerators.privateuse.schema.facts": "operators",
    "accelerators.privateuse.torch_api._byte_prototype": "devices",
    "accelerators.privateuse.torch_api.kernel": "operators",
    "accelerators.privateuse.torch_api.prototype": "devices and element types",
    "accelerators.drawing._key": "operators",
    "accelerators.drawing._place": "operators",
    "accelerators.sim.aliasing._empty": "element types",
    "accelerators.sim.rules.rules": "operators",
    "accelerators.sim.metal._lacks": "operators",
    "codemod.engine.analysis.nodes._is_node": "classes of a syntax tree",
    "codemod.engine.analysis.nodes._values": "classes of a syntax tree",
    "codemod.jobs.surveying.raw": "modules of the tree, for one survey",
    "codemod.output.about.page": "rules",
    "codemod.engine.analysis.scopes._is_statement": "classes of a syntax tree",
    "compiler.dynamo_calls._by_name": "functions of the mirror",
    "cuda.memory.usage._reserved_mark": "devices",
    "devices.is_foreign": "types of devices",
    "packages.shapes._parted": "shapes that the stand-ins document",
    "packages.watching._watched": "functions of the stand-ins",
}
"""Functions that keep every result, and what there are only so many of that they are asked about."""


@cache
def found() -> dict[str, list[Change]]:
    by_name: dict[str, list[Change]] = {}
    for change in changes(ROOT):
        by_name.setdefault(change.name, []).append(change)
    return by_name


def test_every_name_that_functions_change_is_listed_with_its_reason() -> None:
    groups = [LOCKED, THREADS_OWN, SET_UP, SAME_AGAIN, ONE_ENTRY, SETTINGS, NOT_CHANGED]
    listed = [name for group in groups for name in group]
    assert len(listed) == len(set(listed))
    seen = found()
    new = {name: [c.line for c in seen[name]] for name in seen.keys() - set(listed)}
    assert not new, "a function changes what a module holds; see CONTRIBUTING, Threads"
    assert not set(listed) - seen.keys(), "nothing changes this any more: take it off the list"


def test_what_has_a_lock_is_changed_under_it() -> None:
    seen = found()
    bare = [c for name, lock in LOCKED.items() for c in seen[name] if lock not in c.under]
    assert not bare


def test_what_is_a_threads_own_is_made_so() -> None:
    assert thread_locals(ROOT) >= THREADS_OWN.keys()


def test_whatever_is_kept_without_a_bound_is_asked_about_few_things() -> None:
    assert set(caches(ROOT)) == UNBOUNDED.keys()


def test_the_reader_sees_every_form_of_a_change(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "other.py").write_text("held = {}\nflag = False\n")
    (package / "one.py").write_text(
        "from package import other\nfrom package.other import held\nimport threading, functools\n"
        "a = b = c = d = e = f = g = None\nmine = threading.local()\nlock = threading.Lock()\n"
        "def change(f, *, local=None):\n"
        "    global a, b\n"
        "    a, x = 1, 2\n"
        "    with lock:\n"
        "        b += 1\n"
        "    c[1][2] = 3\n"
        "    del d.part\n"
        "    f.append(1)\n"  # a parameter
        "    x.append(1)\n"  # a variable
        "    e.inner.update(y=1)\n"
        "    other.flag = True\n"
        "    held.clear()\n"
        "    mine.x = 1\n"
        "    (lambda: g.pop())()\n"
        "@functools.lru_cache(maxsize=None)\n"
        "def kept(x): ...\n"
        "@functools.lru_cache(maxsize=1)\n"
        "def one(x): ...\n"
    )
    seen = {c.name: c.under for c in changes(package)}
    names = {f"one.{n}" for n in ("a", "b", "c", "d", "e", "g", "mine")}
    assert seen.keys() == names | {"other.flag", "other.held"}
    assert seen["one.b"] == {"lock"} and not seen["one.a"]
    assert thread_locals(package) == {"one.mine"} and list(caches(package)) == ["one.kept"]
    assert ast.parse((package / "one.py").read_text())
