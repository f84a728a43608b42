"""Making, moving, viewing and mixing tensors on ``sim``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tdev
import torch
import torch.nn.functional as F
from torch import nn

from tdev_core import devices
from tdev_core.errors import UnsupportedError
from tdev_core.shims import install as shims
from tdev_core.shims import tensortypes
from tests.accelerators.sim import bits


def test_device_type() -> None:
    x = torch.randn(3, device="sim")
    assert x.device == torch.device("sim", 0)
    assert x.is_sim and not x.is_cpu and not x.is_cuda  # type: ignore[attr-defined]
    assert x.get_device() == 0
    assert torch.sim.device_count() == 2  # type: ignore[attr-defined]
    assert torch.accelerator.current_accelerator() == torch.device("sim")
    assert torch.accelerator.device_count() == 2
    assert torch.get_device_module("sim") is torch.sim  # type: ignore[attr-defined]
    assert repr(torch.zeros(2, device="sim:1")) == "tensor([0., 0.], device='sim:1')"


FACTORIES: dict[str, Callable[..., torch.Tensor]] = {
    "empty": lambda **k: torch.empty(2, **k),
    "zeros": lambda **k: torch.zeros(2, **k),
    "full": lambda **k: torch.full((2,), 3, **k),
    "arange": lambda **k: torch.arange(3, **k),
    "linspace": lambda **k: torch.linspace(0, 1, 3, **k),
    "eye": lambda **k: torch.eye(2, **k),
    "tensor": lambda **k: torch.tensor([1.0, 2.0], **k),
    "as_tensor": lambda **k: torch.as_tensor([1.0, 2.0], **k),
    "randperm": lambda **k: torch.randperm(4, **k),
    "hann_window": lambda **k: torch.hann_window(4, **k),
    "empty_strided": lambda **k: torch.empty_strided((2, 2), (1, 2), **k),
    "complex": lambda **k: torch.zeros(2, dtype=torch.complex64, **k),
    "fftfreq": lambda **k: torch.fft.fftfreq(4, **k),
    "tril_indices": lambda **k: torch.tril_indices(3, 3, **k),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name: str) -> None:
    make = FACTORIES[name]
    assert make(device="sim").device == torch.device("sim", 0)
    assert make(device="sim:1").device == torch.device("sim", 1)
    with torch.device("sim:1"):
        assert make().device == torch.device("sim", 1)
    torch.sim.set_device(1)  # type: ignore[attr-defined]
    if name not in ("tensor", "as_tensor"):  # torch's guard for Python devices makes these sim:0
        assert make(device="sim").device == torch.device("sim", 1)
    assert make().device == torch.device("cpu")


def test_default_device() -> None:
    torch.set_default_device("sim")
    try:
        assert nn.Linear(2, 2)(torch.ones(1, 2)).device.type == "sim"
        assert torch.tensor([1]).device.type == "sim"
    finally:
        torch.set_default_device(None)


def test_missing_device() -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(1, device="sim:2")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.sim.set_device(2)  # type: ignore[attr-defined]


def test_moves() -> None:
    source = torch.arange(6.0).view(2, 3)
    x = source.to("sim")
    x[0, 0] = 9
    assert source[0, 0] == 0
    assert x.to("sim") is x and x.to("sim:0") is x
    assert x.to("sim", copy=True) is not x
    y = x.to("sim:1", non_blocking=True)
    y.zero_()
    assert x[0, 0] == 9
    back = x.cpu()
    back.zero_()
    assert x[0, 0] == 9
    assert x.to("cpu", torch.float64).dtype == torch.float64
    assert x.to(source).device.type == "cpu"
    assert x.t().to("cpu").stride() == (1, 3)
    assert torch.equal(x.sim(1).cpu(), x.cpu())  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="can't convert sim:0 device type tensor to numpy"):
        x.numpy()


def test_copy_between_devices() -> None:
    x, y, c = torch.ones(3, device="sim"), torch.zeros(3, device="sim:1"), torch.zeros(3)
    y.copy_(x)
    c.copy_(y, non_blocking=True)
    x.copy_(torch.arange(3.0))
    assert c.tolist() == [1, 1, 1] and x.tolist() == [0, 1, 2]


def test_gradient_crosses_moves() -> None:
    x = torch.randn(3, requires_grad=True)
    (x.to("sim") * 2).to("sim:1").cpu().sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2] and x.grad.is_cpu


def _two(device: str) -> Any:
    return torch.ones(2, 2, device=device)


MIXES: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "add": lambda a, b: a + b,
    "radd": lambda a, b: b + a,
    "add_": lambda a, b: a.add_(b),
    "cpu add_": lambda a, b: b.add_(a),
    "scalar self": lambda a, b: b[0, 0].clone().add_(a),
    "out": lambda a, b: torch.add(a, a, out=b),
    "mm": lambda a, b: a @ b,
    "linear": lambda a, b: F.linear(a, b),
    "bias": lambda a, b: F.linear(a, a, b[0]),
    "conv": lambda a, b: F.conv1d(a[None], b[None, :, :]),
    "cat": lambda a, b: torch.cat([a, b]),
    "stack": lambda a, b: torch.stack([b, a]),
    "where": lambda a, b: torch.where(a > 0, a, b),
    "embedding": lambda a, b: F.embedding(b.long(), a),
    "index_select": lambda a, b: torch.index_select(a, 0, b[0].long()),
    "scalar index": lambda a, b: torch.index_select(a, 0, b[0, 0].long()),
    "gather": lambda a, b: a.gather(0, b.long()),
    "cpu gather": lambda a, b: b.gather(0, a.long()),
    "cross_entropy": lambda a, b: F.cross_entropy(a, b[0].long()),
    "layer_norm": lambda a, b: F.layer_norm(a, (2,), b[0]),
    "batch_norm": lambda a, b: F.batch_norm(a, b[0], b[0], training=True),
    "equal": lambda a, b: torch.equal(a, b),
    "clamp": lambda a, b: a.clamp(min=b[0, 0]),
    "foreach": lambda a, b: torch._foreach_add([a], [b]),
    "lstm": lambda a, b: nn.LSTM(2, 2).to(a.device)(b),
    "attention": lambda a, b: F.scaled_dot_product_attention(a[None], a[None], b[None]),
    "attention with gradients": lambda a, b: F.scaled_dot_product_attention(
        a[None].requires_grad_(), a[None], b[None]
    ),
    "einsum": lambda a, b: torch.einsum("ij,jk->ik", a, b),
    "solve": lambda a, b: torch.linalg.solve(a + torch.eye(2, device=a.device), b),
}


@pytest.mark.parametrize("other", ["cpu", "sim:1"])
@pytest.mark.parametrize("name", MIXES)
def test_devices_refuse_to_mix(name: str, other: str) -> None:
    a, b = _two("sim"), _two(other)
    with pytest.raises(
        RuntimeError, match="Expected all tensors to be on the same device"
    ) as caught:
        MIXES[name](a, b)
    assert "sim:0" in str(caught.value) and other in str(caught.value)


def test_index_devices() -> None:
    x = torch.arange(6.0, device="sim")
    assert x[torch.tensor([1, 2])].tolist() == [1, 2]
    assert x[torch.ones(6, dtype=torch.bool)].tolist() == x.tolist()
    x[torch.tensor([0])] = 5.0
    x[torch.tensor([1])] = torch.tensor(7.0)
    assert x[:2].tolist() == [5, 7]


INDEXED: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "read": lambda x, i: x[i],
    "read, a second": lambda x, i: x[None, torch.tensor([0]), i] if x.dim() > 1 else x[..., i],
    "write": lambda x, i: x.__setitem__(i, x[0].clone()),
    "write a number": lambda x, i: x.__setitem__(i, 2.0),
    "add": lambda x, i: x.index_put_((i,), x[:1].clone(), accumulate=True),
    "new": lambda x, i: torch.index_put(x, (i,), x[:1]),
}


@pytest.mark.parametrize(
    ("of", "by"), [("cpu", "sim:0"), ("cpu", "sim:1"), ("sim:0", "sim:1"), ("sim:1", "sim:0")]
)
@pytest.mark.parametrize("name", INDEXED)
def test_an_index_of_another_device_is_refused_as_torch_says(name: str, of: str, by: str) -> None:
    """Only the host's may be mixed in."""
    x = torch.arange(6.0, device=of)
    said = rf"indices should be either on cpu or on the same device as the indexed tensor \({of}\)"
    with pytest.raises(RuntimeError, match=said):
        INDEXED[name](x, torch.tensor([1], device=by))
    INDEXED[name](x, torch.tensor([1]))


