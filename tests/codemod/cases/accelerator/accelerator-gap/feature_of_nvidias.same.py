import torch
from accelerate import DistributedType


def direct(config):
    return config.get("enable_gpu_direct", False) and torch.cuda.is_available()


def processes(state):
    if state.distributed_type == DistributedType.MULTI_GPU:
        count = torch.cuda.device_count()
    else:
        count = state.num_processes
    return count


def on_cpu(device, kind):
    if torch.cuda.is_available() and device.type != "cpu" and kind != "engine":
        device = torch.device("cpu")
    return device


def environment(env, name_of):
    if torch.cuda.is_available():
        env["gpuCount"] = torch.cuda.device_count()
        env["gpuType"] = name_of(0) if torch.cuda.device_count() > 0 else None
    return env
