from unittest import mock

import tdev
import tdev.distributed as dist


@mock.patch("tdev.load", return_value={})
@mock.patch("tdev.distributed.init_process_group")
def test_resume(init, load, monkeypatch):
    with mock.patch("tdev.amp.autocast") as autocast, mock.patch.object(tdev, "load"):
        pass
    monkeypatch.setattr(tdev, "load", lambda path: {})
    monkeypatch.setattr(dist, "init_process_group", init)
    with mock.patch("tdev.cuda") as cuda, mock.patch("tdev.distributed"):
        cuda.device_count.return_value = 2
