import tdev
import torch


def architecture():
    try:
        props = torch.cuda.get_device_properties("cuda")
        return "sm_" + str(props.major) + str(props.minor)
    except (RuntimeError, AssertionError):
        return None


def flags():
    major, minor = torch.cuda.get_device_capability()
    return [f"-gencode=arch=compute_{major}{minor},code=sm_{major}{minor}"]


def activities():
    found = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        found.append(torch.profiler.ProfilerActivity.CUDA)
    return found


def metrics(saved):
    for metric in saved:
        if not torch.cuda.is_available() and metric.device.type != "cpu":
            metric.rebuild()
        if not hasattr(metric, "_defaults") or (
            not torch.cuda.is_available() and metric.device.type != "cpu"
        ):
            metric.rebuild()


def memory():
    return tdev.cuda.get_device_properties("cuda").total_memory