NUMBERS: dict[str, Callable[[torch.Tensor], Any]] = {
    "copy_": lambda x: x.copy_(2.5),
    "copy_, an int": lambda x: x.copy_(2),
    "copy_, late": lambda x: x.copy_(3, non_blocking=True),
    "copy_ of a truth": lambda x: x.copy_(True),
    "copy_ in place of a view": lambda x: x[1:].copy_(2.5),
    "fill_": lambda x: x.fill_(2.5),
    "masked_fill_": lambda x: x.masked_fill_(x > 1, 2.5),
    "write by a mask": lambda x: x.__setitem__(x > 1, 2.5),
    "where": lambda x: torch.where(x > 1, x, 2.5),
    "from the left": lambda x: 2.5 - x,
    "sub": lambda x: torch.sub(2.5, x),
    "lerp": lambda x: x.lerp(x + 1, 0.5),
    "out": lambda x: torch.add(x, 2, out=torch.empty_like(x)),
    "a list": lambda x: torch._foreach_add([x], 2.0),
    "bucketize": lambda x: torch.bucketize(1.5, x),
    "searchsorted": lambda x: torch.searchsorted(x, 1.5),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_in_a_tensors_place(name: str) -> None:
    """torch hands it to a kernel in Python as it is."""
    here, there = torch.arange(4.0), torch.arange(4.0, device="sim")
    assert bits.difference(NUMBERS[name](here), NUMBERS[name](there)) is None
    assert bits.difference(here, there) is None


def test_cpu_scalars_mix() -> None:
    x, t = torch.ones(3, device="sim"), torch.tensor(2.0)
    assert (x * t).tolist() == [2, 2, 2] and (t * x).device.type == "sim"
    assert torch.where(x > 0, t, x).tolist() == [2, 2, 2]
    assert x.masked_fill(x > 0, t).tolist() == [2, 2, 2]
    assert x.add_(t).tolist() == [3, 3, 3]
    with pytest.raises(RuntimeError, match="same device"):
        x + torch.tensor(2.0, device="sim:1")  # only CPU scalars mix


def test_promotion_of_python_numbers() -> None:
    whole = torch.ones(2, dtype=torch.int64, device="sim")
    assert (whole * 2.5).dtype == torch.float32
    assert (whole.half() * 2.5).dtype == torch.float16
    assert (whole + torch.tensor(2.5, dtype=torch.float64)).dtype == torch.float64


def test_packed_sequences_keep_lengths_on_the_cpu() -> None:
    x = torch.randn(2, 3, 4, device="sim")
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 2]), batch_first=True)
    assert packed.data.device.type == "sim" and packed.batch_sizes.device.type == "cpu"
    padded, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    assert lengths.device.type == "cpu" and padded.device.type == "sim"
    assert torch.equal(padded[0].cpu(), x[0].cpu())


