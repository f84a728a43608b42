import torch


class Attention(torch.nn.Module):
    def __init__(self, use_flash_attention):
        if use_flash_attention is True and not torch.cuda.is_available():
            raise ValueError("torch.cuda.is_available() should be True; flash attention is for GPUs")
        super().__init__()
