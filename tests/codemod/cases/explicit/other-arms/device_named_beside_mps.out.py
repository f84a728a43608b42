import tdev
import torch


def choose():
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def measure(frames, run):
    device = tdev.device("cuda")
    model = run(device)
    for each in frames:
        if tdev.is_accelerator(device.type):
            each = torch.from_numpy(each).to(device)
        else:
            each = torch.from_numpy(each)
        model(each)


def given(frames, device=tdev.device("cuda")):
    if device.type == "cuda":
        frames = frames.half()
    return frames
