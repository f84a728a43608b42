import torch
from transformers import AutoModel


def load(name, device):
    impl = "flash_attention_2" if torch.cuda.is_available() else "eager"
    return AutoModel.from_pretrained(name, attn_implementation=impl).to(device)
