import torch
from segment_anything import SamPredictor


class Prompts:
    def __init__(self, predictor: SamPredictor):
        self._found = predictor

    def points(self, found):
        return torch.as_tensor(found, device=self._found.device, dtype=torch.float)


def boxes(asked: "SamPredictor", found):
    return torch.as_tensor(found, device=asked.device)
