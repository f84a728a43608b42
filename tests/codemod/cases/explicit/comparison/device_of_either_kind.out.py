import gc

import tdev
import torch


def collect(device: torch.device | str | None, share: float) -> None:
    if device is not None and tdev.cuda.is_available():
        d = tdev.device(device) if isinstance(device, str) else device
        if tdev.is_accelerator(d.type):
            used = tdev.cuda.memory_allocated(d)
            if used > share * tdev.cuda.get_device_properties(d).total_memory:
                gc.collect()
                tdev.cuda.empty_cache()
