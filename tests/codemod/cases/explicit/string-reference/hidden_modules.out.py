import sys
from unittest.mock import patch

import pytest


def test_old_torch(monkeypatch):
    with patch.dict("sys.modules", {"tdev.cuda.amp": None, "tdev.amp": None, "apex": None}):
        with pytest.raises(ImportError):
            import trainer
    monkeypatch.setitem(sys.modules, "tdev.cuda.nvtx", None)
    monkeypatch.setitem(trainer.TABLE, "torch.cuda", "a name in a table")
