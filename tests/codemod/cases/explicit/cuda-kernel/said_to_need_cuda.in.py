import logging

import torch

LOG = logging.getLogger(__name__)
_FLEX_ATTENTION_AVAILABLE = hasattr(torch.nn.attention, "flex_attention")


class Trainer:
    def __init__(self, device):
        self.use_flex_attention = _FLEX_ATTENTION_AVAILABLE and torch.cuda.is_available()
        self.device = torch.device(device)
        if _FLEX_ATTENTION_AVAILABLE and self.device.type == "cuda":
            self.kind = "flex"


def patch(cfg):
    # Patches requiring CUDA
    if torch.cuda.is_available():
        cfg.patch()
    # The rest is for every device; some of it needs CUDA streams.
    for device in range(torch.cuda.device_count()):
        cfg.patch(device)


def varlen(cfg, explicit):
    half = cfg.dtype in (torch.float16, torch.bfloat16)
    if not (half and torch.cuda.is_available()):
        if explicit:
            LOG.info("varlen attention needs CUDA and half precision; keeping the stock one")
        return
    cfg.varlen = True
