"""Writes apex's data parallelism and batch norms over all ranks as torch's, where the arguments say that they are the same.

Sources: apex/parallel/distributed.py, optimized_sync_batchnorm.py and __init__.py of the repository NVIDIA/apex; torch's own
documentation of DistributedDataParallel and SyncBatchNorm.
"""

from __future__ import annotations

import ast

from tdev_core.codemod.engine.rules.accelerator.torchs_calls import (
    UNSEEN,
    Call,
    Replaced,
    Written,
    literal,
)

__all__ = ["PARALLEL"]

_DATA_PARALLEL = (
    "module", "message_size", "delay_allreduce", "shared_param", "allreduce_trigger_params", "retain_allreduce_buffers",
    "allreduce_always_fp32", "num_allreduce_streams", "allreduce_communicators", "gradient_average", "gradient_predivide_factor",
    "gradient_average_split_factor", "prof",
)  # fmt: skip
_HOW_ALONE = frozenset({"message_size", "num_allreduce_streams", "prof"})
"""Options that say how gradients travel, which changes nothing of them."""
_DOES = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_AVERAGED: dict[str, object] = {
    "shared_param": None,
    "allreduce_trigger_params": None,
    "retain_allreduce_buffers": False,
    "allreduce_always_fp32": False,
    "allreduce_communicators": None,
    "gradient_average": True,
    "gradient_predivide_factor": 1.0,
    "gradient_average_split_factor": None,
}
"""Options that torch's class lacks, and the value with which the gradients are the plain average."""


def _data_parallel(call: Call) -> Written:
    given = call.arguments(_DATA_PARALLEL, 1)
    if given is None:
        return UNSEEN
    for name, node in given.items():
        if name in _HOW_ALONE and any(isinstance(n, _DOES) for n in ast.walk(node)):
            return Written(why=f"a {name} that does something itself")
        if name in _AVERAGED and literal(node, ...) != _AVERAGED[name]:
            return Written(why=name)
    if "able_allreduce" in call.source:
        return Written(why="disable_allreduce(), for which torch has `with model.no_sync():`")
    head = call.torch.spelled("torch.nn.parallel.DistributedDataParallel")
    if not head:
        return Written(why="torch under another name")
    # The old name of forward_sync_buffers: with it buffers stay each rank's own from the start, as apex's do.
    arguments = [call.text(given["module"]), "broadcast_buffers=False"]
    if "delay_allreduce" in given and literal(given["delay_allreduce"], ...) is not False:
        arguments.append(f"find_unused_parameters={call.text(given['delay_allreduce'])}")
    return Written((head, arguments, ""))


_BATCH_NORM = (
    "num_features", "eps", "momentum", "affine", "track_running_stats", "process_group", "channel_last", "fuse_relu",
)  # fmt: skip
_MOVED = {
    "channel_last": "channel_last: the channels are second in torch's, before and after it movedim(-1, 1) and movedim(1, -1)",
    "fuse_relu": "fuse_relu, for which torch has torch.nn.ReLU after it",
}


def _sync_batch_norm(call: Call) -> Written:
    return _plain(call, "torch.nn.SyncBatchNorm", _BATCH_NORM)


def _converted(call: Call) -> Written:
    full = "torch.nn.SyncBatchNorm.convert_sync_batchnorm"
    return _plain(call, full, ("module", "process_group", "channel_last"))


def _plain(call: Call, full: str, names: tuple[str, ...]) -> Written:
    """Write a call with the same arguments but what torch's lacks, where that is off."""
    given = call.arguments(names, 1)
    if given is None:
        return UNSEEN
    for name, why in _MOVED.items():
        if name in given and literal(given.pop(name), ...) is not False:
            return Written(why=why)
    head = call.torch.spelled(full)
    if not head:
        return Written(why="torch under another name")
    arguments = [call.text(given.pop(names[0]))]
    arguments += [f"{name}={call.text(node)}" for name, node in given.items()]
    return Written((head, arguments, ""))


PARALLEL: dict[str, Replaced] = {
    "apex.parallel.DistributedDataParallel": Replaced(
        _data_parallel, as_class="torch.nn.parallel.DistributedDataParallel"
    ),
    "apex.parallel.SyncBatchNorm": Replaced(_sync_batch_norm, as_class="torch.nn.SyncBatchNorm"),
    "apex.parallel.convert_syncbn_model": Replaced(_converted),
}
"""What torch has for the names of apex.parallel."""
