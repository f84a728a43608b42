"""What ``--target accelerator`` writes for flash_attn and apex computes the same, and what is not proven stays."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tdev_core.codemod.engine import Names, Options, Result, rewrite
from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.packages import flash_attn as stand_in
from tdev_core.packages.apex import amp
from tdev_core.packages.apex.normalization import FusedLayerNorm, FusedRMSNorm
from tdev_core.packages.apex.optimizers import FusedAdam
from tests import forkserver

HEAD = "import torch\nfrom flash_attn import flash_attn_func\n\n\ndef f(x, y, causal):\n"
NAMES = {
    "flash_attn": stand_in,
    "flash_attn_func": stand_in.flash_attn_func,
    "flash_attn_kvpacked_func": stand_in.flash_attn_kvpacked_func,
    "flash_attn_qkvpacked_func": stand_in.flash_attn_qkvpacked_func,
    "FusedAdam": FusedAdam,
    "FusedLayerNorm": FusedLayerNorm,
    "FusedRMSNorm": FusedRMSNorm,
}


def written(source: str, tree: ProgramTree | None = None) -> Result:
    return rewrite(source, Names.load(), Options(style="accelerator", tree=tree), filename="m.py")


def functions(source: str) -> dict[str, Any]:
    """Run a module whose imports of packages are answered by the stand-ins, or that has none any more."""
    lines = source.splitlines(keepends=True)
    names: dict[str, Any] = dict(NAMES)
    exec("".join(line for line in lines if not line.startswith(("from flash", "from apex"))), names)
    return names


def body(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


VIEWS = [f"{n} = {n}.view(b, t, 2, 4)" for n in "qkv"]
PROVEN = {
    "unbound": ["q, k, v = x.unbind(2)"],
    "unbound by torch": ["q, k, v = torch.unbind(x, dim=2)"],
    "indexed": ["q, k, v = x[:, :, 0], x[:, :, 1], x[:, :, 2]"],
    "viewed": ["b, t = x.shape[:2]", "q, k, v = x.flatten(2).chunk(3, dim=-1)", *VIEWS],
    "viewed alone": ["b, t = y.shape[:2]", "q = y.reshape(b, t, 2, 4)", "k = (2 * y).reshape(b, t, 2, 4)", "v = k"],
    "each viewed": ["b, t = x.shape[:2]", "q, k, v = (a.view(b, t, 2, 4) for a in x.flatten(2).chunk(3, -1))"],
    "mapped": ["b, t = x.shape[:2]", "q, k, v = map(lambda a: a.reshape(b, t, 2, 4), (y, y, y))"],
    "heads first and back": ["b, t = y.shape[:2]", "q = y.view(b, t, 2, 4).transpose(1, 2)", "q = q.transpose(1, 2)", "k = y.view(b, t, 2, 4)", "v = k"],
    "of another dtype and back": ["q, k, v = x.unbind(2)", "q, k = q.to(v.dtype), k.contiguous()"],
    "in a branch": ["if causal:", "    q, k, v = x.unbind(2)", "    return flash_attn_func(q, k, v, causal=True)", "q, k, v = x.unbind(2)"],
}  # fmt: skip


@pytest.mark.parametrize("name", PROVEN)
@pytest.mark.parametrize("causal", ["True", "causal"])
def test_proven_lengths(name: str, causal: str) -> None:
    source = body(*PROVEN[name], f"return flash_attn_func(q, k, v, causal={causal})")
    result = written(source)
    assert "flash_attn" not in result.code, result.findings
    x = torch.randn(2, 5, 3, 2, 4, dtype=torch.float64)
    y = torch.randn(2, 5, 2, 4, dtype=torch.float64)
    one, two = (functions(text)["f"](x, y, True) for text in (source, result.code))
    torch.testing.assert_close(one, two)
    assert two.is_contiguous()


UNPROVEN = {
    "parameters": ["q, k, v = x, y, y"],
    "keys of a cache": ["q, k, v = x.unbind(2)", "k = torch.cat([y, k], dim=1)"],
    "the last query": ["q, k, v = x.unbind(2)", "q = q[:, -1:]"],
    "a branch": ["q, k, v = x.unbind(2)", "if causal:", "    q = q[:, 1:]"],
    "a loop": ["q, k, v = x.unbind(2)", "for _ in range(2):", "    q = q[:, 1:]"],
    "a loop around": ["q, k, v = x.unbind(2)", "for _ in range(2):", "    o = flash_attn_func(q, k, v, causal=True)", "    q = q[:, 1:]"],
    "a try": ["q, k, v = x.unbind(2)", "try:", "    q = q[:, 1:]", "finally:", "    pass"],
    "a context": ["q, k, v = x.unbind(2)", "with torch.no_grad() as q:", "    pass"],
    "a walrus": ["q, k, v = x.unbind(2)", "if (q := y) is not None:", "    pass"],
    "another length": ["b, t = x.shape[:2]", "q = y.view(b, t, 2, 4)", "t = t + 1", "k = y.view(b, t, 2, 4)", "v = k"],
    "any length": ["q, k, v = y.view(2, -1, 2, 4), y.view(2, -1, 2, 4), y"],
    "parts of the sequence": ["q, k, v = x.chunk(3, dim=1)"],
    "rearranged sequence": ["q, k, v = x.unbind(2)", "q = rearrange(q, 'b (n m) d -> b n (m d)', m=2)"],
    "transposed": ["q, k, v = x.unbind(2)", "q = q.transpose(1, 2)"],
    "transposed indices": ["q, k, v = x[:, :, 0].transpose(1, 2), x[:, :, 1], x[:, :, 2]"],
    "deleted": ["q, k, v = x.unbind(2)", "del q", "q = y"],
    "a comprehension": ["k = v = x[:, :, 1]", "return [flash_attn_func(q, k, v, causal=True) for q in y]"],
    "a function inside": ["q, k, v = x.unbind(2)", "def g(q):", "    return flash_attn_func(q, k, v, causal=True)"],
}  # fmt: skip


@pytest.mark.parametrize("name", UNPROVEN)
def test_what_is_not_proven_stays(name: str) -> None:
    source = body(*UNPROVEN[name], "return flash_attn_func(q, k, v, causal=True)")
    result = written(source)
    assert result.code == source
    said = [f.message for f in result.findings if f.rule == "stand-in"]
    assert any("torch has for flash_attn_func" in m and "causal_lower_right" in m for m in said)


def test_the_mask_that_is_named_for_other_lengths_is_flash_attn_s() -> None:
    from torch.nn.attention.bias import causal_lower_right

    q, k = (
        torch.randn(2, 3, 2, 4, dtype=torch.float64),
        torch.randn(2, 5, 2, 4, dtype=torch.float64),
    )
    q1, k1 = q.transpose(1, 2), k.transpose(1, 2)
    mask = causal_lower_right(q.shape[1], k.shape[1])
    found = torch.nn.functional.scaled_dot_product_attention(q1, k1, k1, attn_mask=mask)
    meant = stand_in.flash_attn_func(q, k, k, causal=True)
    torch.testing.assert_close(found.transpose(1, 2), meant)


STEPS = [
    *("q, k, v = x.unbind(2)", "q, k, v = x[:, :, 0], x[:, :, 1], x[:, :, 2]", "q = y", "k, v = y, y", "q = q.contiguous()"),
    *("k, v = k[:, 1:], v[:, 1:]", "q = q[:, 1:]", "k, v = (a.to(y.dtype) for a in (k, v))", "t = t - 1"),
    *("q = q[:, :t].reshape(2, t, 2, 4)", "k, v = (a[:, :t].reshape(2, t, 2, 4) for a in (k, v))", "if t > 4:\n        q = y"),
]  # fmt: skip


@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_whatever_is_written_computes_the_same(steps: list[str]) -> None:
    start = ["q, k, v = y, x[:, :, 0], x[:, :, 1]", "t = x.shape[1]"]
    source = body(*start, *steps, "return flash_attn_func(q, k, v, causal=True)")
    result = written(source)
    if result.code == source:
        return
    x = torch.randn(2, 5, 3, 2, 4, dtype=torch.float64)
    y = torch.randn(2, 3, 2, 4, dtype=torch.float64)
    try:
        meant = functions(source)["f"](x, y, True)
    except Exception:
        return  # of sizes that do not fit
    torch.testing.assert_close(functions(result.code)["f"](x, y, True), meant)


def test_packed_forms_and_options() -> None:
    source = (
        "import torch\nfrom flash_attn import flash_attn_kvpacked_func, flash_attn_qkvpacked_func\n\n\n"
        "def f(qkv, q, kv):\n"
        "    one = flash_attn_qkvpacked_func(qkv, 0.0, 0.3, True, window_size=(-1, -1), alibi_slopes=None)\n"
        "    return one, flash_attn_kvpacked_func(q, kv, softcap=0.0, deterministic=False)\n"
    )
    result = written(source)
    assert "flash_attn" not in result.code
    qkv = torch.randn(2, 5, 3, 4, 8, dtype=torch.float64)
    q = torch.randn(2, 3, 4, 8, dtype=torch.float64)
    kv = torch.randn(2, 5, 2, 2, 8, dtype=torch.float64)  # two heads for four
    for found, meant in zip(functions(result.code)["f"](qkv, q, kv), functions(source)["f"](qkv, q, kv), strict=True):  # fmt: skip
        torch.testing.assert_close(found, meant)


@pytest.mark.parametrize(
    "arguments",
    [
        "weight_decay=0.1",
        "1e-2, True, (0.8, 0.9), 1e-6",
        "lr=1e-2, adam_w_mode=False, weight_decay=0.1",
        "lr=1e-2, set_grad_none=True, amsgrad=False",
        "",
    ],
)
def test_optimizers(arguments: str) -> None:
    source = (
        "import torch\nfrom apex.optimizers import FusedAdam\n\n\n"
        f"def f(model):\n    return FusedAdam(model.parameters(), {arguments})\n"
    )
    result = written(source)
    assert "Fused" not in result.code
    trained = []
    for text in (source, result.code):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 3, dtype=torch.float64)
        optimizer = functions(text)["f"](model)
        for _ in range(5):
            optimizer.zero_grad()
            model(torch.ones(2, 4, dtype=torch.float64)).square().sum().backward()
            optimizer.step()
        trained.append(model.weight)
    torch.testing.assert_close(*trained)


def test_norms() -> None:
    source = (
        "import torch\nfrom apex.normalization import FusedLayerNorm, FusedRMSNorm\n\n\n"
        "def f(c):\n    return FusedLayerNorm(8, 1e-3, memory_efficient=True), FusedRMSNorm([8]), c(8)\n\n\nCLASS = FusedLayerNorm\n"
    )
    result = written(source)
    assert "Fused" not in result.code
    x = torch.randn(3, 8) / 300  # where eps decides
    found, meant = (functions(text) for text in (result.code, source))
    for one, two in zip(found["f"](found["CLASS"]), meant["f"](meant["CLASS"]), strict=True):
        torch.testing.assert_close(one(x), two(x))


def test_what_another_module_takes_stays() -> None:
    source = body("q, k, v = x.unbind(2)", "return flash_attn_func(q, k, v)")
    assert written(source).code != source
    tree = ProgramTree(taken=frozenset({"flash_attn_func"}))
    assert written(source, tree).code == source


def test_what_is_kept_stays() -> None:
    source = body("q, k, v = x.unbind(2)", "return flash_attn_func(q, k, v)  # tdev: keep")
    assert written(source).code == source


NET = """\
import torch
from apex.parallel import DistributedDataParallel, SyncBatchNorm, convert_syncbn_model


