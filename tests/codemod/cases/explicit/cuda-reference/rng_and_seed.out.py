import tdev
import torch

def seed_everything(seed):
    torch.manual_seed(seed)
    tdev.cuda.manual_seed_all(seed)
    state = tdev.cuda.get_rng_state()
    tdev.cuda.set_rng_state(state)
