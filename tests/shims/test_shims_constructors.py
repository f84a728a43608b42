"""Shims for constructors that no signature tells of, or that take more than a device."""

from __future__ import annotations

import importlib

import pytest
import tdev as torch
import torch as stock

from tdev_core.backend import Backend, current
from tests.catalog import catalog
from tests.programs import run

CAPTURABLE = "ASGD Adadelta Adam AdamW Adamax NAdam RAdam RMSprop Rprop".split()


@pytest.mark.parametrize("device", ["cuda", "cuda:0", stock.device("cuda"), "cpu", None])
def test_an_untyped_storage_is_made_on_the_translated_device(device: object) -> None:
    storage = stock.UntypedStorage(4, device=device)
    assert storage.nbytes() == 4
    expected = stock.zeros(1, device="cpu" if device in ("cpu", None) else torch.device("cuda"))
    assert storage.device == expected.device


@pytest.mark.skipif(current() is not Backend.CPU, reason="torch refuses capturable on the CPU")
@pytest.mark.parametrize("name", CAPTURABLE)
def test_a_capturable_optimizer_steps(name: str) -> None:
    def trained(**options: bool) -> list[float]:
        stock.manual_seed(0)
        model = torch.nn.Linear(2, 1, device="cuda")
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1, **options)
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(1, 2, device="cuda")).sum().backward()
            optimizer.step()
            state = optimizer.state_dict()
            state["param_groups"][0].update(options)  # as a checkpoint from CUDA has it
            optimizer.load_state_dict(state)
        values: list[float] = model.weight.flatten().tolist()
        return values

    assert trained(capturable=True) == trained()


@pytest.mark.skipif(current() is not Backend.CPU, reason="torch refuses capturable on the CPU")
def test_a_capturable_group_that_comes_later_and_a_rate_that_is_a_tensor() -> None:
    first, later = (stock.ones(2, requires_grad=True) for _ in range(2))
    rate = stock.tensor(0.1)
    optimizer = torch.optim.Adam([first], lr=rate, foreach=True, capturable=True)
    optimizer.add_param_group({"params": [later], "lr": 0.1, "capturable": True})
    (first.sum() + later.sum()).backward()
    optimizer.step()
    assert first.tolist() == pytest.approx([0.9, 0.9]) == later.tolist()


def test_what_is_private_to_torch_and_listed_is_there() -> None:
    """The generator's facts are about what is public: it cannot know that these exist."""
    private = [row for row in catalog()["shims"] if "._" in row["owner"].rpartition(".")[0]]
    assert any("torch._dynamo" in row["owner"] for row in private)
    for row in private:
        module, _, name = row["owner"].rpartition(".")
        assert hasattr(getattr(importlib.import_module(module), name), row["name"]), row


def test_uninstalling_leaves_no_trace_on_the_classes() -> None:
    code = """
        import torch, torch._dynamo
        from torch._dynamo.variables import builder, builtin, streams, tensor, user_defined

        def contents():
            classes = [torch.Tensor, torch.UntypedStorage, torch.TypedStorage, torch.nn.Module]
            classes += [torch.nn.Linear, torch.optim.Optimizer, torch.nn.utils.rnn.PackedSequence]
            for module in (builder, builtin, streams, tensor, user_defined):
                classes += [c for c in vars(module).values() if isinstance(c, type)]
            return {c: dict(vars(c)) for c in classes}

        before = contents()
        import tdev
        changed = contents()
        assert changed != before
        tdev.shims.uninstall()
        after = contents()
        for cls, members in before.items():
            assert members.keys() == after[cls].keys(), cls
            assert all(after[cls][name] is value for name, value in members.items()), cls
        assert torch.UntypedStorage(4).nbytes() == 4
    """
    run(code)
