import torch


def save(path):
    states = {"torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    torch.save(states, path)


def restore(saved):
    there = torch.cuda.is_available() and torch.cuda.is_initialized()
    has_states = "cuda" in saved
    torch.set_rng_state(saved["torch"])
    if there and has_states:
        torch.cuda.set_rng_state(saved["cuda"])
    if there and not has_states:
        print("the states of the GPU's generators are not in it")
    if not there and has_states:
        print("the states of a GPU's generators are ignored")


def restore_and_move(saved, model):
    there = torch.cuda.is_available()
    if there and "cuda" in saved:
        torch.cuda.set_rng_state(saved["cuda"])
    if there:
        model.cuda()


def restore_and_wait(saved):
    if torch.cuda.is_available():
        torch.cuda.set_rng_state(saved["cuda"])
        torch.cuda.synchronize()


def choose(saved):
    if torch.cuda.is_available():
        torch.cuda.set_rng_state(saved["cuda"])
        return "cuda"
    return "cpu"
