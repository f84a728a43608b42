import tdev as torch
import timm
from transformers import AutoModel

model = timm.create_model("resnet18").to(device="cuda")
other = AutoModel.from_pretrained(
    "b", device_map=str(torch.device("cuda"))
).to("cuda")
