import torch
from torch.profiler import ProfilerActivity


def profile(prof):
    use_cuda = torch.cuda.is_available()
    activities = [ProfilerActivity.CPU]
    if use_cuda:
        activities.append(ProfilerActivity.CUDA)
    key = "self_cuda_time_total" if torch.cuda.is_available() else "self_cpu_time_total"
    return activities, key


def place(model):
    use_cuda = torch.accelerator.is_available()
    if use_cuda:
        torch.accelerator.synchronize()
    return model.to(
        torch.accelerator.current_accelerator().type if use_cuda else "cpu"
    )


class Trainer:
    def __init__(self):
        self.gpu = torch.cuda.is_available()

    def name(self):
        return torch.cuda.get_device_name() if self.gpu else "CPU"