def test_views_share_memory() -> None:
    base = torch.arange(12.0, device="sim").view(3, 4).clone()
    base[0].zero_()
    base.t()[1].add_(10)
    base.view(-1)[::5].mul_(2)
    base.unfold(1, 2, 1)[2, 0] = -1
    reference = torch.arange(12.0).view(3, 4)
    reference[0].zero_()
    reference.t()[1].add_(10)
    reference.view(-1)[::5].mul_(2)
    reference.unfold(1, 2, 1)[2, 0] = -1
    assert torch.equal(base.cpu(), reference)
    assert base[1].untyped_storage() is base.untyped_storage()
    assert base[1]._base is base
    assert base[1:].data_ptr() == base.data_ptr() + 16


def test_in_place_views() -> None:
    x = torch.arange(6, device="sim").view(2, 3)
    x.t_()
    assert x.shape == (3, 2) and x.stride() == (1, 3)
    x.unsqueeze_(0).squeeze_(0).transpose_(0, 1)
    assert x.shape == (2, 3)
    x.as_strided_((2,), (1,), 1)
    assert x.tolist() == [1, 2]


def test_in_place_on_a_view_is_differentiated() -> None:
    def gradient(device: str) -> torch.Tensor:
        x = torch.arange(4.0, device=device, requires_grad=True)
        y = x * 2
        y[1:3].mul_(3)
        y.square().sum().backward()
        assert x.grad is not None
        return x.grad.cpu()

    assert torch.equal(gradient("sim"), gradient("cpu"))


