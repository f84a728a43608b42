import tdev
import torch


class seeded:
    def __init__(self, seed):
        self.state = {"torch": torch.get_rng_state()}
        if tdev.cuda.is_available():
            self.state["cuda_rng_state"] = tdev.cuda.get_rng_state()
        torch.manual_seed(seed)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        torch.set_rng_state(self.state["torch"])
        if tdev.cuda.is_available():
            tdev.cuda.set_rng_state(self.state["cuda_rng_state"])
