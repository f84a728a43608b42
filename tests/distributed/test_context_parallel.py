"""``context_parallel``: two ranks with half a sequence each attend as one with all of it does, forward and backward."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tdev_core.release import torch_release
from tests.forkserver import COMPILER, environment, ranks

BACKENDS = ["cpu", "sim", *(["mlx"] if find_spec("mlx") else [])]

PROGRAM = """
import json
import sys

import tdev as torch
import tdev.nn.functional as F
from tdev import distributed as dist, nn
from tdev.distributed.device_mesh import init_device_mesh
from tdev.distributed.tensor.experimental import context_parallel
from tdev.distributed.tensor.experimental._attention import context_parallel_unshard, set_rotate_method
from torch.distributed.tensor.experimental._context_parallel._attention import _ContextParallel, _cp_options

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank % max(1, torch.cuda.device_count()))
mesh = init_device_mesh("cuda", (2,), mesh_dim_names=("context",))
torch.manual_seed(0)
query, upstream = torch.randn(2, 2, 4, 16, 8, device="cuda")
keys = torch.randn(2, 2, 4, 16, 8, device="cuda")
plain = F.scaled_dot_product_attention


def gradients(out, inputs, upstream):
    return [out, *torch.autograd.grad(out, inputs, upstream)]


def off(balanced, attend=None, heads=4, **how):
    whole = [query, *(x[:, :heads].clone() for x in keys), upstream]
    inputs = [x.clone().requires_grad_() for x in whole[:3]]
    want = gradients(plain(*inputs, **how), inputs, upstream)
    _cp_options.enable_load_balance = balanced
    pieces = [x.clone() for x in whole]
    with context_parallel(mesh, buffers=pieces, buffer_seq_dims=[2] * 4):
        inputs = [x.detach().clone().requires_grad_() for x in pieces[:3]]
        attend = attend or F.scaled_dot_product_attention
        parts = gradients(attend(*inputs, **how), inputs, pieces[3].clone())
        assert parts[0].shape[2] == 8
        got = context_parallel_unshard(mesh, [x.detach() for x in parts], [2] * 4)
    return max((a - b).abs().max().item() for a, b in zip(got, want))


class Attention(nn.Module):
    def forward(self, query, key, value, **how):
        return F.scaled_dot_product_attention(query, key, value, **how)


def planned(*inputs, **how):
    attention = Attention()
    _ContextParallel(2, _ContextParallel.AttentionType.SDPA)._apply(attention, mesh)
    return attention(*inputs, **how)


def refused(**how):
    try:
        off(**how)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


found = {
    "balanced": off(True, is_causal=True),
    "not balanced": off(False, is_causal=True),
    "not causal": off(False),
    "scaled": off(True, is_causal=True, scale=0.5),
    "grouped heads": off(True, is_causal=True, heads=2, enable_gqa=True),
    "planned": off(True, planned, is_causal=True),
}
set_rotate_method("alltoall")
found["rotated by all-to-all"] = off(True, is_causal=True)
found["put back"] = F.scaled_dot_product_attention is plain
found["mask"] = refused(balanced=False, attn_mask=torch.ones(1, 1, dtype=torch.bool, device="cuda"))
found["dropout"] = refused(balanced=True, is_causal=True, dropout_p=0.5)
found["put back after an error"] = F.scaled_dot_product_attention is plain
open(sys.argv[1] + str(rank), "w").write(json.dumps(found))
dist.destroy_process_group()
"""


@pytest.fixture(scope="module", params=BACKENDS)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp(f"context-{request.param}") / "found"
    env = environment(TDEV_BACKEND=request.param, TDEV_SIM_DEVICES="2")
    for done in ranks("-c", PROGRAM, str(file), env=env, preload=COMPILER):
        assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(Path(f"{file}{rank}").read_text(encoding="utf-8")) for rank in (0, 1)]


@pytest.mark.parametrize(
    "how",
    [
        "balanced",
        "not balanced",
        "not causal",
        "scaled",
        "grouped heads",
        "planned",
        "rotated by all-to-all",
    ],
)
def test_pieces_attend_as_the_whole_does(how: str, found: Any) -> None:
    assert all(rank[how] < 2e-5 for rank in found), found


@pytest.mark.parametrize("what", ["mask", "dropout"])
def test_what_torch_has_no_ring_for_is_refused(what: str, found: Any) -> None:
    for rank in found:
        assert rank[what].startswith("UnsupportedError: context_parallel does not attend with ")
        assert what in rank[what]


def test_the_function_is_put_back(found: Any) -> None:
    assert all(rank["put back"] for rank in found)


@pytest.mark.skipif(
    torch_release < (2, 13), reason="where its block raises, torch puts nothing back before 2.13"
)
def test_the_function_is_put_back_after_an_error(found: Any) -> None:
    assert all(rank["put back after an error"] for rank in found)
