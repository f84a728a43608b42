import torch
from transformers import AutoModel


class Chat:
    def __init__(self, rank, ranks, device_map="cuda:0"):
        self._device = torch.device(f"cuda:{rank}")
        if ranks > 1:
            self.device_map = f"cuda:{rank}"
        else:
            self.device_map = device_map
        self.model = AutoModel.from_pretrained("chat", device_map=self.device_map)
