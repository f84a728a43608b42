from typing import NamedTuple, Optional

import tdev
import torch


class Usage(NamedTuple):
    gpu: Optional[int]
    torch: Optional[int]

    @classmethod
    def now(cls, device=None):
        return cls(tdev.cuda.mem_get_info(device)[0], tdev.cuda.memory_allocated(device))
