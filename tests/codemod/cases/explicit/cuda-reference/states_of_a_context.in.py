import torch


class seeded:
    def __init__(self, seed):
        self.state = {"torch": torch.get_rng_state()}
        if torch.cuda.is_available():
            self.state["cuda_rng_state"] = torch.cuda.get_rng_state()
        torch.manual_seed(seed)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        torch.set_rng_state(self.state["torch"])
        if torch.cuda.is_available():
            torch.cuda.set_rng_state(self.state["cuda_rng_state"])
