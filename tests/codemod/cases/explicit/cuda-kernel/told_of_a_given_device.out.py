import tdev
import torch


def measure(stats, device):
    if torch.cuda.is_available():
        stats["memory"] = torch.cuda.memory_stats(device)
    if tdev.cuda.is_available():
        stats["all"] = tdev.cuda.memory_stats()


def of_a_number(rank, device: int):
    if tdev.cuda.is_available():
        print(tdev.cuda.max_memory_allocated(rank))
    if tdev.cuda.is_available():
        tdev.cuda.reset_peak_memory_stats(device)


def of_its_own(stats):
    device = tdev.device("cuda")
    if tdev.cuda.is_available():
        stats["memory"] = tdev.cuda.memory_stats(device)
