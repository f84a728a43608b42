import tdev
import torch

USE_CUDA = torch.cuda.is_available()


def save(path, states):
    states["cpu"] = torch.get_rng_state()
    if USE_CUDA:
        states["rng_of_cuda"] = torch.cuda.get_rng_state_all()
    torch.save(states, path)


def load(path):
    states = torch.load(path, map_location="cpu")
    if USE_CUDA:
        torch.cuda.set_rng_state_all(states["rng_of_cuda"])


def free():
    tdev.cuda.empty_cache()
