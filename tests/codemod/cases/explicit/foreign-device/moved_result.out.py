import tdev
import timm
import torch
from transformers import AutoModel

model = timm.create_model("resnet18").to(device="cuda")
other = AutoModel.from_pretrained("b", device_map=str(tdev.device("cuda"))).to(
    "cuda"
)
