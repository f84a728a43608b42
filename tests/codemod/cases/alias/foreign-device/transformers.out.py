import tdev as torch
from transformers import AutoModel, pipeline

pipe = pipeline("text-generation", device=str(torch.device("cuda:0")))
model = AutoModel.from_pretrained(
    "x", device_map=str(torch.device("cuda")), torch_dtype=torch.float16
)
auto = AutoModel.from_pretrained("x", device_map="auto")
