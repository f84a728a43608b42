import io
import json

import torch

buffer = io.BytesIO()
torch.save({"cuda": 1}, buffer)
json.load(open("cuda.json"))
yaml.load("device: cuda", Loader=None)