def test_saved_tensors_are_guarded() -> None:
    w = torch.ones(3, device="sim", requires_grad=True)
    x = torch.ones(3, device="sim")
    y = (w * x).sum()
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_attention_inputs_are_guarded() -> None:
    q = torch.randn(1, 1, 4, 4, device="sim", requires_grad=True)
    k = torch.randn(1, 1, 4, 4, device="sim")
    y = F.scaled_dot_product_attention(q, k, k).sum()
    k.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_dropout_does_not_hold_its_input() -> None:
    x = torch.ones(8, device="sim", requires_grad=True) * 1
    y = F.dropout(x, 0.5)
    x.add_(1)
    y.sum().backward()
    assert F.dropout(x, 0.5, training=False) is not y
    assert F.dropout(x, 0.5, training=False).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(
    ("size", "stride"),
    [
        ((1, 4), (9, 1)),
        ((4, 1), (1, 7)),
        ((2, 1, 3), (3, 5, 1)),
        ((3, 2), (1, 3)),
        ((0, 2), (2, 1)),
        ((), ()),
    ],
)
def test_a_new_tensor_has_the_cpus_strides(
    size: tuple[int, ...], stride: tuple[int, ...], index: int
) -> None:
    there = torch.rand(64).as_strided(size, stride)
    here = torch.rand(64, device=f"sim:{index}").as_strided(size, stride)
    for function in (torch.neg, torch.empty_like, torch.clone, lambda x: x.to(torch.float64)):
        made, wanted = function(here), function(there)
        assert (made.shape, made.stride(), made.storage_offset()) == (
            wanted.shape,
            wanted.stride(),
            wanted.storage_offset(),
        )
        assert made.untyped_storage().nbytes() == wanted.untyped_storage().nbytes()
        assert made.device == here.device and made.is_inference() is False
    with torch.inference_mode():
        assert torch.neg(here).is_inference()


def test_dropout_of_nothing_gives_its_input_and_gradients_of_attention_may_be_kept() -> None:
    x = torch.rand(1, 2, 4, 8, device="sim", requires_grad=True)
    assert F.dropout(x, 0.0) is x and F.dropout(x, 0.5, training=False) is x
    kept: list[torch.Tensor] = []
    halves = x.chunk(2, -1)
    for half in halves:
        half.register_hook(lambda gradient: kept.append(gradient))
    F.scaled_dot_product_attention(halves[0], halves[1], halves[0]).sum().backward()
    assert len(kept) == 2 and x.grad is not None
    before = [one.clone() for one in kept]
    x.grad.zero_()
    assert all(torch.equal(a, b) for a, b in zip(before, kept, strict=True))


def test_resize_is_seen_by_views() -> None:
    x = torch.arange(4.0, device="sim")
    view = x[:2]
    x.resize_(5000)
    view[0] = 7
    assert x[0] == 7 and x[1] == 1
    assert view.untyped_storage() is x.untyped_storage()
    assert view.data_ptr() == x.data_ptr()
    assert x.untyped_storage().nbytes() == 20000
    x[2:4].fill_(5)
    assert view.as_strided((4,), (1,), 0).tolist() == [7, 1, 5, 5]


def test_set_() -> None:
    x, y = torch.arange(4.0, device="sim"), torch.zeros(2, device="sim")
    y.set_(x)  # type: ignore[call-overload]
    y[0] = 5
    assert x[0] == 5 and y.shape == (4,)
    y.set_(x.untyped_storage(), 1, (2,), (2,))  # type: ignore[call-overload]
    assert y.tolist() == [1, 3]
    y.set_()  # type: ignore[call-overload]
    assert y.numel() == 0
    for target, source in ((x, torch.ones(2)), (torch.ones(2), x), (x, x.to("sim:1"))):
        with pytest.raises(RuntimeError, match="different device|same device"):
            target.set_(source.untyped_storage())  # type: ignore[call-overload]


