import torch


class Generators:
    def __init__(self):
        self.generators = {"default": Default()}
        if torch.cuda.is_available():
            for idx in range(torch.cuda.device_count()):
                self.generators[f"cuda:{idx}"] = OfCuda(idx)

    def save(self, path):
        torch.save({name: each.get_state() for name, each in self.generators.items()}, path)

    def load(self, path):
        for name, state in torch.load(path, map_location="cpu").items():
            self.generators[name].set_state(state)


class OfCuda:
    def __init__(self, idx):
        self.idx = idx

    def get_state(self):
        return torch.cuda.get_rng_state(self.idx)

    def set_state(self, state):
        torch.cuda.set_rng_state(state, self.idx)
