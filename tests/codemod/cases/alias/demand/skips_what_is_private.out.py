import pytest
import tdev
import torch


def loader(kind):
    return [tdev.zeros(3, device="cuda") for _ in range(3)], kind


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA is required")
@pytest.mark.parametrize("kind", ["one", "two"])
def test_lifetime(kind):
    batches, _ = loader(kind)
    out = torch.empty(3, device="cuda")
    torch.cuda.synchronize()
    for i, batch in enumerate(batches):
        torch.cuda._sleep(2_000_000)
        out[i].copy_(batch[0])


@pytest.mark.skipif(not tdev.cuda.is_available(), reason="CUDA is required")
def test_sum():
    assert tdev.ones(3, device="cuda").sum() == 3
