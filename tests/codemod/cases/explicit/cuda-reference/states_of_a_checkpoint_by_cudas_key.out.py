import random

import tdev
import torch


def resume(path, model):
    model.load_state_dict(tdev.load(f"{path}/model.bin"))
    states = tdev.load(f"{path}/rng_state.pth")
    random.setstate(states["python"])
    torch.random.set_rng_state(states["cpu"])
    torch.cuda.random.set_rng_state_all(states["cuda"])
