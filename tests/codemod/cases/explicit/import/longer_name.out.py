import tdev
import torch as th


def weighted(segment_length, device, sources):
    # A triangle that is as high as it is long, and as long as a segment of the mix is, from 1 up.
    weight = th.cat([tdev.arange(1, segment_length // 2 + 1, device=device),
                     tdev.arange(segment_length - segment_length // 2, 0, -1, device=device, e=1)])
    sources = (
        sources + tdev.zeros(segment_length, 2, device=device) * weight[None, :segment_length]
    )
    return sources
