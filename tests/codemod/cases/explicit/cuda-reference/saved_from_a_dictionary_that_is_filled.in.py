import os

import torch


class Store:
    def save(self, folder, model):
        held = {}
        for name, each in model.named_parameters():
            held[name] = each
        torch.save(held, os.path.join(folder, "model.bin"))

    def load(self, folder, model):
        model.load_state_dict(torch.load(os.path.join(folder, "model.bin")))
        return torch.cuda.is_available()
