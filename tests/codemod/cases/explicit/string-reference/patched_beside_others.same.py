from unittest.mock import patch

from library import get_device


@patch("torch.cuda.is_available", return_value=False)
@patch("torch.backends.mps.is_available", return_value=True)
def test_mps(*_):
    assert get_device() == "mps"


def test_private():
    with patch("torch.cuda._lazy_init"):
        get_device()
