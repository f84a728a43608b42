import tdev
import torch
from segment_anything import SamAutomaticMaskGenerator, sam_model_registry


class Masks:
    def __init__(self, path, device=None):
        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        model = sam_model_registry["vit_b"](checkpoint=path).to(device)
        self.generator = SamAutomaticMaskGenerator(model)


def loaded(path):
    return tdev.load(path)
