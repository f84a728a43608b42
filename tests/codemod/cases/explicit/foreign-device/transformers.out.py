import tdev
import torch
from transformers import AutoModel, pipeline

pipe = pipeline("text-generation", device=str(tdev.device("cuda:0")))
model = AutoModel.from_pretrained(
    "x", device_map=str(tdev.device("cuda")), torch_dtype=torch.float16
)
auto = AutoModel.from_pretrained("x", device_map="auto")
