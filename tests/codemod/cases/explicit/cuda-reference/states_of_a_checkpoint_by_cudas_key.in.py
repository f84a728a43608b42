import random

import torch


def resume(path, model):
    model.load_state_dict(torch.load(f"{path}/model.bin"))
    states = torch.load(f"{path}/rng_state.pth")
    random.setstate(states["python"])
    torch.random.set_rng_state(states["cpu"])
    torch.cuda.random.set_rng_state_all(states["cuda"])