def made(rank, device):
    layers = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU(), SyncBatchNorm(3, 1e-3, 0.2)
    net = convert_syncbn_model(torch.nn.Sequential(*layers)).to(device)
    net.register_buffer("mine", torch.tensor(float(rank), device=device))
    net = DistributedDataParallel(net, message_size=2**10, delay_allreduce=True)
    assert isinstance(net, DistributedDataParallel)
    return net
"""
RANK = """\
import json
import torch
import torch.distributed as dist
from net import made


def main():
    dist.init_process_group()
    rank, device = dist.get_rank(), torch.accelerator.current_accelerator()
    torch.manual_seed(rank)
    whole = torch.randn(7, 3, generator=torch.Generator().manual_seed(5))
    own = (whole[:4] if rank == 0 else whole[4:]).to(device)
    net, found = made(rank, device), []
    for _ in range(2):
        net.zero_grad()
        (net(own) ** 3).sum().backward()
        found.append([p.grad.tolist() for p in net.parameters()])
    found.append({name: t.tolist() for name, t in net.state_dict().items()})
    print(json.dumps(found))
    dist.destroy_process_group()


main()
"""


def test_data_parallelism(tmp_path: Path) -> None:
    """Two ranks have the gradients, statistics and buffers that they had before."""
    after = written(NET).code
    assert "apex" not in after, written(NET).findings
    env = forkserver.environment(
        TDEV_BACKEND="sim", TDEV_SIM_DEVICES="2", TDEV_CACHE_DIR=str(tmp_path / "cache")
    )
    said = []
    for name, text in (("before", NET), ("after", after)):
        script = tmp_path / name / "rank.py"
        script.parent.mkdir()
        script.write_text(RANK)
        script.with_name("net.py").write_text(text)
        done = forkserver.ranks("-m", "tdev", "run", str(script), env=env)
        assert all(one.returncode == 0 for one in done), done[0].stderr + done[1].stderr
        said.append([json.loads(one.stdout) for one in done])
    for before, now in zip(*said, strict=True):
        for meant, found in zip(flat(before), flat(now), strict=True):
            torch.testing.assert_close(torch.tensor(found), torch.tensor(meant))
    assert [one[-1]["module.mine"] for one in said[1]] == [0.0, 1.0], "each rank's own"


def flat(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in flat(value[key])]
    return [x for one in value for x in flat(one)] if isinstance(value, list) else [value]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("DistributedDataParallel(x, gradient_average=False)", "gradient_average"),
        ("DistributedDataParallel(x, allreduce_always_fp32=True)", "allreduce_always_fp32"),
        ("DistributedDataParallel(x, message_size=size())", "a message_size that does something"),
        ("DistributedDataParallel(x).disable_allreduce()", "disable_allreduce(), for which"),
        ("DistributedDataParallel(*x)", "arguments that are not seen"),
        ("SyncBatchNorm(x, fuse_relu=y)", "fuse_relu"),
        ("convert_syncbn_model(x, None, True)", "channel_last"),
    ],
)
def test_data_parallelism_that_torch_has_not_stays(call: str, why: str) -> None:
    name = call.partition("(")[0]
    source = f"from apex.parallel import {name}\n\n\ndef f(x, y):\n    return {call}\n"
    result = written(source)
    assert result.code == source
    assert any(f"{name} stays for {why}" in f.message for f in result.findings), result.findings


AMP = """\
import torch
from apex import amp


