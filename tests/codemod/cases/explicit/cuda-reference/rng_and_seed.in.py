import torch

def seed_everything(seed):
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    state = torch.cuda.get_rng_state()
    torch.cuda.set_rng_state(state)