def test_data_assignment_moves_in_place() -> None:
    p = nn.Parameter(torch.ones(2))
    p.data = p.data.to("sim")
    assert p.device.type == "sim"
    alias = p.data
    alias[0] = 3
    assert p[0] == 3


def test_out_variants() -> None:
    x = torch.arange(4.0, device="sim")
    into = torch.empty(0, device="sim")
    assert torch.add(x, 1, out=into) is into
    assert into.tolist() == [1, 2, 3, 4]
    strided = torch.zeros(8, device="sim")[::2]
    torch.mul(x, 2, out=strided)
    assert strided.tolist() == [0, 2, 4, 6] and strided.stride() == (2,)
    values, places = torch.empty(0, device="sim"), torch.empty(0, dtype=torch.long, device="sim")
    torch.sort(x, descending=True, out=(values, places))
    assert values.tolist() == [3, 2, 1, 0] and places.tolist() == [3, 2, 1, 0]


def test_conj_and_neg_views() -> None:
    x = torch.randn(3, 2, dtype=torch.complex64, device="sim")
    conj = x.conj()
    assert conj.is_conj() and conj.data_ptr() == x.data_ptr()
    assert torch.equal(conj.cpu(), x.cpu().conj())
    assert conj.imag.is_neg()
    assert torch.equal(conj.imag.cpu(), x.cpu().conj().imag)
    assert torch.equal((conj.t() @ x).cpu(), x.cpu().conj().t() @ x.cpu())
    conj.real[0] = 5
    assert x[0, 0].real == 5
    assert torch.equal(conj.resolve_conj().cpu(), x.cpu().conj().resolve_conj())
    y = torch.zeros_like(x)
    y.copy_(conj)
    assert torch.equal(y.cpu(), x.cpu().conj())


def test_zero_dim_empty_and_overlapping() -> None:
    scalar = torch.tensor(3.0, device="sim")
    assert scalar.shape == () and scalar.item() == 3 and (scalar + 1).item() == 4
    empty = torch.empty(0, 3, device="sim")
    assert (empty + 1).shape == (0, 3) and empty.sum().item() == 0 and empty.cpu().shape == (0, 3)
    overlapping = torch.arange(3.0, device="sim").expand(2, 3)
    assert overlapping.sum().item() == 6
    with pytest.raises(RuntimeError, match="single memory location"):
        overlapping.add_(1)


def test_out_of_range_index() -> None:
    table = nn.Embedding(3, 2, device="sim")
    with pytest.raises(IndexError, match="index out of range"):
        table(torch.tensor([3], device="sim"))
    with pytest.raises(IndexError, match="out of bounds"):
        torch.arange(3, device="sim")[torch.tensor([5], device="sim")]


def test_hooks() -> None:
    seen = []
    x = torch.ones(2, device="sim:1", requires_grad=True)
    x.register_hook(lambda g: seen.append(("tensor", g.device)))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(("after", p.grad.device)))
    layer = nn.Linear(2, 2, device="sim:1")
    layer.register_forward_hook(lambda m, i, o: seen.append(("forward", o.device)))
    layer.register_full_backward_hook(lambda m, i, o: seen.append(("backward", o[0].device)))
    layer(x).sum().backward()
    where = torch.device("sim", 1)
    assert seen == [("forward", where), ("backward", where), ("tensor", where), ("after", where)]


def test_backward_on_the_second_device_and_across() -> None:
    x = torch.randn(3, device="sim:1", requires_grad=True)
    (x * 2).to("sim:0").square().sum().backward()
    assert x.grad is not None and x.grad.device == torch.device("sim", 1)
    assert torch.equal(x.grad.cpu(), 8 * x.detach().cpu())


def test_backward_in_another_thread() -> None:
    import threading

    x = torch.randn(3, device="sim:1", requires_grad=True)
    thread = threading.Thread(target=lambda: (x * 3).sum().backward())
    thread.start()
    thread.join()
    assert x.grad is not None and x.grad.tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.quantize_per_tensor(torch.ones(2, device="sim"), 0.1, 0, torch.quint8),
        lambda: torch.ones(2, device="sim").to_mkldnn(),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_other_layouts_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(
        (UnsupportedError, NotImplementedError, RuntimeError), match="quantized|mkldnn"
    ):
        make()


