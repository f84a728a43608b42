from unittest import mock

import torch
import torch.distributed as dist


@mock.patch("torch.load", return_value={})
@mock.patch("torch.distributed.init_process_group")
def test_resume(init, load, monkeypatch):
    with mock.patch("torch.amp.autocast") as autocast, mock.patch.object(torch, "load"):
        pass
    monkeypatch.setattr(torch, "load", lambda path: {})
    monkeypatch.setattr(dist, "init_process_group", init)
    with mock.patch("trainer.torch.cuda") as cuda, mock.patch("torch.distributed"):
        cuda.device_count.return_value = 2
