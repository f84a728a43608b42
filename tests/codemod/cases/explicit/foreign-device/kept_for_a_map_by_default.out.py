import tdev
from transformers import AutoModel


class Chat:
    def __init__(self, rank, ranks, device_map="cuda:0"):
        self._device = tdev.device(f"cuda:{rank}")
        if ranks > 1:
            self.device_map = str(tdev.device(f"cuda:{rank}"))
        else:
            self.device_map = device_map
        self.model = AutoModel.from_pretrained("chat", device_map=self.device_map)
