import tdev
import torch
import torch.cuda
from torch.profiler._memory_profiler import MemoryProfileTimeline


def timeline(profile, device=None):
    if device is None:
        device = "cuda:0" if torch.cuda.is_available() else "cpu"
    times, sizes = MemoryProfileTimeline(profile._memory_profile())._coalesce_timeline(device)
    return times, sizes, tdev.cuda.max_memory_allocated()


def export(profile, path):
    profile.export_memory_timeline(path, device=torch.cuda.current_device())
