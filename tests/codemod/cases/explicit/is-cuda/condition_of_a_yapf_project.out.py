import tdev
import torch


class Overlaps:

    def __init__(self, scale=1., dtype=None):
        self.scale, self.dtype = scale, dtype

    def __call__(self, first: torch.Tensor, second: torch.Tensor, mode='iou'):
        if self.dtype == 'fp16':
            found_overlaps = torch.cdist(first, second,
                                   p=self.scale)
            if (not tdev.is_accelerator(first)
                    and found_overlaps.dtype == torch.float16):
                found_overlaps = found_overlaps.float()
            return found_overlaps
        return torch.cdist(first, second)
