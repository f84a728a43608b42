import sys
from unittest.mock import patch

import pytest


def test_old_torch(monkeypatch):
    with patch.dict("sys.modules", {"torch.cuda.amp": None, "torch.amp": None, "apex": None}):
        with pytest.raises(ImportError):
            import trainer
    monkeypatch.setitem(sys.modules, "torch.cuda.nvtx", None)
    monkeypatch.setitem(trainer.TABLE, "torch.cuda", "a name in a table")
