import torch
from segment_anything import SamPredictor, sam_model_registry


def predictor(path):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return SamPredictor(sam_model_registry["vit_b"](checkpoint=path).to(device))
