import torch


def on_disk(states, offload):
    if offload:
        states = {name: state.cuda() for name, state in states.items()}
    path = "/tmp/states.pt"
    with torch.serialization.skip_data():
        torch.save(states, path)
    return torch.load(path, mmap=True)


def again(states, path, write):
    if write:
        torch.save({name: state.cuda() for name, state in states.items()}, path)
    return torch.load(path, mmap=True)
