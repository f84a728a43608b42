"""A device of a tensor, a module or an annotated parameter is there already."""
from typing import Optional

import torch

def mask(x, n, device: Optional[torch.device] = None):
    here = x.device if x is not None else None
    kind = x.device.type if isinstance(x.device.type, str) else "cpu"
    with torch.autocast(device_type=kind, enabled=False):
        return torch.ones(n, device=here), torch.zeros(n, device=device)

class Pipe(torch.nn.Module):
    def run(self, n):
        device = self._execution_device
        return torch.ones(n, device=device), torch.zeros(n, device=self.device)
