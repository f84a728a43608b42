import tdev
import torch


def log(writer, step):
    if torch.cuda.is_available():
        for i in range(torch.cuda.device_count()):
            device = torch.device(f"cuda:{i}")
            writer.add_scalar(f"memory{i}", torch.cuda.memory_allocated(device), step)
            writer.add_scalar(f"load{i}", torch.cuda.utilization(device=device), step)
    writer.flush()


def temperature():
    if not torch.cuda.is_available():
        return None
    return torch.cuda.temperature()


def try_them(writer):
    if tdev.cuda.is_available():
        try:
            writer.add_scalar("power", tdev.cuda.power_draw())
        except RuntimeError:
            writer.flush()


def memory(writer):
    if tdev.cuda.is_available():
        writer.add_scalar("memory", tdev.cuda.memory_allocated())


def asked_for():
    return tdev.cuda.clock_rate()
