from importlib import import_module

import torch


class Attention:
    def __init__(self):
        try:
            pack = import_module("flash_attn")
            if hasattr(pack, "flash_attn_func") and torch.cuda.get_device_capability()[0] >= 8:
                self.func = getattr(pack, "flash_attn_func")
        except ImportError:
            self.func = None
