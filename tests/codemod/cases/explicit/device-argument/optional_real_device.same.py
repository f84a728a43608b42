from typing import Optional

import torch

def make(n, device: Optional[torch.device] = None):
    return torch.empty(n, device=device)
