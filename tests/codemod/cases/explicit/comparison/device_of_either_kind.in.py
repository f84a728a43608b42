import gc

import torch


def collect(device: torch.device | str | None, share: float) -> None:
    if device is not None and torch.cuda.is_available():
        d = torch.device(device) if isinstance(device, str) else device
        if d.type == "cuda":
            used = torch.cuda.memory_allocated(d)
            if used > share * torch.cuda.get_device_properties(d).total_memory:
                gc.collect()
                torch.cuda.empty_cache()
