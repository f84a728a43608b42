import torch


class Model:
    def count(self, most):
        return torch.randint(1, most, (1,), device=self.net.positional_encodings.device)
