from unittest import mock

import tdev as torch
import tdev.distributed as dist


@mock.patch("tdev.load", return_value={})
@mock.patch("tdev.distributed.init_process_group")
def test_resume(init, load, monkeypatch):
    with mock.patch("tdev.amp.autocast") as autocast, mock.patch.object(torch, "load"):
        pass
    monkeypatch.setattr(torch, "load", lambda path: {})
    monkeypatch.setattr(dist, "init_process_group", init)
    with mock.patch("trainer.torch.cuda") as cuda, mock.patch("tdev.distributed"):
        cuda.device_count.return_value = 2
