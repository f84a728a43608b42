import torch


def passed(states, chunks):
    out = torch.empty(states.shape, device="cuda")
    with torch.cuda.device(states.device.index):
        _state_passing_kernel[(chunks, 1)](states, out)
    return out


def prepared():
    return torch.empty(3, device="cuda")
