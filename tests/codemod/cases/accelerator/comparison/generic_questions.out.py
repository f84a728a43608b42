import torch


def wait(device, x):
    rows = x.size(0)
    accelerator = torch.accelerator.current_accelerator()
    if torch.accelerator.is_available() and device.type == accelerator.type:
        torch.accelerator.synchronize()
    if torch.accelerator.is_available() and device.type == accelerator.type:
        torch.accelerator.synchronize()
    if torch.accelerator.is_available() and x.device.type == accelerator.type:
        torch.accelerator.synchronize()
    if not (
        rows
        and torch.accelerator.is_available()
        and x.device.type == accelerator.type
    ):
        return rows
    peak = (
        0
        if not torch.accelerator.is_available()
        or device.type != accelerator.type
        else torch.accelerator.max_memory_allocated()
    )
    return peak


def leave(device):
    if (
        not torch.accelerator.is_available()
        or device.type != torch.accelerator.current_accelerator().type
        or device.index is None
    ):
        return
    torch.accelerator.synchronize()


def test_moves():
    x = torch.zeros(3).cuda()
    assert x.is_cuda
