import torch


def side_stream():
    return torch.cuda.Stream()


def ready():
    event = torch.cuda.Event()
    event.record()
    return event
