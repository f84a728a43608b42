import torch
from torch.profiler import ProfilerActivity


def total(profile):
    if torch.cuda.is_available():
        by = "self_cuda_time_total"
    else:
        by = "self_cpu_time_total"
    return profile.key_averages().table(sort_by=by)


def activities():
    use_cuda = torch.cuda.is_available()
    found = [ProfilerActivity.CPU]
    if use_cuda:
        found.append(ProfilerActivity.CUDA)
    return found


def free():
    torch.cuda.empty_cache()
