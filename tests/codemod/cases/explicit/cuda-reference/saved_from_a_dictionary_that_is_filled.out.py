import os

import tdev
import torch


class Store:
    def save(self, folder, model):
        held = {}
        for name, each in model.named_parameters():
            held[name] = each
        torch.save(held, os.path.join(folder, "model.bin"))

    def load(self, folder, model):
        model.load_state_dict(tdev.load(os.path.join(folder, "model.bin")))
        return tdev.cuda.is_available()
