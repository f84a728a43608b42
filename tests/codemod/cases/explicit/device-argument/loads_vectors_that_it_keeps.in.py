import os

import torch


class Vectors:
    def cache(self, name, cache, lines):
        if os.path.isfile(name):
            kept = os.path.join(cache, os.path.basename(name)) + ".pt"
        else:
            kept = os.path.join(cache, name) + ".pt"
        if not os.path.isfile(kept):
            self.vectors = torch.Tensor([[float(x) for x in line.split()] for line in lines])
            torch.save((self.names, self.vectors), kept)
        else:
            self.names, self.vectors = torch.load(kept)

    def another(self, name, lines):
        kept = name + ".pt"
        torch.save(torch.Tensor(lines), kept)
        if name in self.names:
            kept = self.names[name]
        self.vectors = torch.load(kept)