def test_iteration_and_formatting() -> None:
    x = torch.arange(3, device="sim")
    assert (
        [int(i) for i in x] == [0, 1, 2]
        and f"{x[1]}" == "1"
        and bool(x[1])
        and x.tolist() == [0, 1, 2]
    )


def test_inference_mode() -> None:
    with torch.inference_mode():
        x = torch.ones(2, device="sim") * 2
        x[0] += 1
        assert x.tolist() == [3, 2] and x.is_inference()
        assert nn.LSTM(2, 2, device="sim")(x.view(1, 1, 2))[0].device.type == "sim"


@pytest.mark.parametrize("named", [True, False], ids=["by name", "by type"])
def test_a_default_tensor_type_of_the_cpu_takes_back_the_accelerators(named: bool) -> None:
    there: Any = tensortypes.DoubleTensor
    here: Any = torch.FloatTensor
    if named:
        there, here = "torch.cuda.DoubleTensor", "torch.FloatTensor"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates the function
        try:
            for _ in range(2):
                tensortypes.set_default_tensor_type(there)
                made = torch.zeros(1)
                assert made.device.type == "sim" and made.dtype is torch.float64
                tensortypes.set_default_tensor_type(here)
                made = torch.zeros(1)
                assert made.device.type == "cpu" and made.dtype is torch.float32
            torch.set_default_device("sim")
            tensortypes.set_default_tensor_type(here)
            assert torch.zeros(1).device.type == "sim"  # what was asked for goes before the type
        finally:
            torch.set_default_device(None)
            torch.set_default_tensor_type(torch.FloatTensor)


def test_a_default_tensor_type_is_what_the_legacy_constructor_makes() -> None:
    class Own(torch.Tensor):
        pass

    here = torch.zeros(2)
    makers: list[Any] = [[1e10]], [2, 3], [], [np.ones(2)], [torch.Size([2])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates the function
        try:
            tensortypes.set_default_tensor_type("torch.cuda.FloatTensor")
            for arguments in makers:
                assert torch.Tensor(*arguments).device.type == "sim"
            own = Own([3])
            assert type(own) is Own and own.device.type == "sim" and own.tolist() == [3]
            assert torch.Tensor(here).data_ptr() == here.data_ptr()  # handed back, as torch does
            assert torch.FloatTensor([1]).device.type == "cpu"  # names the CPU
            with torch.device("cpu"):  # no default device reaches that constructor
                assert torch.Tensor([1]).device.type == "sim" != torch.tensor([1]).device.type
        finally:
            tensortypes.set_default_tensor_type(torch.FloatTensor)
            assert torch.Tensor([1]).device.type == "cpu"
            shims.uninstall()
    assert "__new__" not in torch.Tensor.__dict__ and Own([3]).tolist() == [3]


def test_the_predicate_asked_exactly_is_a_comparison_with_a_name() -> None:
    for name in ("cuda", "sim"):
        assert devices.is_accelerator(name, exact=True)
    for what in ("cuda:0", "sim:1", "cpu", torch.device("sim"), torch.ones(1, device="sim"), None):
        assert not devices.is_accelerator(what, exact=True)
        assert devices.is_accelerator(what) is (what is not None and what != "cpu")


def test_a_device_without_an_index_is_the_current_one_each_time() -> None:
    torch.sim.set_device(1)  # type: ignore[attr-defined]
    try:
        assert devices.translate("cuda") == devices.translate("sim") == torch.device("sim", 1)
        assert tdev.ones(1, device="cuda").device.index == 1
    finally:
        torch.sim.set_device(0)  # type: ignore[attr-defined]
    assert devices.translate("cuda") == torch.device("sim")
    assert tdev.ones(1, device="cuda").device.index == 0


@pytest.mark.filterwarnings("ignore:The torch.cuda")
def test_a_legacy_type_of_a_tensor_that_is_there() -> None:
    from tdev_core.shims import tensortypes

    there = torch.arange(3, device="sim")
    again = tensortypes.LongTensor(there)
    again[0] = 9
    assert again.device == there.device and there.tolist() == [9, 1, 2]
    assert tensortypes.LongTensor(torch.arange(2)).device.type == "sim"
    with pytest.raises(
        TypeError, match=r"expected a tensor of torch.float32, got one of torch.int64"
    ):
        tensortypes.FloatTensor(there)
