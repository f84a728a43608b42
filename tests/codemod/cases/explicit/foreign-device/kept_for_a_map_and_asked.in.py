import torch
from transformers import AutoModel


class Chat:
    def __init__(self, rank, device_map="cuda:0"):
        self._device = torch.device(f"cuda:{rank}")
        self.device_map = f"cuda:{rank}" if rank else device_map
        if self.device_map == "cuda:0":
            rank = 0
        self.model = AutoModel.from_pretrained("chat", device_map=self.device_map)
