import torch


def choose():
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def measure(frames, run):
    device = torch.device("cuda")
    model = run(device)
    for each in frames:
        if device.type == "cuda":
            each = torch.from_numpy(each).to(device)
        else:
            each = torch.from_numpy(each)
        model(each)


def given(frames, device=torch.device("cuda")):
    if device.type == "cuda":
        frames = frames.half()
    return frames