def train(model, optimizer, xs, clipped):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1", verbosity=0)
    for x in xs:
        optimizer.zero_grad()
        out = model(x)
        loss = out.square().mean()
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), clipped)
        optimizer.step()
    return model
"""


def test_what_is_said_line_by_line_of_amp_trains_as_apex_does() -> None:
    """Written by hand from the findings, it skips the step of a gradient that is not finite, as apex does."""
    result = written(AMP)
    assert result.code == AMP
    said = {f.line: f.message for f in result.findings if f.rule == "stand-in"}
    lines = dict(enumerate(AMP.splitlines(), 1))
    new = {n: re.findall("`([^`]+)`", message) for n, message in said.items()}
    assert sorted(new) == [6, 9, 11, 13, 14]
    assert "around lines 9 to 10" in said[9]
    lines[6] = f"    {new[6][1]} = {new[6][0]}"
    lines[9] = f"        {new[9][0]}\n    {lines[9]}"
    lines[10] = f"    {lines[10]}"
    lines[11], lines[12] = f"        {new[11][0]}", ""
    params, unscaled = new[13]
    lines[13] = f"        {unscaled}\n" + lines[13].replace("amp.master_params(optimizer)", params)
    lines[14] = f"        {new[14][0]}"
    after = "\n".join(lines.values()).replace("from apex import amp", "")
    after = after.replace("import torch\n", "import torch\n\ndevice = torch.device('cpu')\n")
    xs = [torch.randn(2, 4, dtype=torch.float64) for _ in range(4)]
    xs[2] = torch.full_like(xs[2], torch.inf)
    trained = []
    for text in (AMP, after):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 3, dtype=torch.float64)
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        names: dict[str, Any] = {"amp": amp}
        exec("".join(line for line in text.splitlines(True) if "apex" not in line), names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an overflow, which is meant
            names["train"](model, optimizer, xs, 0.5)
        trained.append(model.weight)
    torch.testing.assert_close(trained[1], trained[0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("amp.initialize(m, o, opt_level='O2')", "O2 has a model in half precision"),
        ("amp.initialize(m, o, opt_level='O3')", "initialize stays for O3"),
        ("amp.initialize(m, o, opt_level='O0')", "initialize stays for O0"),
        ("amp.initialize(m, o, opt_level=l)", "an opt_level that is not seen here"),
        ("amp.initialize(m, o, loss_scale=128.0)", "init_scale=128.0"),
        ("amp.initialize(m, o, enabled=l)", "`torch.amp.GradScaler(device.type, enabled=l)`"),
        ("amp.initialize(m, o, num_losses=2)", "one GradScaler for each"),
        ("amp.initialize(*m)", "arguments that are not seen here"),
        ("amp.state_dict()", "`scaler.state_dict()`"),
        ("amp.load_state_dict(m)", "`scaler.load_state_dict(m)`"),
    ],
)
def test_what_is_said_of_amp(call: str, said: str) -> None:
    source = f"from apex import amp\n\n\ndef f(m, o, l):\n    return {call}\n"
    result = written(source)
    assert result.code == source
    assert any(said in f.message for f in result.findings), result.findings
