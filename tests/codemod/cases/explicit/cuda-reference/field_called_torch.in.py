from typing import NamedTuple, Optional

import torch


class Usage(NamedTuple):
    gpu: Optional[int]
    torch: Optional[int]

    @classmethod
    def now(cls, device=None):
        return cls(torch.cuda.mem_get_info(device)[0], torch.cuda.memory_allocated(device))
